#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Counters of processes, beside what the program knows of itself.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

# Grows by a megabyte a step and prints when; then works, with a thread, and prints its CPU time.
cat >grow.py <<'CODE'
import os, threading, time
keep = []
for _ in range(10):
    keep.append(b"x" * (1 << 20))
    print(time.monotonic_ns())
    time.sleep(0.2)
def work():
    end = time.thread_time() + 0.2
    while time.thread_time() < end:
        pass
before = time.process_time()
thread = threading.Thread(target=work)
thread.start(), work(), thread.join()
time.sleep(0.3)
print(time.process_time() - before, os.cpu_count(), os.getpid())
CODE
record grow 0 --counter-interval 20 -- /usr/bin/python3 grow.py
echo "$out" >grow.told
judge "memory, CPU time and threads are those of the program" grow.json.gz grow.told grow.stats <<'CODE'
import json
*steps, last = open(args[0]).read().splitlines()
steps = list(map(int, steps))
used, cpus, pid = last.split()
zero = p["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"]
counters = {c["name"]: c["samples"] for c in p["counters"] if c["pid"] == pid}
expect({"Memory", "CPU time", "Threads", "Page faults", "Context switches"} <= set(counters), sorted(counters))
def level(name, ns):
    return sum(count for time, count in zip(counters[name]["time"], counters[name]["count"])
               if time * 1e6 + zero <= ns)
# The kernel's sum may lack some pages of each CPU; a pass may come a step late.
slack = (1.3 + 0.15 * int(cpus)) * 2 ** 20
base = level("Memory", steps[0] + 190e6) - 2 ** 20
for i, step in enumerate(steps):
    grown = level("Memory", step + 190e6) - base
    expect(abs(grown - (i + 1) * 2 ** 20) <= slack, f"{grown / 2 ** 20:.2f} MB after {i + 1} steps")
worked = (level("CPU time", 1e30) - level("CPU time", steps[-1] + 100e6)) / 1e6
expect(abs(worked - float(used)) <= 0.05 + 0.05 * float(used), f"{worked} s of {used}")
expect(max(counters["Threads"]["count"]) == 1 and level("Threads", 1e30) == 1, counters["Threads"])
for name, samples in counters.items():
    times = samples["time"]
    expect(all(a < b for a, b in zip(times[1:], times[2:])), f"{name}: two rows at one time")
    # The front-end takes the first count for 0, and stops at the last one.
    expect(samples["count"][0] == 0, f"{name} begins with {samples['count'][0]}")
    end = next(t["unregisterTime"] for t in p["threads"] if t["pid"] == pid and t["isMainThread"])
    # A pass may be late, but a level is known to the end.
    if name in ("Memory", "Swap", "Threads"):
        expect(abs(end - times[-1]) < 0.001, f"{name} ends {end - times[-1]} ms early")
stats = json.load(open(args[1]))["counters"]
expect(stats["passes"] >= 8 and stats["announced"] >= 5, stats)
CODE
judge "each tooltip has a unit that the front-end knows; the machine's come last" grow.json.gz <<'CODE'
units = {row["format"]["unit"] for c in p["counters"] for row in c["display"]["tooltipRows"]}
expect(units <= {"bytes", "bytes-per-second", "percent", "number"}, units)
sources = {c["name"]: c["display"]["tooltipRows"][0]["source"] for c in p["counters"]}
expect(sources["CPU time"] == "cpu-ratio" and sources["Memory"] == "accumulated", sources)
names = [c["name"] for c in p["counters"]]
own = [name for name in names if not name.startswith(("Machine: ", "Throttled group"))]
expect(names[:len(own)] == own and own[0] == "Memory", names)
CODE
judge "the machine's own" grow.json.gz <<'CODE'
counters = {c["name"]: c["samples"] for c in p["counters"]}
expect({"Machine: programs", "Machine: kernel", "Machine: memory"} <= set(counters), sorted(counters))
# The program's two threads worked for 0.2 s each, in ticks of 10 ms.
worked = [sum(counters["Machine: " + name]["count"]) for name in ("programs", "kernel")]
expect(sum(worked) >= 300000, worked)
CODE

