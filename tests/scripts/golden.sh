#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tests/golden/run fails when a profile is not the expected one, whatever differs.
set -u
cd "$(dirname "$0")/../golden" || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset PROF_TOTALS

# Writes the expected profiles, broken as the rows of $BREAK say: CASE STATEMENT, "*" for all.
cat >"$tmp/golden" <<'CODE'
#!/usr/bin/env python3
import json, os, pathlib, subprocess, sys
folder, cases = sys.argv[2], sys.argv[3:]
subprocess.run(["python3", "difference.py", "--together", folder, *cases], check=True)
rows = dict(row.split(" ", 1) for row in os.environ["BREAK"].splitlines())
for path in pathlib.Path(folder).glob("*.json"):
    p = json.loads(path.read_text(encoding="utf-8"))
    exec(rows.get("*", rows.get(path.stem, "")), {"p": p})
    path.write_text(json.dumps(p, ensure_ascii=False), encoding="utf-8")
CODE
chmod +x "$tmp/golden"

count=0
is() { # DESCRIPTION GOT WANTED
	count=$((count + 1))
	[ "$2" = "$3" ] || printf '# %s\nnot ' "wanted $3, got: ${2//$'\n'/$'\n'# }"
	echo "ok $count - $1"
}
run() {
	GOLDEN=$tmp/golden ./run >"$tmp/out" 2>&1
	status=$?
}
verdict() { # CASE
	sed -n -E "s/^((not )?ok) [0-9]+ - golden $1$/\1/p" "$tmp/out"
}

rows=(
	'simple p["threads"][0]["tid"] = 101' "a value is another"
	'threads p["meta"]["logicalCPUs"] = 5' "a value of the base is another"
	'waits del p["meta"]["updateChannel"]' "a key is missing"
	'markers p["meta"]["extraKey"] = 1' "a key is too many"
	'names p["meta"]["abi"] = p["meta"].pop("abi")' "keys are in another order"
	'labels p["meta"]["version"] = 36.0' "a number is written in another way"
	'losses del p["meta"]["markerSchema"][1]' "a schema is missing"
	'syscalls del p["meta"]["markerSchema"][0]["fields"][2]' "a field of a schema is missing"
	'inline p["threads"][0]["samples"]["length"] = 4' "an invalid profile"
	'jank p["threads"].append(p["threads"][0])' "a thread is too many"
)
BREAK=$(for ((i = 0; i < ${#rows[@]}; i += 2)); do echo "${rows[i]}"; done)
export BREAK
run
is "broken profiles: exit status" $status 1
for ((i = 0; i < ${#rows[@]}; i += 2)); do
	is "${rows[i + 1]}" "$(verdict "${rows[i]%% *}")" "not ok"
done
is "others pass" "$(grep -c '^not ok' "$tmp/out")" $((${#rows[@]} / 2 + 1))
is "the base is not that of these" "$(verdict "the base")" "not ok"
BREAK='' run
is "expected profiles: exit status" $status 0
is "the base is theirs" "$(verdict "the base")" "ok"
BREAK='* p["meta"]["markerSchema"] = [s for s in p["meta"]["markerSchema"] if s["name"] != "rename"]' run
is "prof has no schema that the base has" "$(verdict "the base")" "not ok"
is "which no case hides" "$(grep -c '^ok' "$tmp/out")" 0
echo "1..$count"
