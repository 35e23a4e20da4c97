#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What runs beside the recorded command: markers by name, CPU time, the line in the summary.
. "$(dirname "$0")/lib.sh"

# Works 60 % of the time, by its own clock, with a first thread of another name.
cat >next-door.py <<'CODE'
import time
open("/proc/self/comm", "w").write("MainThread")
while True:
    begin = time.monotonic()
    while time.monotonic() < begin + 0.03:
        pass
    time.sleep(0.02)
CODE

# Tells what the process has used, and waits until it has used so much more, in ticks of 10 ms.
cat >watch.py <<'CODE'
import sys, time
def used():
    fields = open(f"/proc/{sys.argv[1]}/stat").read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
before = used()
while used() < before + int(sys.argv[2]):
    time.sleep(0.05)
print(used() - before, flush=True)
CODE

# It comes first on its CPU, whatever else the machine does.
cpu=$(taskset -pc $$ | sed 's/.*: *//; s/[-,].*//')
cp /usr/bin/python3 "next-door$$"
taskset -c "$cpu" nice -n -15 "./next-door$$" next-door.py &
background=$!
wait_until has_used "$background" 5
run "$PROF" record --cpu "$cpu" -o beside.json.gz --stats beside.stats -- python3 watch.py "$background" 150
is "a command is recorded beside another program" "$status" 0
printf '%s\n' "$out" >used
like "the summary tells of a tenth or more" "$err" 'not recorded used [0-9]+ % of the CPUs: '
# Both are the kernel's accounts: by ticks here, there by switches.
judge "the background has intervals with its CPU time" beside.json.gz "next-door$$" <<'CODE'
import json, sys
name, strings = sys.argv[2], p["shared"]["stringArray"]
rows = [data for thread in p["threads"] for data in thread["markers"]["data"]
        if data and data["type"] == "background load"]
mine = [row for row in rows if strings[row["process"]] == name[:15]]
used = int(open("used").read()) * 10
expect(len({row["process"] for row in rows}) <= 5, rows)
expect(0.6 * used < sum(row["cpu"] for row in mine) < 1.5 * used, (used, rows))
expect(all(0 < row["share"] for row in mine), mine)
stats = json.load(open("beside.stats"))
expect(stats["outside_cpu_ms"] >= sum(row["cpu"] for row in rows) - 0.1, stats)
expect(stats["steal_ms"] >= 0, stats)
CODE
# Ticks before the start and after the end do not count; one more than fits may.
for _ in 1 2 3 4 5; do
	run "$PROF" record --cpu "$cpu" -o short.json.gz -- sleep 0.05
	unlike "a short recording: no more than there is" "$err" 'not recorded used (11[1-9]|1[2-9][0-9]|[2-9][0-9]{2}|[0-9]{4,}) %'
done
run "$PROF" report --markers beside.json.gz
like "prof report lists it" "$out" "background load .*next-door$$"
run "$PROF" convert --sanitize beside.json.gz -o clean.json.gz
is "the profile can be sanitized" "$status" 0
judge "with its CPU time" clean.json.gz <<'CODE'
expect(any(data and data["type"] == "background load" and data["cpu"] > 0 for thread in p["threads"]
           for data in thread["markers"]["data"]), "no background load")
CODE

run "$PROF" record --cpu "$cpu" --raw beside.raw -- python3 watch.py "$background" 20
run "$PROF" convert beside.raw -o later.json.gz
judge "a capture carries it" later.json.gz <<'CODE'
expect(any(data and data["type"] == "background load" for thread in p["threads"]
           for data in thread["markers"]["data"]), "no background load")
expect(p["profilerOverhead"][0]["statistics"]["samplingCount"] > 0, p["profilerOverhead"])
CODE

kill "$background"
wait "$background" 2>/dev/null
done_testing