record memory 0 -- /usr/bin/python3 grow.py
judge "memory is there without an option" memory.json.gz memory.stats <<'CODE'
import itertools
import json
memory = [c for c in p["counters"]]
expect([c["name"] for c in memory] == ["Memory"], [c["name"] for c in memory])
# The last pass may find a program that has given its memory back.
peak = max(itertools.accumulate(memory[0]["samples"]["count"]))
expect(10 * 2 ** 20 <= peak <= 100 * 2 ** 20, memory)
expect(len(memory[0]["samples"]["count"]) >= 10, memory)
stats = json.load(open(args[0]))["counters"]
expect(stats["cpu_ms"] <= 0.001 * 3000 * 2, stats)
CODE
start /usr/bin/python3 -c 'import time; keep = b"x" * (8 << 20); open("grown", "w"); time.sleep(1000)'
wait_until test -e grown
run "$PROF" attach -p "$started" -d 0.5 -o attached.json
judge "of a process that is attached to, too" attached.json <<'CODE'
[memory] = p["counters"]
expect(memory["name"] == "Memory" and sum(memory["samples"]["count"]) > 8 * 2 ** 20, memory)
CODE
kill "$started"
# shellcheck disable=SC2016 # for the inner shell
record many 0 --all-threads -- sh -c \
	'for i in $(seq 130); do sleep 1000 & done; sleep 1; pkill -P $$ -x sleep'
judge "of 100 processes at a time at most" many.json.gz <<'CODE'
spans = [c["samples"]["time"] for c in p["counters"]]
most = max(sum(span[0] <= begin < span[-1] for span in spans) for begin in (span[0] for span in spans))
expect(50 <= most <= 100, most)
CODE
record none 0 --counter-interval 0 -- /usr/bin/python3 -c 'import time; time.sleep(0.3)'
judge "an interval of 0 leaves it out" none.json.gz none.stats <<'CODE'
import json
expect(not p.get("counters") and "counters" not in json.load(open(args[0])), p.get("counters"))
CODE

# A group that may use a fifth of a CPU while the program wants all of it.
cat >throttled.py <<'CODE'
import sys, time
group, version = sys.argv[1], int(sys.argv[2])
def throttled_us():
    with open(group + "/cpu.stat") as file:
        fields = dict(line.split() for line in file)
    return int(fields["throttled_time"]) // 1000 if version == 1 else int(fields["throttled_usec"])
def set_quota(us):
    with open(group + ("/cpu.cfs_quota_us" if version == 1 else "/cpu.max"), "w") as file:
        file.write(f"{us}" if version == 1 else f"{'max' if us < 0 else us} 100000")
time.sleep(0.5)
before = throttled_us()
set_quota(20000)
end = time.monotonic() + 1.5
while time.monotonic() < end:
    pass
set_quota(-1)
time.sleep(0.5)
print(throttled_us() - before)
time.sleep(0.5)
CODE
make_group cpu
run bash -c "$enter \"\$@\"" bash "$PROF" record -o throttled.json.gz --counter-interval 20 -- \
	/usr/bin/python3 throttled.py "$group" "$version"
is "a throttled group is recorded" "$status" 0
echo "$out" >throttled.told
judge "time for which its group was throttled, as the kernel says" throttled.json.gz throttled.told <<'CODE'
told = int(open(args[0]).read())
values = [c["samples"]["count"] for c in p["counters"] if c["name"] == "Throttled group"]
expect(told > 100000, f"throttled for {told} µs")
expect(len(values) == 1 and sum(values[0]) == told, f"{values}, {told}")
CODE

