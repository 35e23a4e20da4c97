#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs whose structures pretend to be V8's, and lie.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
fake=$workloads/false_v8

judge_lies "$fake" JavaScript /honest.js 1200 <<'CODE'
managed = [f for frames in stacks for f in frames if f["category"] == "JavaScript"]
r = stats["runtimes"]
fates = sum(r[key] for key in ("whole", "idle", "threadless", "copied", "torn", "cut", "unplaced"))
expect(fates >= r["samples"] > 100, r)
if "long" in args[0]:
    expect(len({f["name"] for f in managed}) == 1 and r["functions"] > 100, r)
if "wild" in args[0]:
    # Words that lead to no object are those of native frames.
    expect(r["torn"] + r["copied"] + r["idle"] >= r["samples"], r)
    expect(r["whole"] == 0, r)
CODE

record entered 0 -- "$fake" entered 0.5
judge "compiled code in the interpreter's frame: what it has taken in" entered.json.gz <<'CODE'
chains = [[(f["name"], f["line"], f["subcategory"]) for f in frames if f["category"] == "JavaScript"]
          for _, _, _, frames in samples()]
found = chains.count([("honest", 7, "Optimized"), ("deep", 8, "Optimized")])
expect(found > 0.8 * len(chains) and found > 100, chains[:3])
CODE

# A real one beside it keeps its names.
tree=$root/tests/workloads/node/tree.js
run node "$tree" --tree
cp "$tmp/.out" tree.json
record beside 0 -- bash -c "$fake changing 1.5 & node $tree 1000 1; wait"
cp "$tmp/.out" times.json
ok "a program of node's beside it keeps its functions" \
	python3 "$root/tests/node_truth.py" tree.json times.json beside.json.gz --at-least 200 --only node
done_testing
