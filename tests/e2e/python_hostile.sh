#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs whose structures pretend to be Python's, and lie.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
fake=$workloads/false_python

record honest 0 -- "$fake" honest 0.5
judge "the program is taken for Python" honest.json.gz <<'CODE'
chains = [[(f["name"], f["file"], f["line"]) for f in frames if f["category"] == "Python"]
          for _, _, _, frames in samples()]
found = chains.count([("honest", "/honest.py", 7)])
expect(found > 0.8 * len(chains) and found > 100, chains[:3])
CODE
for way in cycle long lengths wild changing; do
	record $way 0 -- "$fake" $way 0.5
	judge "$way: bounded and counted" $way.json.gz $way.stats <<'CODE'
import json
stats = json.load(open(args[0]))
all_samples = samples()
expect(len(all_samples) > 150, f"{len(all_samples)} samples")
expect(stats["lost"] == 0, stats["lost"])
expect(max(len(frames) for _, _, _, frames in all_samples) <= 600, "depth")
expect(all(len(f["name"]) <= 16384 for _, _, _, frames in all_samples for f in frames), "names")
print(stats["runtimes"])
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
