#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs whose structures pretend to be R's, and lie.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

judge_lies "$workloads/false_r" R /honest.R 1200 <<'CODE'
r = stats["runtimes"]
fates = sum(r[key] for key in ("whole", "idle", "threadless", "copied", "torn", "cut", "unplaced"))
expect(fates >= r["samples"] > 100, r)
if "long" in args[0]:
    expect(r["functions"] > 900 and r["cut"] > 100, r)
if "wild" in args[0]:
    expect(r["whole"] == 0 and r["torn"] > 3, r)
CODE

record inline 0 -- "$workloads/false_r" inline 0.5
judge "a function that the loop runs without a call of its own replaces the loop" inline.json.gz <<'CODE'
chains = [[f["name"] for f in frames] for _, _, _, frames in samples()]
found = sum(chain[3:6] == ["main", "honest", "builtin"] for chain in chains)
expect(found > 0.8 * len(chains) and found > 100, chains[:3])
CODE
done_testing
