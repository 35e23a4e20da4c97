#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Collapsed stacks of a real program, by --format and by the name of the file.
# May run beside others.
. "$(dirname "$0")/lib.sh"

weight_of() { # FILE REGEX: ticks of the lines that match
	awk -v regex="$2" '$0 ~ regex { sum += $NF } END { print sum + 0 }' "$1"
}
is_folded() { # FILE
	[ -s "$1" ] && ! grep -nvE '^[^;]+(;[^;]+)* [1-9][0-9]*$' "$1"
}

run "$PROF" record -e page-faults -o by-name.folded --stats stats -- "$workloads/shares" 0.6
is "a name that ends in .folded: exit status" "$status" 0
ok "it is plain, each line a stack and its weight" is_folded by-name.folded
is "its ticks are those of the statistics, without other events" \
	"$(weight_of by-name.folded .)" \
	"$(python3 -c 'import json; print(json.load(open("stats"))["cpu_samples"])')"
sixty=$(weight_of by-name.folded ';sixty;') ten=$(weight_of by-name.folded ';ten;')
ok "functions have their shares: $sixty and $ten" test "$sixty" -gt "$ten"
ok "the process is the outermost frame" grep -q '^shares;.*;main;sixty;' by-name.folded

run "$PROF" record -o zipped.folded.gz -- "$workloads/shares" 0.1
gunzip -c zipped.folded.gz >unzipped
ok "a name that ends in .folded.gz: the same, compressed" is_folded unzipped
run "$PROF" record --format folded -o other.name -- "$workloads/shares" 0.1
ok "--format folded, under any name" is_folded other.name
"$PROF" record --format folded -o - -- "$workloads/shares" 0.1 >stdout 2>stderr
ok "and on standard output" is_folded stdout

is "it is read again as it was written" \
	"$("$PROF" convert by-name.folded --to folded -o - | LC_ALL=C sort)" \
	"$(LC_ALL=C sort by-name.folded)"
done_testing
