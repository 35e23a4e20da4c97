#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# -e TRACEPOINT/marker/: each occurrence is a marker with the tracepoint's fields.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

cat >acts.py <<'CODE'
import os, sys, time
print(os.getpid(), flush=True)
for _ in range(7):
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    print(child, flush=True)
for i in range(10):
    fd = os.open("/dev/null", os.O_RDONLY, 0)
    os.lseek(fd, 1000 + i, os.SEEK_SET)
    os.close(fd)
    time.sleep(0.001)
time.sleep(0.5)
os.lseek(0, 0, os.SEEK_CUR)
os.execv("/bin/true", ["a program of its own"])
CODE
record acts 0 -e sched:sched_process_fork/marker/,syscalls:sys_enter_lseek/marker/ \
	-e sched:sched_process_exec/marker/,timer:hrtimer_start/marker/ -- /usr/bin/python3 acts.py
echo "$out" >told
judge "forks, calls, execs and timers with their fields" acts.json.gz told acts.stats <<'CODE'
import json
strings = p["shared"]["stringArray"]
pid, *children = (int(line) for line in open(args[0]))
found = {}
for t in p["threads"]:
    m = t["markers"]
    for i in range(m["length"]):
        data = m["data"][i]
        if data and ":" in data["type"]:
            stack = data.get("cause", {}).get("stack")
            frames = [] if stack is None else [f["name"] for f in
                                               check_profile.stack_frames(p, stack)]
            found.setdefault(strings[m["name"][i]], []).append((t, data, frames))
            expect(m["phase"][i] == 0, "an interval")
forks = found["sched:sched_process_fork"]
expect([data["child_pid"] for _, data, _ in forks] == children, forks)
for t, data, frames in forks:
    expect(data["parent_pid"] == pid and str(t["pid"]) == str(pid), data)
    expect(strings[data["parent_comm"]] == strings[data["child_comm"]] == "python3", data)
    expect(any("clone" in name or "fork" in name for name in frames), frames)
seeks = [data for _, data, _ in found["syscalls:sys_enter_lseek"] if data["offset"] in range(1000, 1010)]
expect([data["offset"] for data in seeks] == list(range(1000, 1010)), seeks)
_, _, last = found["syscalls:sys_enter_lseek"][-1]
expect("<module>" in last, last)
execs = [(strings[data["filename"]], data["pid"]) for _, data, _ in
         found["sched:sched_process_exec"]]
expect(("/bin/true", pid) in execs, execs)
sleeps = [data for _, data, frames in found["timer:hrtimer_start"]
          if any("nanosleep" in name for name in frames)]
expect(len(sleeps) >= 10 and all(data["expires"] >= data["softexpires"] > 0 for data in sleeps),
       len(sleeps))
stats = json.load(open(args[1]))
count = sum(len(rows) for rows in found.values())
expect(stats["tracepoints"] == {"recorded": count, "lost": 0}, (stats["tracepoints"], count))
expect("events" not in stats or "sched:sched_process_fork" not in stats["events"], "a sample")
CODE
like "the summary counts them" "$err" 'tracepoints: [0-9]+, 0 lost'
ok "report lists them" sh -c "'$PROF' report --markers --format csv acts.json.gz | grep -q 'sys_enter_lseek.*offset: 1003'"

record both 0 -e sched:sched_process_exec/marker/,page-faults -- true
judge "other events are sampled beside them" both.json.gz both.stats <<'CODE'
import json
stats = json.load(open(args[0]))
expect(stats["events"]["page-faults"]["weight"] > 0, stats["events"])
expect(list(stats["events"]) == ["page-faults"], stats["events"])
CODE

refuses "a tracepoint that is none" 125 'this kernel has no such tracepoint' \
	"$PROF" record -e sched:nothing_like_it/marker/ -- touch started
refuses "an event that is no tracepoint" 2 'only tracepoints have fields' \
	"$PROF" record -e page-faults/marker/ -- touch started
refuses "another word" 2 'a name can only be followed by' \
	"$PROF" record -e sched:sched_switch/markers/ -- touch started
done_testing
