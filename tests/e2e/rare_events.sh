#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Markers that each recording has: how processes end, lives of children, stops, changes of CPU.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

# Tells "name pid seconds of CPU time" of its children as it goes.
cat >endings.py <<'CODE'
import os, resource, signal, sys, time

def child(work):
    pid = os.fork()
    if pid == 0:
        # No core file.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        work()
        os._exit(0)
    return pid

def stop_then_go():
    signal.pause()

def state(pid):
    return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]

def ended(name, pid):
    _, _, usage = os.wait4(pid, 0)
    print(name, pid, usage.ru_utime + usage.ru_stime, flush=True)

def spin():
    while time.process_time() < 0.2:
        pass
    os._exit(3)

print("parent", os.getpid(), 0, flush=True)
ended("status", child(spin))
ended("killed", child(lambda: os.kill(os.getpid(), signal.SIGKILL)))
ended("crashed", child(lambda: os.kill(os.getpid(), signal.SIGSEGV)))
pid = child(stop_then_go)
while state(pid) != "S":
    time.sleep(0.01)
os.kill(pid, signal.SIGSTOP)
while state(pid) != "T":
    time.sleep(0.01)
before = time.monotonic()
time.sleep(0.2)
after = time.monotonic()
os.kill(pid, signal.SIGCONT)
while state(pid) != "S":
    time.sleep(0.01)
print("stop", int(before * 1e9), int(after * 1e9), flush=True)
os.kill(pid, signal.SIGTERM)
ended("stopped", pid)
pid = os.getpid()
# Each of the two has work to do there, so that it is seen.
for cpu in sorted(os.sched_getaffinity(0))[:2]:
    os.sched_setaffinity(0, {cpu})
    until = time.process_time() + 0.05
    while time.process_time() < until:
        pass
    print("cpu", cpu, 0, flush=True)
sys.exit(7)
CODE
record endings 7 -- /usr/bin/python3 endings.py
echo "$out" >endings.told
judge "each process tells how it ended, and its parent how long it lived" endings.json.gz endings.told <<'CODE'
strings = p["shared"]["stringArray"]
zero = p["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"]
told = {name: (int(a), float(b)) for name, a, b in map(str.split, open(args[0])) if name != "cpu"}

def markers(thread):
    m = thread["markers"]
    for i in range(m["length"]):
        yield strings[m["name"][i]], m["startTime"][i], m["endTime"][i], m["data"][i]

def text(data, key):
    return strings[data[key]] if key in data else None

ends = {"status": ("exit", 3), "killed": ("killed", "SIGKILL"), "crashed": ("killed", "SIGSEGV"),
        "stopped": ("killed", "SIGTERM"), "parent": ("exit", 7)}
for name, (kind, how) in ends.items():
    [own] = threads_of(told[name][0])
    found = [(n, data.get("status") if n == "exit" else text(data, "signal"))
             for n, _, _, data in markers(own) if n in ("exit", "killed", "OOM kill")]
    expect(found == [(kind, how)], f"{name}: {found}")
[parent] = threads_of(told["parent"][0])
children = {int(data["pid"]): (start, end, data) for n, start, end, data in markers(parent) if n == "child"}
expect(set(children) == {told[n][0] for n in ends if n != "parent"}, children)
for name in ends:
    if name == "parent" or told[name][0] not in children:
        continue
    start, end, data = children[told[name][0]]
    [own] = threads_of(told[name][0])
    expect(start == own["registerTime"] and end == own["unregisterTime"], (start, end, own["registerTime"]))
    kind, how = ends[name]
    expect(text(data, "status") == (f"exit {how}" if kind == "exit" else how), data)
    expect(text(data, "process").startswith("python3"), data)
    # The kernel's account has whole ticks of its own at worst.
    expect(abs(data["cpu"] - told[name][1] * 1000) < 12, f"{name}: {data['cpu']} ms of CPU time")