# Energy of two packages, of which one begins anew at its range, as files of the kernel have it.
cat >energy.sh <<'SHELL'
class=/sys/class/powercap
if [ ! -d $class ]; then
	mkdir -p sys/powercap
	for name in /sys/class/*; do
		mkdir -p "sys/${name##*/}" && mount --bind "$name" "sys/${name##*/}"
	done
	mount --rbind sys /sys/class
fi
mount -t tmpfs none $class
mkdir $class/intel-rapl:0 $class/intel-rapl:1
echo 100000000 | tee $class/intel-rapl:{0,1}/max_energy_range_uj >/dev/null
echo 7 >$class/intel-rapl:0/energy_uj
echo 95000000 >$class/intel-rapl:1/energy_uj
exec "$@"
SHELL
cat >spend.sh <<'SHELL'
sleep 0.5
for i in {1..10}; do
	printf '%d\n' $((i * 2000000 + 7)) >/sys/class/powercap/intel-rapl:0/energy_uj
	printf '%d\n' $(((95 + i) % 100 * 1000000)) >/sys/class/powercap/intel-rapl:1/energy_uj
	sleep 0.05
done
sleep 0.5
SHELL
run unshare --mount bash energy.sh "$PROF" record -o energy.json.gz --counter-interval 20 -- \
	bash spend.sh
is "energy is recorded" "$status" 0
judge "energy of packages, beyond their range" energy.json.gz <<'CODE'
values = [c["samples"]["count"] for c in p["counters"] if c["name"] == "Machine: energy"]
joules = sum(values[0]) / (1e12 / 3600) if values else 0
expect(abs(joules - 30) < 0.001, f"{joules} J")
CODE

# A file that grows by 3 a step, and one that does not change.
echo "steps 1" >steps
echo 5 >still
cat >climb.sh <<'SHELL'
for i in {1..5}; do
	sleep 0.2
	echo "steps $((1 + i * 3))" >steps
done
sleep 0.2
SHELL
record files 0 --counter 'Steps=steps:steps,rate,items' --counter 'Still=still' -- bash climb.sh
judge "numbers in files" files.json.gz files.stats <<'CODE'
import json
counters = {c["name"]: c for c in p["counters"]}
expect(set(counters) == {"Memory", "Steps", "Still"}, sorted(counters))
steps = counters["Steps"]["samples"]["count"]
# A pass may find the file empty while it is written.
expect(sum(steps) == 15, steps)
expect(counters["Steps"]["display"]["unit"] == "items", counters["Steps"]["display"])
expect(sum(counters["Still"]["samples"]["count"]) == 5, counters["Still"]["samples"])
expect(json.load(open(args[0]))["counters"]["announced"] >= 3, "")
CODE
refuses "a counter needs a file" 2 'expected NAME=FILE' "$PROF" record --counter Name -- touch started
refuses "no such file" 125 'cannot open /nonexistent' \
	"$PROF" record --counter Name=/nonexistent -- touch started
refuses "an interval is a time" 2 "--counter-interval" "$PROF" record --counter-interval x -- touch started
# Root reads for a user what this user may read: the kernel asks for other ids with each of these.
nobody=(env SUDO_UID="$(id -u nobody)" SUDO_GID="$(id -g nobody)")
install -d -o nobody -m 700 theirs
refuses "a file of the kernel's for root alone" 125 'cannot open /proc/sys/kernel/cad_pid' \
	"${nobody[@]}" "$PROF" record --counter Pid=/proc/sys/kernel/cad_pid -o theirs/x.json -- touch started
"${nobody[@]}" "$PROF" record --counter 'Address=/proc/kallsyms' -o theirs/address.json -- sleep 0.1
judge "addresses of the kernel's are for root alone" theirs/address.json <<'CODE'
values = [sum(c["samples"]["count"]) for c in p["counters"] if c["name"] == "Address"]
expect(values in ([], [0]), values)
CODE
# A pass may meet processes that are younger than its time.
# shellcheck disable=SC2016 # for the inner shell
record storm 0 --all-threads --counter-interval 10 -- sh -c 'for i in $(seq 1500); do /bin/true; done'
judge "nobody counts before its fork is told" storm.json.gz <<'CODE'
pids = {t["pid"] for t in p["threads"]}
expect(len(pids) > 1500, len(pids))
expect(not [pid for pid in pids if "." in pid], [pid for pid in pids if "." in pid])
CODE
done_testing
