#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --off-cpu: how long threads wait, for what and where, beside the times that they have measured
# themselves; and their CPU time beside the kernel's.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

real_time=()
find_disk prof-disk

record shares 0 --off-cpu=all -- "$workloads/wait_shares" "$disk" 300
# Chance decides whether the intervals count in which a wait begins and ends: each adds a quarter to
# the variance at most, or the wait's own length. Parts of the same turn adjoin.
# shellcheck disable=SC2086 # words
judge "sleep, spin, lock and disk get what they took" shares.json.gz $out <<'CODE'
main = thread("wait_shares")
truth = told()
for function, category, leaf in (("nap", "Timer", "[clock_nanosleep]"),
                                 ("wait_for_lock", "Lock", "[futex]"),
                                 ("read_disk", "Disk", "[pread64]")):
    wall, cpu, queued, calls = truth[function]
    blocked = wall - cpu - queued
    sigma = (min(blocked, queued) + calls / 2) ** 0.5
    about(waited_ms(category, function, main), blocked, sigma, function)
    about(queued_ms(function, main), queued, sigma, f"{function}, for a CPU")
    labels = {frames[-1]["name"] for _, _, _, frames in waits(main)
              if frames[-1]["subcategory"] == category
              and any(f["name"] == function for f in frames)}
    expect(labels == {leaf}, f"{function}: {labels}")
disk = {frames[-1]["subcategory"] for _, _, _, frames in waits(main)
        if frames[-1]["name"] == "[pread64]"}
expect(disk == {"Disk"}, f"reads are {disk}")
wall, cpu, queued, calls = truth["spin"]
about(queued_ms("spin", main), queued, (calls / 2) ** 0.5, "spin, for a CPU")
about(within("spin", main) * p["meta"]["interval"] + waited_ms(None, "spin", main), wall,
      calls ** 0.5, "spin")
CODE
# Time that was stolen from the CPUs is neither used nor waited.
# shellcheck disable=SC2086 # words
judge "waits and CPU time are all of a thread's time" shares.json.gz $out "$(<shares.taken)" <<'CODE'
main = thread("wait_shares")
after, before = map(float, args[-1].split("-"))
wall, cpu, _, _ = told()["main"]
waited = p["meta"]["interval"] * sum(
    weight for _, _, weight, frames in waits(main)
    if not any(f["name"] == "open_file" for f in frames) and any(f["name"] == "main" for f in frames))
expect(-0.02 * wall - (after - before) <= waited - (wall - cpu) <= 0.02 * wall,
       f"{waited:.0f} ms waited of {wall:.0f} less {cpu:.0f}, {after - before:.0f} stolen")
CODE

record turns 0 --off-cpu=2000 -- "$workloads/wait_turns" timer 0 1 300 700 1500
# shellcheck disable=SC2086 # words
judge "waits of 300 and 700 us by turns do not fall in step with the interval" turns.json.gz $out <<'CODE'
for function, (wall, cpu, queued, calls) in told().items():
    about(waited_ms("Timer", function), wall - cpu - queued, (calls / 4) ** 0.5, function)
CODE

cat >beside.sh <<'CODE'
"$1/ping_pong" 0 <endless >/dev/null &
"$1/wait_turns" timer 0 1 5000 10000 150
kill $!
CODE
mkfifo endless
exec 4<>endless
echo 1000000000 >&4
record beside 0 --off-cpu=2000 -- sh beside.sh "$workloads"
# shellcheck disable=SC2086 # words
judge "who sleeps beside a ping-pong is not starved" beside.json.gz $out <<'CODE'
for function, (wall, cpu, queued, calls) in told().items():
    about(waited_ms("Timer", function), wall - cpu - queued, (calls / 2) ** 0.5, function)
CODE

# Other work of the machine would make a few waits much longer than all others.
chrt -f 10 true 2>/dev/null && real_time=(chrt -f 10)
record ratio 0 --off-cpu=100 -- "${real_time[@]}" "$workloads/wait_turns" pipe 0 1 10 200 8000
# shellcheck disable=SC2086 # words
judge "few stacks tell the right ratio of short waits and long ones" ratio.json.gz $out <<'CODE'
def waited(function):
    return waited_ms("Pipe", function) + queued_ms(function)
truth = {name: wall - cpu for name, (wall, cpu, _, _) in told().items()}
# Some 50 stacks of each: 5 sigma are 70 %. A short wait that is chosen is a little longer for that.
expect(0.3 * truth["short_wait"] <= waited("short_wait") <= 2.2 * truth["short_wait"],
       f"short: {waited('short_wait'):.1f} ms, in truth {truth['short_wait']:.1f}")