[stopped] = threads_of(told["stopped"][0])
stops = [(start * 1e6 + zero, end * 1e6 + zero) for n, start, end, _ in markers(stopped) if n == "stopped"]
begin, end = told["stop"]
expect(len(stops) == 1 and stops[0][0] <= begin and end <= stops[0][1], (stops, begin, end))
CODE
judge "a thread that moves says so" endings.json.gz endings.told <<'CODE'
strings = p["shared"]["stringArray"]
lines = [line.split() for line in open(args[0])]
parent = next(int(a) for name, a, b in lines if name == "parent")
cpus = [int(a) for name, a, b in lines if name == "cpu"]
m = threads_of(parent)[0]["markers"]
moves = [(d["from"], d["to"]) for n, d in zip(m["name"], m["data"]) if strings[n] == "CPU change"]
if len(cpus) == 2:
    expect(tuple(cpus) in moves, moves)
for before, after in zip(moves, moves[1:]):
    expect(before[1] == after[0], moves)
expect(all(a != b for a, b in moves), moves)
CODE
ok "report lists them" sh -c "'$PROF' report --markers --format csv endings.json.gz | grep -q 'child.*Status: exit 3'"
ok "report selects by them" sh -c "'$PROF' report --during child endings.json.gz | grep -q spin"
ok "info counts them" sh -c "'$PROF' info endings.json.gz | grep -Eq '^ +child +4\$'"
ok "they are known to be harmless" sh -c \
	"'$PROF' convert --sanitize -o clean.json.gz endings.json.gz && '$PROF' report --markers --format csv clean.json.gz | grep -q 'killed.*SIGKILL'"

# Maps a large file twice, a small one, and memory.
cat >mapping.py <<'CODE'
import mmap, os
large, small = os.open("large", os.O_RDWR | os.O_CREAT), os.open("small", os.O_RDWR | os.O_CREAT)
os.ftruncate(large, 5 << 20)
os.ftruncate(small, 1 << 16)
kept = [mmap.mmap(large, 0), mmap.mmap(small, 0), mmap.mmap(-1, 8 << 20), mmap.mmap(large, 3 << 20)]
# Maps it on each CPU in turn: what they tell arrives in any order.
for cpu in sorted(os.sched_getaffinity(0)) * 5:
    os.sched_setaffinity(0, {cpu})
    kept.append(mmap.mmap(large, 4 << 20))
CODE
record mapping 0 -- /usr/bin/python3 mapping.py
judge "large files are told when they are mapped" mapping.json.gz "$PWD/large" <<'CODE'
import os
strings = p["shared"]["stringArray"]
found = [(strings[d["file"]], d["bytes"]) for t in p["threads"] for d in t["markers"]["data"]
         if d and d["type"] == "file mapped"]
own = [row for row in found if row[0] == args[0]]
sizes = [5 << 20, 3 << 20] + [4 << 20] * 5 * len(os.sched_getaffinity(0))
expect(own == [(args[0], size) for size in sizes], found)
expect(all(file.startswith("/") and size >= 1 << 20 for file, size in found), found)
expect(not any(file.endswith(("/small", ".so.6", "/python3")) for file, _ in found), found)
CODE

refuses "a program that no filter passes maps large files unseen" 125 'filters' \
	"$PROF" record -a --uid 4000000000 -o nothing.json.gz -- /usr/bin/python3 mapping.py

memory_group prof-oom-$$
ok "there is a group with a limit" limit_memory 33554432
cat >hungry.sh <<CODE
/usr/bin/python3 -c "
import os
open('$group/cgroup.procs', 'w').write(str(os.getpid()))
kept = []
while True:
    kept.append(bytearray(1 << 20))
"
exit \$?
CODE
record hungry 137 --as-root -- sh hungry.sh
judge "an OOM kill is told from other kills" hungry.json.gz <<'CODE'
strings = p["shared"]["stringArray"]
found = sorted((strings[n], strings[d["status"]] if "process" in d else (d or {}).get("status"))
               for t in p["threads"] for n, d in zip(t["markers"]["name"], t["markers"]["data"])
               if strings[n] in ("exit", "killed", "OOM kill", "child"))
expect(found == [("OOM kill", None), ("child", "SIGKILL, out of memory"), ("exit", 137)], found)
CODE
done_testing
