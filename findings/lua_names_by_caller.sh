#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Lua: one function has as many names as ways to call it, and none after a tail call.
#
# Expected: debug.getinfo(1, "n") within a function gives its name, by which samples of a profile can be
#           grouped.
# Seen:     the name is that of the variable, field or method in the caller's instruction: the same
#           function is "spin", "alias" and "field". Called by pcall or by a tail call it has no name,
#           and the one that made the tail call is gone from the stack. Only file and line of the
#           definition stay the same: profilers that group by name split such functions.
# Versions: lupa 2.8 with Lua 5.4.8; x86-64
# Date:     2026-11-29
set -euo pipefail

described="spin, local
alias, local
field, field
nil,
nil,
1 definition"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet lupa==2.8
cat >"$scratch/names.py" <<'CODE'
from lupa import lua54

names = lua54.LuaRuntime().execute("""
local rows, places = {}, {}
local function spin()
	local info = debug.getinfo(1, "nS")
	rows[#rows + 1] = tostring(info.name) .. ", " .. info.namewhat
	places[info.short_src .. info.linedefined] = true
end
local alias, object = spin, {field = spin}
local function tail() return spin() end
spin()
alias()
object.field()
pcall(spin)
tail()
local count = 0
for _ in pairs(places) do count = count + 1 end
return table.concat(rows, "\\n") .. "\\n" .. count .. " definition"
""")
print("\n".join(line.rstrip() for line in names.splitlines()))
CODE
seen=$("$scratch/venv/bin/python" "$scratch/names.py")
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
