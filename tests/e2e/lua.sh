#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Functions of Lua between native frames, judged by the program's own tree of calls.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

source=$root/tests/workloads/lua/tree.lua
record calls 0 -F 1999 -- lua5.4 "$source" 1.5
ok "all chains are paths of the tree, recursion is as deep as it is, lines name what they call" \
	python3 "$root/tests/lua_truth.py" "$source" calls.json.gz --at-least 500 --allowed 10
judge "nearly all stacks have all their functions" calls.json.gz calls.stats <<'CODE'
import json
r = json.load(open(args[0]))["runtimes"]
expect(r["whole"] > 500, r)
expect(r["torn"] + r["unplaced"] + r["missed"] <= 0.01 * r["whole"] + 5, r)
expect(r["nameless"] + r["lost_functions"] == 0, r)
expect(r["versions"] == "Lua 5.4", r)
CODE
judge "functions have the names that they are called by" calls.json.gz <<'CODE'
names = {f["name"] for _, _, _, frames in samples() for f in frames if f["category"] == "Lua"}
# Local, global, method, field, object that is called, variable of an outer function.
for name in ("recurse", "spin", "method", "field", "one", "weigh", "main chunk"):
    expect(name in names, names)
CODE
judge "coroutines stand where they are resumed" calls.json.gz <<'CODE'
found = 0
for _, _, _, frames in samples():
    names = [f["name"] for f in frames]
    if "nesting" in names and "resumed" in names:
        inner = names[names.index("nesting"):names.index("resumed")]
        found += inner.count("lua_resume") == 2
expect(found > 5, found)
CODE

cat >lines.lua <<'CODE'
local function nap()
	local line = io.read()
	return line
end
for _ = 1, 60 do
	local line = nap()
	if not line then break end
end
CODE
# A line in each 20 ms from when it is recorded on.
record waits 0 --off-cpu all -- sh -c 'while sleep 0.02 && echo; do :; done 2>/dev/null | lua5.4 lines.lua'
judge "waits are in the functions that wait" waits.json.gz <<'CODE'
naps = [frames for _, _, _, frames in waits() if any(f["name"] == "nap" for f in frames)]
expect(len(naps) >= 15, len(naps))
for frames in naps:
    lua = [(f["name"], f["line"]) for f in frames if f["category"] == "Lua"]
    expect(lua == [("main chunk", 6), ("nap", 2)], lua)
CODE

{
	echo 'local sum = 0'
	for _ in {1..3000}; do echo 'sum = sum + 1'; done
	echo 'local till = os.clock() + 0.4'
	echo 'while os.clock() < till do sum = sum + 1 end'
} >long.lua
record long 0 -F 999 -- lua5.4 long.lua
judge "lines for which a record has no room are read from the process" long.json.gz <<'CODE'
lines = [f["line"] for _, _, _, frames in samples() for f in frames if f["name"] == "main chunk"]
expect(len(lines) > 100 and lines.count(3003) > 0.9 * len(lines), lines[:5])
CODE

record off 0 --no-runtimes -- lua5.4 "$source" 0.2
judge "--no-runtimes: the interpreter's own functions" off.json.gz <<'CODE'
expect(not any(f["category"] == "Lua" for _, _, _, frames in samples() for f in frames), "")
CODE
done_testing
