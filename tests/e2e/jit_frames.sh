#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Stacks through generated code whose jitdump describes its unwinding: its frame pointer leads
# nowhere, and its frame holds a false return address. The code runs some time after the dump has
# described it.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

for program in "$workloads/jit_frames" "$workloads/nofp/jit_frames"; do
	name=$(basename "$(dirname "$program")")
	record "$name" 0 --as-root -- "$program" 500
	for caller in calls_made calls_moved calls_inherited; do
		judge "$name: each frame of the stacks in $caller" "$name.json.gz" $caller <<'CODE'
path = ["main", *dict.fromkeys([args[0], "calls_made"]), "made", "burns"]
found = [[f["name"] for f in frames] for _, _, _, frames in samples()
         if any(f["name"] == "burns" for f in frames)]
mine = [names for names in found if args[0] in names and
        (args[0] != "calls_made" or not {"calls_moved", "calls_inherited"} & set(names))]
right = sum(names[names.index("burns") - len(path) + 1:names.index("burns") + 1] == path
            for names in mine)
expect(right == len(mine) > 200, f"{right} of {len(mine)}, of {len(found)} in all")
lost = [names for names in found if "calls_made" not in names]
expect(not lost, f"{len(lost)} that none of the callers is in: {lost[:1]}")
CODE
	done
	judge "$name: without a guess, and none is malformed" "$name.json.gz" "$name.stats" <<'CODE'
import json
stats = json.load(open(args[0]))
can_be_whole = sum(stats[c] for c in ("whole", "truncated", "broken", "unknown"))
# A tick may come before the program's tables.
expect(stats["guessed"] == 0 and can_be_whole - 5 <= stats["whole"] > 1200, stats)
expect(stats["code_pieces"] == stats["code_unwound"] == 2 and stats["code_malformed"] == 0, stats)
CODE
done
# Described only at the end: stacks wait, and those from before the move have the old place.
record kept 0 --as-root -F 300 -- "$workloads/nofp/jit_frames" 100 kept
judge "code that its process tells of at its end: no stack is a guess" kept.json.gz kept.stats <<'CODE'
import json
stats = json.load(open(args[0]))
can_be_whole = sum(stats[c] for c in ("whole", "truncated", "broken", "unknown"))
expect(stats["guessed"] == 0 and stats["whole"] == can_be_whole > 100, stats)
found = [[f["name"] for f in frames] for _, _, _, frames in samples()
         if any(f["name"] == "burns" for f in frames)]
for name in ("calls_made", "calls_moved"):
    count = sum(name in names for names in found)
    expect(count > 50, f"{count} with {name}, of {len(found)}")
expect(all(names[names.index("burns") - 1] == "made" for names in found), found[:1])
CODE
rm -f jit-*.dump

done_testing
