#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs whose structures pretend to be Python's, and lie.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
fake=$workloads/false_python

judge_lies "$fake" Python /honest.py 600 <<'CODE'
print(stats["runtimes"])
CODE

for way in changing mapping; do
	record endless 0 -F 4000 -- "$fake" $way 3
	like "$way: structures that mislead each time are left alone: that is said" "$err" \
		'functions of 1 process are no longer read'
	judge "$way: and counted" endless.json.gz endless.stats honest.stats <<'CODE'
import json
found = [json.load(open(name))["runtimes"] for name in args]
expect([stats["abandoned"] for stats in found] == [1, 0], found)
expect(found[0]["torn"] < 1500, found)
CODE
done

# A real one beside it keeps its names.
python=$(python3 -c 'import sys; print(sys.executable)')
tree=$root/tests/workloads/python/tree.py
ok "the tree of calls" "$python" -W ignore "$tree" --tree tree.json recursion sort fold
record beside 0 -- bash -c "$fake changing 1 & $python -W ignore $tree 0.6 recursion sort fold; wait"
cp "$tmp/.out" times.json
ok "a Python beside it keeps its functions" \
	python3 "$root/tests/python_truth.py" tree.json times.json beside.json.gz --at-least 200 --only python
done_testing
