#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# May run beside others.
# A command recorded several times: what is executed when, exit statuses, signals; and prof diff of it.
. "$(dirname "$0")/lib.sh"
set -m
parts=$workloads/parts

# Prints an expression of each run in a recording's --stats, one a line.
runs_of() { # NAME EXPRESSION
	python3 -c 'import json, sys
for run in json.load(open(sys.argv[1] + ".stats")).get("runs", []): print(*eval(sys.argv[2]), sep="")' "$1" "$2"
}
lines() { # TEXT
	printf '%s' "$*" | tr ' ' '\n'
}

record plain 0 --iterations 3 --warmup 2 -- sh -c "echo x >>plain.log; exec '$parts' 20"
is "plain: it ran five times" "$(wc -l <plain.log)" 5
is "plain: three of these are recorded" "$(runs_of plain 'run["iteration"], ":", run["status"]')" \
	"$(lines 1:0 2:0 3:0)"
is "plain: runs have times" "$(runs_of plain '[run["wall_ms"] > 0 and run["cpu_ms"] > 0]')" \
	"$(lines True True True)"
judge "plain: a process tree for each, with a marker" plain.json.gz <<'CODE'
runs = [(t, data) for t in p["threads"] for data in t["markers"]["data"]
        if data and data["type"] == "run"]
expect([data["iteration"] for _, data in runs] == [1, 2, 3], runs)
expect(len({t["pid"] for t, _ in runs}) == 3 == len({t["pid"] for t in p["threads"]}), "processes")
CODE

# The run that fails is the last, and its status that of all.
cat >third <<'CODE'
#!/bin/sh
echo x >>"$1.log"
[ "$(wc -l <"$1.log")" -ne 3 ] || exit 7
CODE
chmod +x third
record failing 7 --iterations 5 -- ./third failing
is "failing: runs" "$(runs_of failing '[run["status"]]')" "$(lines 0 0 7)"
is "failing: nothing ran after" "$(wc -l <failing.log)" 3
record going 0 --iterations 5 --keep-going -- ./third going
is "going: runs" "$(runs_of going '[run["status"]]')" "$(lines 0 0 7 0 0)"
run "$PROF" record -o warmup.json.gz --warmup 4 --iterations 2 -- ./third warmup
is "warmup: status" "$status" 7
is "warmup: what it says" "$err" \
	"prof record: a warm-up run ended with status 7: no profile was written"
ok "warmup: no file" test ! -e warmup.json.gz

# A signal is a failure, too.
record killed 143 --iterations 3 -- sh -c 'kill -TERM $$'
is "killed: runs" "$(runs_of killed '[run["status"]]')" 143

run "$PROF" record -o absent.json.gz --iterations 2 -- ./absent
is "absent: status" "$status" 127
ok "absent: no file" test ! -e absent.json.gz
run "$PROF" record -o absent.json.gz --iterations 2 --variant a=true --variant b=./absent
is "absent variant: status" "$status" 127
ok "absent variant: no file" test ! -e absent.json.gz

