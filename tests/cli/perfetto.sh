#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Traces for Perfetto, read by a decoder of the test's own: they count what prof report counts.
# Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

shown() { # FILE WHAT
	python3 "$root/tests/cli/perfetto_file.py" "$@"
}
counted() { # FILE ROWS COLUMN
	"$PROF" report --no-config --by "$2" --unit samples --limit 0 --format csv "$1" | python3 -c '
import collections, csv, sys
count = collections.Counter()
for row in csv.DictReader(sys.stdin):
    count[row[sys.argv[1]]] += int(row["self"])
for name, number in sorted(count.items()):
    if number:
        print(name, number)' "$3"
}

for name in simple inline kernel-frames kernel-modules runtimes cpus events waits spans pid-reuse threads; do
	run "$PROF" convert --no-config "$golden/$name.json" -o $name.pftrace
	is "$name: functions" "$(shown $name.pftrace functions)" "$(counted "$golden/$name.json" function function)"
	is "$name: threads" "$(shown $name.pftrace threads)" "$(counted "$golden/$name.json" thread thread_title)"
done
is "every event has samples of its own" "$(shown events.pftrace events)" \
	$'cpu-clock 3\nevent 3 1\npage-faults 3\nsched:sched_switch 2'
is "a process that takes a number again gets another one" "$(shown pid-reuse.pftrace ids)" \
	$'1 init\n50 one\n51 two-t\n4194304 two\n4194305 three'

is "waits are slices between the times in which the thread ran" "$(shown waits.pftrace slices | grep -v read)" \
	"running: running 1000000 2000000
waits: [clock_nanosleep] 3000000 9000000
waits: [queued] 9000000 13000000
running: running 13000000 14000000
waits: [futex] 15000000 21000000
waits: [wait4] 30000000 130000000
waits: [preempted] 23000000 27000000"
is "a thread whose CPUs are known has states" "$(shown cpus.pftrace states | grep ' 50 ')" \
	"0 50 running 3
1000000 50 R 3
1000001 50 running 1
4000000 50 S 1
16000000 50 running 1
17000000 50 R 1
17000001 50 running 12
18000001 50 S 12"
"$PROF" convert --no-config "$golden/wakers.json" -o wakers.pftrace
is "a flow leads from the waker to the thread that it woke" "$(shown wakers.pftrace flows)" "wakes app -> woken by holder"
is "a marker lasts as long as its slice" "$(shown wakers.pftrace slices | grep '^woken')" \
	"woken: woken 2000000 9000000
woken: woken 16000000 18000000
woken: woken 10000000 15000000"
"$PROF" convert --no-config "$golden/counters.json" -o counters.pftrace
is "counters have their values" "$(shown counters.pftrace counters)" \
	$'Memory 4096 12288 8192 8192\nPower 7 7\nRSS 4096 4096\nReads 100 100 1 3 6'

# Markers of one kind that overlap, and one inside another; the reader checks that none is torn.
python3 - "$golden/simple.json" <<'END' >overlap.json
import json, sys
profile = json.load(open(sys.argv[1], encoding="utf-8"))
profile["shared"]["stringArray"].append("span")
name = len(profile["shared"]["stringArray"]) - 1
spans = [(0, 5), (1, 2), (1, 7), (6, 8), (3, 3)]
profile["meta"]["markerSchema"].append({"name": "span", "display": ["marker-chart"], "fields": []})
profile["threads"][0]["markers"] = {
    "name": [name] * 5, "category": [0] * 5, "data": [{"type": "span"}] * 5, "length": 5,
    "startTime": [start for start, _ in spans], "endTime": [end for _, end in spans],
    "phase": [1] * 5}
json.dump(profile, sys.stdout)
END
"$PROF" convert --no-config overlap.json -o overlap.pftrace
is "markers that overlap" "$(shown overlap.pftrace slices | grep '^span' | sort)" \
	"span: span 0 5000000
span: span 1000000 2000000
span: span 1000000 7000000
span: span 3000000 3000000
span: span 6000000 8000000"

run "$PROF" convert --no-config --process nothing "$golden/simple.json" -o nothing.pftrace
is "a filter that leaves nothing" "$status" 125
"$PROF" convert --no-config "$golden/waits.json" -o cpu.pftrace --cpu-only
is "--cpu-only leaves waits out" "$(shown cpu.pftrace slices | grep -c waits)" 0
"$PROF" convert --no-config "$golden/waits.json" -o - --to perfetto | cmp - waits.pftrace
is "--to perfetto writes the same to standard output" $? 0
"$PROF" convert --no-config "$golden/waits.json" -o waits.pftrace.gz
is "a name that ends in .gz is compressed" "$(gzip -dc waits.pftrace.gz | cmp - waits.pftrace && echo same)" same
done_testing
