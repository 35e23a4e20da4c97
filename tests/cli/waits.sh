#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Waits in what reads profiles: one category, hidden or kept by one option. Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

waits=$golden/waits.json
old=$root/tests/fuzz/corpus/read/old-waits.json

# Lists categories with time of their own.
rows() { # FILE OPTION...
	"$PROF" report --format csv --by category "$@" | awk -F, 'NR > 1 && $2 { print $1 }' |
		tr -d '"' | LC_ALL=C sort | paste -sd,
}
is "without the option no wait counts" "$(rows "$waits")" "User: Program"
like "with it, all do" "$(rows "$waits" --include-idle)" 'Idle: Child,Idle: Lock,Idle: Pipe,Idle: Preempted,Idle: Queued,Idle: Timer,User'
unlike "waits alone did not run" "$("$PROF" report --by function --category 'Idle*' "$waits")" '; ran '
is "a kind of waits is asked for by name" "$(rows "$waits" --category 'Idle: Lock')" "Idle: Lock"
is "an older file says the same" "$(rows "$old" --include-idle)" \
	"Idle: Condition,Idle: Other,Idle: Queued,Idle: Timer,User: Program"

python3 "$root/tests/readers/make_jfr.py" .
is "Java's flight recorder: a thread of the virtual machine idles" \
	"$(rows java.jfr --include-idle --thread 'w*')" 'Idle: Condition,Idle: Other,Idle: Timer,Java: Other'

ok "a profile without waits" "$PROF" convert --cpu-only "$waits" -o cpu.json
judge "has all ticks, and no wait" cpu.json <<'CODE'
expect(not waits(), waits())
expect(samples(), "no samples")
expect("Idle" not in {c["name"] for c in p["meta"]["categories"]}, p["meta"]["categories"])
CODE
ok "a speedscope file without waits" "$PROF" convert --cpu-only "$waits" -o cpu.speedscope.json
unlike "has none of their labels" "$(<cpu.speedscope.json)" '\[clock_nanosleep\]'
refuses "both at once" 2 'prof convert: --cpu-only: ' \
	"$PROF" convert --cpu-only --include-idle "$waits" -o both.json
done_testing
