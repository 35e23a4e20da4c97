#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Stacks through code that was made at run time, and whose jitdump says how it is unwound: neither
# its frame pointer leads on nor what looks like a return address in its frame. It runs some time
# after the dump has told of it.
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
expect(stats["guessed"] == 0 and stats["whole"] == can_be_whole > 1200, stats)
expect(stats["code_pieces"] == stats["code_unwound"] == 2 and stats["code_malformed"] == 0, stats)
CODE
done
rm -f jit-*.dump

done_testing
