#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Events other than the clock: their number and functions are known. The kernel's own count begins
# with the fork and ends before the exit.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
# Not mounted on every machine; prof tells how, which is tested below.
mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
workload=$workloads/events

record exact 0 -e page-faults/period=1,tracepoint:sys_enter_openat/period=1 \
	-e context-switches/period=1/ -- "$workload" 3000 700 100 counts
judge "every occurrence is a sample, where it occurred" exact.json.gz exact.stats <<'CODE'
import json
stats = json.load(open(args[0]))
expect(list(stats["events"]) == ["page-faults", "syscalls:sys_enter_openat", "context-switches"],
       stats["events"])
expect(all(event["lost"] == event["left_over"] == 0 for event in stats["events"].values()),
       stats["events"])
expect(within("touch_pages", thread("events (page-faults)")) == 3000, "touched pages")
expect(within("open_files", thread("opener (syscalls:sys_enter_openat)")) == 700, "opened files")
switches = within("sleep_often", thread("events (context-switches)"))
# A sleep that ends before another task gets the CPU is not a switch. The kernel tells the exact
# number below.
expect(90 <= switches <= 150, f"{switches} switches in 100 sleeps")
CODE
judge "as many as the kernel counts" exact.json.gz exact.stats "$(<counts)" <<'CODE'
import json
stats = json.load(open(args[0]))
faults, switches = map(int, args[1].split())
found = stats["events"]["page-faults"]["weight"]
expect(abs(found - faults) < 100, f"{found} page faults, {faults}")
found = stats["events"]["context-switches"]["weight"]
expect(abs(found - switches) < 20, f"{found} switches, {switches}")
CODE
judge "stacks of a tracepoint: from the kernel through the user's code" exact.json.gz <<'CODE'
row = thread("opener (syscalls:sys_enter_openat)")
found = [frames for _, _, _, frames in samples(row)
         if any(f["name"] == "open_files" for f in frames)]
expect(found and all(f[-1]["category"] == "Kernel" for f in found), "a leaf in the kernel")
expect(found and all("open_files" in [f["name"] for f in frames if f["category"] == "User"]
                     and frames[0]["category"] == "User" for frames in found), "user frames")
CODE
judge "rows of their own, behind their threads, drawn by the event's rate" exact.json.gz <<'CODE'
names = [t["name"] for t in p["threads"]]
wanted = ["events", "events (page-faults)", "events (syscalls:sys_enter_openat)",
          "events (context-switches)", "opener"]
expect(names[:5] == wanted and names[5].startswith("opener ("), names)
for t in p["threads"]:
    is_other = "(" in t["name"]
    expect(check_profile.view(t) == ("event" if is_other else None), t["name"])
    busy = cpu_ms(t)
    expect(not is_other or 0 < busy < 0.9 * p["meta"]["profilingEndTime"], (t["name"], busy))
    expect(t["isMainThread"] == (t["name"] == "events"), t["name"])
    expect(t["pid"] == p["threads"][0]["pid"], t["pid"])
visible = [names[i] for i in p["meta"]["initialVisibleThreads"]]
expect("events (page-faults)" in visible and visible[0] == "events", visible)
CODE

record thinned 0 -e page-faults -- "$workload" 60000 1 1 counts
judge "too many: fewer samples, the same sum" thinned.json.gz thinned.stats "$(<counts)" <<'CODE'
import json
event = json.load(open(args[0]))["events"]["page-faults"]
faults = int(args[1].split()[0])
total = event["weight"] + event["left_over"] + event["lost"]
expect(abs(total - faults) < 100, f"{total} of {faults}: {event}")
expect(100 < event["samples"] < faults / 2, event)
touched = within("touch_pages", thread("events (page-faults)"))
expect(abs(touched / 60000 - 1) < 0.05, f"{touched} of 60000")
CODE
record every 0 -e page-faults/period=100 -- "$workload" 20000 1 1 counts
judge "/period: each sample stands for as many" every.json.gz every.stats "$(<counts)" <<'CODE'
import json
event = json.load(open(args[0]))["events"]["page-faults"]
total = event["weight"] + event["left_over"]
faults = int(args[1].split()[0])
expect(event["weight"] == 100 * event["samples"] and event["left_over"] < 100 * 64, event)
expect(abs(total - faults) < 100, f"{total} of {faults}: {event}")
CODE
record rarely 0 -e page-faults/freq=50 -- "$workload" 60000 1 1 counts
ok "/freq: hardly more samples than that" test "$(python3 -c '
import json
print(json.load(open("rarely.stats"))["events"]["page-faults"]["samples"])')" -lt 500

# The clock is independent of events, and is the one asked for.
for clock in cpu-clock task-clock; do
	record $clock 0 -e page-faults,$clock -- "$workloads/shares" 0.5
	is "-e $clock: the clock" "$(stat_of $clock event)" $clock
	judge "-e $clock: its ticks" $clock.json.gz \
		<<<'spent(500, "main", thread("shares"))'
done
record both 0 -e cpu-clock,task-clock -- "$workloads/shares" 0.5
judge "a second clock is an event like others, in ns" both.json.gz <<'CODE'
ns = sum(w for _, _, w, _ in samples(thread("shares (task-clock)")))
expect(abs(ns / 5e8 - 1) < 0.1, f"{ns} ns")
CODE
# Uses the machine's counters; without any, prof says so.
run "$PROF" record -q -e cycles,instructions -o pmu.json --stats pmu.stats -- true
if "$PROF" check | grep -q 'pmu.*hardware counters, for'; then
	is "cycles: recorded where there are counters" "$status $(stat_of pmu event)" "0 cycles"
else
	is "cycles: refused where there are no counters" "$status" 125
	like "cycles: says why, and what else there is" "$err" \
		'cycles: this machine has no hardware counters; use cpu-clock or leave out -e'
	refuses "another hardware event: likewise" 125 'cache-misses: this machine has no' \
		"$PROF" record -e cache-misses -- touch started
fi

refuses "an unknown tracepoint: how they are listed" 125 'sched:nonsense.*ls /sys/kernel' \
	"$PROF" record -e sched:nonsense -- touch started
refuses "an unknown tracepoint without category" 125 'nonsense: this kernel has no such' \
	"$PROF" record -e tracepoint:nonsense -- touch started
for list in nonsense page-faults,page-faults page-faults/period=0 page-faults/freq=0 \
	page-faults/color=red cpu-clock/period=5 "page-faults," ../x:y; do
	refuses "-e $list" 2 '--event' "$PROF" record -e "$list" -- touch started
done
# shellcheck disable=SC2016 # for the inner shell
refuses "no tracefs: how it is mounted" 125 'not mounted.*mount -t tracefs' \
	unshare -m sh -c 'mount -t tmpfs none /sys/kernel/tracing &&
		mount -t tmpfs none /sys/kernel/debug && exec "$@"' sh \
	"$PROF" record -e sched:sched_switch -- touch started

done_testing