# SIGINT to prof in the middle: the run that goes on gets it, those before are kept.
mkfifo ready
env --default-signal=INT "$PROF" record -o cut.json.gz --stats cut.stats --iterations 9 -- \
	sh -c "echo x >>cut.log
		[ \"\$(wc -l <cut.log)\" -lt 3 ] || exec '$workloads/spin' die
		exec '$parts' 20" >ready 2>cut.err &
recorder=$!
read -t 120 -r _ <>ready
kill -INT "$recorder"
wait "$recorder"
is "cut: status" $? 130
is "cut: runs" "$(runs_of cut '[run["status"]]')" "$(lines 0 0 130)"
is "cut: nothing ran after" "$(wc -l <cut.log)" 3
ok "cut: a profile" python3 "$root/tests/check_profile.py" cut.json.gz

# Ctrl-C reaches the run, too; the one that it ends is the last.
STDIN=keep run python3 "$root/tests/e2e/on_terminal.py" root 'ready' '\x03' -- \
	"$PROF" record -o key.json.gz --stats key.stats --iterations 9 -- "$workloads/spin" die
is "key: status" "$status" 130
is "key: runs" "$(runs_of key '[run["status"]]')" 130

# Both variants in each iteration, in an order by chance that --seed repeats.
variants() { # NAME SEED
	run "$PROF" record -o "$1.json.gz" --stats "$1.stats" --iterations 6 --seed "$2" \
		--variant "a=true 'a b' c" --variant b=true
	is "$1: status" "$status" 0
}
variants one 1
variants again 1
variants other 2
order=$(runs_of one 'run["iteration"], run["variant"]')
is "one: each iteration has both" "$(sort <<<"$order")" \
	"$(for i in {1..6}; do printf '%s\n' "${i}a" "${i}b"; done | sort)"
is "one: iterations in order" "$(tr -d ab <<<"$order" | uniq)" "$(seq 6)"
is "again: the same order" "$(runs_of again 'run["iteration"], run["variant"]')" "$order"
ok "other: another order" test "$(runs_of other 'run["iteration"], run["variant"]')" != "$order"

# More than two: all in each iteration; one of them is compared with another.
run "$PROF" record -o three.json.gz --stats three.stats --iterations 5 --seed 5 \
	--variant "a=$parts 5" --variant "b=$parts 5" --variant "c=$parts 5"
is "three: status" "$status" 0
order=$(runs_of three 'run["variant"]')
is "three: each iteration has all" "$(paste -d '' - - - <<<"$order" | grep -c -v -E '(.).*\1')" 5
ok "three: in several orders" test "$(paste -d '' - - - <<<"$order" | sort -u | wc -l)" -gt 2
run "$PROF" diff three.json.gz
is "three: which ones are to be compared" "$status" 125
run "$PROF" diff --base b --against c three.json.gz
is "three: these" "$status" 0

# Finds what is slower: three times the work in one function of five.
record slower 0 --iterations 6 --warmup 1 --variant "old=$parts 40" --variant "new=$parts 40 3"
run "$PROF" diff --gate total=2%,fifth=10% --json diff.json slower.json.gz
is "slower: status of the gate" "$status" 1
ok "slower: the function is found, before all others" python3 - <<'CODE'
import json
diff = json.load(open("diff.json"))
assert diff["verdict"] == "regression" and diff["total"]["paired"], diff["verdict"]
found = {row["function"]: row["ms"]["estimate"] for row in diff["rows"] if row["differs"]}
# One in twenty comparisons may find another one, by a few samples.
others = [abs(ms) for name, ms in found.items() if name != "fifth"]
assert "fifth" in found and len(others) < 2, found
assert all(ms < 0.3 * found["fifth"] for ms in others), found
CODE
run "$PROF" diff --base new --gate total=2%,fifth=10% slower.json.gz
is "faster: status of the gate" "$status" 0

# A difference so plain that the first look decides; the error is divided by the looks.
record looks 0 --iterations 3..12 --variant "old=$parts 10" --variant "new=$parts 40"
is "looks: enough" "$(runs_of looks '[run["iteration"]]' | tail -n 1)" 3
run "$PROF" diff --json looks.json looks.json.gz
is "looks: the error" "$(python3 -c 'import json; print(json.load(open("looks.json"))["alpha"])')" \
	0.01666666667

for arguments in '--iterations 0 -- true' '--iterations 5..3 -- true' '--iterations 3..5 -- true' \
	'--iterations x -- true' '--warmup 3 -- true' '--iterations 3' '--iterations 2000 -- true' \
	'--iterations 2..4 --variant a=true --variant b=false --variant c=true' \
	'--iterations 2 --variant a=true' '--iterations 2 --variant a=true --variant a=false' \
	'--iterations 2 --variant a=true --variant b=false true' '-a --iterations 2 -- true' \
	'--iterations 2 --seed 3 -- true' '--iterations 2 --variant a= --variant b=true'; do
	# shellcheck disable=SC2086 # words
	run "$PROF" record -o wrong.json $arguments
	is "refused: $arguments" "$status" 2
done
done_testing
