#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The kernel takes the BPF programs, whatever is switched on and off in them, without much work.
. "$(dirname "$0")/lib.sh"

run "$(dirname "$workloads")/e2e/load_programs"
is "every combination of the switches loads" "$status" 0
diagnose "$err"
diagnose "$out"
is "there are as many combinations as there should be" "$(wc -l <<<"$out")" 32
# The largest number of instructions that were verified for one program, and which.
read -r count name <<<"$(grep -o '[a-z_]* [0-9]*' <<<"${out//: /$'\n'}" |
	awk '/^(on|find)_/ { print $2, $1 }' | sort -n | tail -1)"
# The aim is 10,000; with every switch on, older verifiers need a little more.
ok "the verifier looks at 11,000 instructions of a program at most: $count of $name" \
	test "${count:-99999}" -le 11000
done_testing
