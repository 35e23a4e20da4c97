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
    expect(all(a < b for a, b in zip(times, times[1:])), f"{name}: two rows at one time")
stats = json.load(open(args[1]))["counters"]
expect(stats["passes"] >= 20 and stats["announced"] >= 5, stats)
CODE
judge "the machine's own" grow.json.gz <<'CODE'
counters = {c["name"]: c["samples"] for c in p["counters"]}
expect({"CPU: programs", "Memory of the machine"} <= set(counters), sorted(counters))
# The program's two threads worked for 0.2 s each, in ticks of 10 ms.
expect(sum(counters["CPU: programs"]["count"]) >= 300000, sum(counters["CPU: programs"]["count"]))
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
values = [c["samples"]["count"] for c in p["counters"] if c["name"] == "Throttled"]
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
values = [c["samples"]["count"] for c in p["counters"] if c["name"] == "Energy"]
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
expect(set(counters) == {"Steps", "Still"}, sorted(counters))
steps = counters["Steps"]["samples"]["count"]
# A pass may find the file empty while it is written.
expect(sum(steps) == 15, steps)
expect(counters["Steps"]["display"]["unit"] == "items", counters["Steps"]["display"])
expect(sum(counters["Still"]["samples"]["count"]) == 5, counters["Still"]["samples"])
expect(json.load(open(args[0]))["counters"]["announced"] == 2, "")
CODE
refuses "a counter needs a file" 2 'expected NAME=FILE' "$PROF" record --counter Name -- touch started
refuses "no such file" 125 'cannot open /nonexistent' \
	"$PROF" record --counter Name=/nonexistent -- touch started
record none 0 -- /usr/bin/python3 -c pass
judge "without the option there are none" none.json.gz none.stats <<'CODE'
import json
expect(not p.get("counters"), "counters")
expect("counters" not in json.load(open(args[0])), "statistics")
CODE
refuses "an interval is a time" 2 "--counter-interval" "$PROF" record --counter-interval 0 -- touch started
done_testing
