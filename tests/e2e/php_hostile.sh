#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs whose structures pretend to be PHP's, and lie.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

judge_lies "$workloads/false_php" PHP /honest.php 1200 <<'CODE'
r = stats["runtimes"]
fates = sum(r[key] for key in ("whole", "idle", "threadless", "copied", "torn", "cut", "unplaced"))
expect(fates >= r["samples"] > 100, r)
if "long" in args[0]:
    expect(r["functions"] > 900 and r["cut"] > 100, r)
if "cycle" in args[0] or "wild" in args[0]:
    expect(r["whole"] == 0 and r["torn"] > 3, r)
CODE

record unused 0 -- "$workloads/false_php" unused 0.5
judge "an interpreter that was never used has no functions, and none is missing" unused.json.gz \
	unused.stats <<'CODE'
import json
r = json.load(open(args[0]))["runtimes"]
expect(r["idle"] > 100 and r["idle"] >= 0.9 * r["samples"] and r["torn"] == 0, r)
CODE
done_testing
