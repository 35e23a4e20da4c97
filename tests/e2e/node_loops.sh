#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# JavaScript's loops that V8 enters in the middle: the functions that they call have their shares.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
cp "$root/tests/workloads/node/loops.js" loops.js
cp loops.js loops.mjs

judge_loops() { # FILE THREADS
	record "$1" 0 -- node "$1" 4000 $(($2 - 1))
	judge "$1: each function has its share, and is called where it is" "$1.json.gz" "$1" "$2" <<'CODE'
import collections

# Functions that are called three times as long as others, by the function with the loop.
LOOPS = {"direct": ("heavy", "light"), "walk": ("far", "near"), "changing": ("shaped", "plain"),
         "(anonymous)": ("first", "second")}
text = open(args[0], encoding="utf-8").read().splitlines()
threads = collections.defaultdict(collections.Counter)
for thread, _, weight, frames in samples():
    own = [f for f in frames if (f["file"] or "").endswith("/" + args[0])]
    if not own:
        continue
    names = [f["name"] for f in own]
    loop = next(name for name in reversed(names) if name in LOOPS)
    callee = next((name for name in LOOPS[loop] if name in names), None)
    if callee:
        expect(names[-1] in (callee, "spin"), names)
        caller = own[names.index(callee) - 1]
        # Code of the middle tier has the loop's line for calls that it has inlined.
        if caller["subcategory"] == "Optimized":
            expect(f"{callee}(" in text[caller["line"] - 1], (callee, caller))
    elif own[-1] is not frames[-1]:
        continue
    threads[thread["tid"]][callee or loop] += weight
expect(len(threads) == int(args[1]), list(threads))
for tid, counts in threads.items():
    for loop, (longer, shorter) in LOOPS.items():
        called = counts[longer] + counts[shorter]
        expect(called > 40, (tid, loop, counts))
        expect(counts[loop] < 0.06 * called + 10, (tid, loop, counts))
        near(counts[longer], called, 0.75)
CODE
	judge "$1: the functions that are inlined there are known" "$1.json.gz" "$1.stats" <<'CODE'
import json
r = json.load(open(args[0]))["runtimes"]
# V8 may have discarded some of it before it was read.
expect(r["with_inlined"] >= 0.8 * r["compiled"], r)
expect(r["unfound_code"] < 0.01 * r["samples"] + 5, r)
CODE
}

judge_loops loops.js 2
judge_loops loops.mjs 1
done_testing