expect(abs(waited("long_wait") - truth["long_wait"]) <= 0.12 * truth["long_wait"],
       f"long: {waited('long_wait'):.0f} ms, in truth {truth['long_wait']:.0f}")
CODE

record spinners 0 --off-cpu=2000 -- "$workloads/spinners" 0 400
# shellcheck disable=SC2086 # words
judge "two that share a CPU wait for it" spinners.json.gz $out <<'CODE'
for name, (wall, cpu, queued, _) in told().items():
    runnable = queued_ms("spin", thread(name))
    expect(abs(runnable - queued) <= 0.02 * queued + 3, f"{name}: {runnable:.0f} of {queued:.0f} ms")
    expect(queued > 0.4 * wall, f"{name} was queued for {queued:.0f} of {wall:.0f} ms")
    expect(abs(cpu_ms(thread(name)) - cpu) <= 0.01 * cpu, f"{name}: {cpu_ms(thread(name))} of {cpu} ms")
CODE

# The parent prints the CPU time of each child that has ended: an end alone may take 5 ms.
record scheduled 0 --off-cpu=2000 -- /usr/bin/python3 -c '
import os, time
for seconds in (0.5, 1):
    if os.fork() == 0:
        while time.thread_time() < seconds:
            end = time.thread_time() + 0.01
            while time.thread_time() < end:
                pass
            time.sleep(0.002)
        os._exit(0)
for _ in range(2):
    child, _, usage = os.wait3(0)
    print(child, round((usage.ru_utime + usage.ru_stime) * 1e9))'
# shellcheck disable=SC2086 # words
judge "CPU time of each thread is what its scheduler has counted" scheduled.json.gz $out <<'CODE'
told = {args[i]: int(args[i + 1]) / 1e6 for i in range(0, len(args), 2)}
expect(len(told) == 2, told)
for tid, used in told.items():
    got = sum(cpu_ms(t) for t in p["threads"] if str(t["tid"]) == tid)
    expect(abs(got - used) <= 0.01 * used, f"thread {tid}: {got:.3f} of {used:.3f} ms")
CODE

# Prints the CPU time of a command, in ms, as its parent gets it from the kernel.
cat >used.py <<'CODE'
import resource, subprocess, sys
def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) * 1000
before = used()
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(used() - before)
CODE
cpu_time_is_told() { # NAME THREADS PROCESS...
	judge "$1: CPU time is what the kernel has counted" "$1.json.gz" "$out" "${@:2}" <<'CODE'
used = float(args[0])
got = sum(cpu_ms(t) for t in p["threads"]
          if t.get("profView") in (None, "folded") and t["processName"].split()[0] in args[2:])
# Threads go on a little after the kernel has added their time to the process's:
# some 10 µs, and several times that on a busy machine.
expect(-0.01 * used <= got - used <= 0.01 * used + 0.05 * int(args[1]), f"{got} of {used} ms")
CODE
}
record threads 0 --off-cpu=2000 -- python3 used.py "$workloads/short_threads" 1000 1
cpu_time_is_told threads 1000 short_threads
record running 0 --no-off-cpu -- python3 used.py "$workloads/short_threads" 1000 1
cpu_time_is_told running 1000 short_threads
record processes 0 --off-cpu=2000 -- python3 used.py "$workloads/many_processes" 200 100000 /bin/true
cpu_time_is_told processes 200 many_processes true

record exec 0 --off-cpu=2000 -- python3 -c '
import os, threading, time
def sleep_on():
    time.sleep(100)
for i in range(3):
    threading.Thread(target=sleep_on, daemon=True).start()
time.sleep(0.2)
os.execv("/bin/sleep", ["sleep", "0.1"])'
judge "threads that wait while another one executes a program have waited until then" exec.json.gz <<'CODE'
interval = p["meta"]["interval"]
others = [t for t in p["threads"] if not t["isMainThread"]]
expect(len(others) == 3, f"{len(others)} other threads")
for t in others:
    life = t["unregisterTime"] - t["registerTime"]
    waited = sum(weight for _, _, weight, _ in waits(t)) * interval
    expect(abs(waited - life) <= 0.02 * life + 2 * interval, f"{waited} of {life} ms")
    idle = waited_ms("Idle", None, t)
    expect(idle >= 196, f"idle for {idle} of 200 ms at least")
CODE
done_testing
