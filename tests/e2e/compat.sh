#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A 32-bit program on a 64-bit kernel: its stacks are whole, with names, lines and inlined functions
# from its file, also through a signal handler.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

if [ "$(uname -m)" != x86_64 ]; then
	# Only x86-64 has 32-bit programs with call frame information; elsewhere, none is built.
	ok "no 32-bit program was built" test ! -e "$workloads/compat"
	record native 0 -- "$workloads/shares" 0.3
	is "no stack is one of a 32-bit program" "$(stat_of native compat)" 0
	done_testing
	exit
fi
record compat 0 -- "$workloads/compat" 1500
judge "its stacks are whole, and nothing is a guess" compat.json.gz compat.stats <<'CODE'
import json
stats = json.load(open(args[0]))
can_be_whole = sum(stats[c] for c in ("whole", "truncated", "broken", "unknown"))
expect(stats["compat"] == can_be_whole > 300, stats)
expect(stats["whole"] + stats["unknown"] == can_be_whole and stats["guessed"] == 0, stats)
expect(stats["whole"] >= 0.9 * can_be_whole, stats)
CODE
judge "each function has its callers" compat.json.gz <<'CODE'
paths = {
    "left": ["_start", "run", "both", "left", "burn_us"],
    "right": ["_start", "run", "both", "right", "burn_us"],
    "handler": ["_start", "run", "both", "__kernel_sigreturn", "handler", "burn_us"],
}
counts = dict.fromkeys(paths, 0)
total = 0
for _, _, weight, frames in samples():
    names = [f["name"] for f in frames]
    if "_start" not in names:
        continue
    total += weight
    for leaf, path in paths.items():
        if leaf in names and "burn_us" in names:
            expect(names[:len(path)] == path, names)
            counts[leaf] += weight
for leaf, share in (("left", 0.5), ("right", 0.25), ("handler", 0.25)):
    expect(abs(counts[leaf] / total - share) < 0.1, (counts, total))
CODE
judge "frames have lines of its source" compat.json.gz <<'CODE'
lines = {f["line"] for _, _, _, frames in samples() for f in frames if f["name"] == "burn_us"}
expect(lines and None not in lines, lines)
CODE
run "$PROF" record -o fp.json.gz --unwind=fp -- "$workloads/compat" 100
is "by frame pointers it is recorded as well" "$status" 0
unlike "what is known is not called unknown" "$err" 'leaf only'
done_testing
