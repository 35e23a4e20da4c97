#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs whose structures pretend to be V8's, and lie.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
fake=$workloads/false_v8

record honest 0 -- "$fake" honest 0.5
judge "the program is taken for V8" honest.json.gz <<'CODE'
chains = [[(f["name"], f["file"], f["line"]) for f in frames if f["category"] == "JavaScript"]
          for _, _, _, frames in samples()]
found = sum(chain == [("honest", "/honest.js", 7)] for chain in chains)
expect(found > 0.8 * len(chains) and found > 100, chains[:3])
CODE
for way in cycle long lengths wild changing; do
	record $way 0 -- "$fake" $way 0.5
	judge "$way: bounded, and each stack is counted" $way.json.gz $way.stats <<'CODE'
import json
stats = json.load(open(args[0]))
stacks = [frames for _, _, _, frames in samples() if frames]
expect(len(stacks) > 150, f"{len(stacks)} samples")
expect(stats["lost"] == 0, stats["lost"])
expect(max(map(len, stacks)) <= 1200, max(map(len, stacks)))
managed = [f for frames in stacks for f in frames if f["category"] == "JavaScript"]
expect(all(len(f["name"]) <= 16384 for f in managed), "names")
r = stats["runtimes"]
fates = sum(r[key] for key in ("whole", "idle", "threadless", "copied", "torn", "cut", "unplaced"))
expect(fates >= r["samples"] > 100, r)
if "long" in args[0]:
    expect(len({f["name"] for f in managed}) == 1 and r["functions"] > 100, r)
if "wild" in args[0]:
    expect(r["torn"] + r["copied"] >= r["samples"], r)
CODE
done

# A real one beside it keeps its names.
tree=$root/tests/workloads/node/tree.js
run node "$tree" --tree
cp "$tmp/.out" tree.json
record beside 0 -- bash -c "$fake changing 1.5 & node $tree 1000 1; wait"
cp "$tmp/.out" times.json
ok "a program of node's beside it keeps its functions" \
	python3 "$root/tests/node_truth.py" tree.json times.json beside.json.gz --at-least 200 --only node
done_testing
