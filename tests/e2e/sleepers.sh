#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Stacks of threads that sleep already when recording begins, or so long that chance need not choose
# them.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

mkfifo ready
exec 4<>ready
start_ready() { # COMMAND...
	local line
	start "$@" >ready
	read -r line <&4
	: "$line"
}

start_ready "$workloads/deadlock"
deadlock=$started
begin deadlock attach --off-cpu=2000 -p "$deadlock" -d 1
finish deadlock 0
judge "dead-locked threads: stacks of all the time" deadlock.json.gz <<'CODE'
length = p["meta"]["profilingEndTime"] - p["meta"]["profilingStartTime"]
for name, function in (("first", "lock_first"), ("second", "lock_second")):
    t = thread(name)
    expect(p["threads"].index(t) in p["meta"]["initialVisibleThreads"], f"{name} is hidden")
    waited = waited_ms(None, function, t)
    expect(abs(waited - length) < 0.02 * length, f"{name}: {waited} of {length} ms")
    expect(all("clone" in frames[0]["name"] and any("futex" in f["name"] for f in frames)
               for _, _, _, frames in waits(t)), name)
expect(abs(waited_ms(None, "main", thread("deadlock")) - length) < 0.02 * length, "main")
CODE

begin short attach --off-cpu=2000 -p "$deadlock" -d 0.02
finish short 0
judge "threads that never woke have a stack, however short the recording" short.json.gz <<'CODE'
for name, function in (("first", "lock_first"), ("second", "lock_second")):
    expect(waited_ms(None, function, thread(name)), name)
CODE

kill -STOP "$deadlock"
begin stopped attach --off-cpu=2000 -p "$deadlock" -d 0.2
finish stopped 0
judge "stopped threads" stopped.json.gz <<'CODE'
expect(waited_ms(None, "lock_first", thread("first")), "first")
CODE
begin frames attach --off-cpu=2000 -p "$deadlock" -d 0.2 --unwind fp
finish frames 0
judge "frame pointers lead through the copied stack" frames.json.gz <<'CODE'
expect(waited_ms(None, "first_thread", thread("first")), "first")
expect(waited_ms(None, "second_thread", thread("second")), "second")
CODE
kill -KILL "$deadlock"

# Kernels without that function do not let a program read the memory of another process step by step.
functions=0
! grep -q ' bpf_task_from_pid$' /proc/kallsyms || functions=1
# Not a script that starts it.
python=$(python3 -c 'import sys; print(sys.executable)')
start_ready "$python" "$root/tests/workloads/python/deadlock.py"
begin python attach --off-cpu=2000 -p "$started" -d 1
finish python 0
judge "dead-locked threads of Python: their functions" python.json.gz "$functions" <<'CODE'
chains = {}
for t, _, weight, frames in waits():
    chain = tuple(f["name"] for f in frames if f["category"] == "Python")
    chains[t["tid"]] = chains.get(t["tid"], set()) | {chain[-2:]}
    expect(weight > 0, weight)
wanted = [("first_thread", "lock_second"), ("second_thread", "lock_first"), ("<module>", "watching")]
if args[0] == "1":
    expect(sorted(chain for found in chains.values() for chain in found) == sorted(wanted), chains)
else:
    expect(all(found == {()} for found in chains.values()), chains)
CODE
kill -KILL "$started"

start_ready "$workloads/idle_pools"
begin pools attach --off-cpu=2000 -p "$started" -d 0.2
finish pools 0
judge "pools that wait for work are told from threads that are held up" pools.json.gz <<'CODE'
import idle_pools
idle_pools.judge(thread, waits, expect)
CODE
kill -KILL "$started"

start_ready "$workloads/faulting"
begin faulting attach --off-cpu=2000 -p "$started" -d 0.2
finish faulting 0
judge "a thread that waits for a page, at whose stack's end there is none either" faulting.json.gz <<'CODE'
expect(waited_ms(None, "touch_missing", thread("toucher")), "no stack")
CODE
kill -KILL "$started"

start_ready "$workloads/many_threads" 2000
begin many attach --off-cpu=2000 -p "$started" -d 0.5
finish many 0
kill -KILL "$started"
is "all of 2,000 threads are visited, once" "$(stat_of many sleepers_visited)" 1999
echo "# $(stat_of many sleepers_visits_ms) ms for the visits"

record quiet 0 --off-cpu=all -- sleep 0.3
is "where each wait has a stack, nobody is searched for" "$(stat_of quiet sleepers_passes)" 0

nap_of() { # PROFILE
	"$PROF" convert --to folded --include-idle -o - "$1" |
		grep -o '[^;]*sys_clock_nanosleep;.*;\[clock_nanosleep\]' | sort -u
}
start sleep 1000
begin visited attach -p "$started" -d 0.1
finish visited 0
kill "$started"
like "a sleep has a stack in the kernel" "$(nap_of quiet.json.gz)" 'sleep;'
is "it is the same if the sleeper is visited" "$(nap_of visited.json.gz)" "$(nap_of quiet.json.gz)"

# Chance chooses hardly anything, and a process never sleeps for long before it is another or none.
record restless 0 --off-cpu=1 -- "$workloads/restless" 2
judge "long waits of threads that die, or execute, meanwhile" restless.json.gz <<'CODE'
stacks = [[f["name"] for f in frames] for _, _, _, frames in waits()]
naps = [names for names in stacks if "nap" in names]
nappers = ("first_napper", "second_napper", "third_napper")
expect(len(naps) > 20, f"{len(naps)} naps")
expect({name for names in naps for name in names} >= set(nappers), "a napper has no stack")
expect(all(names[names.index("nap") - 1] in nappers for names in naps), "a nap without napper")
expect(all("clone" in names[0] for names in naps), "a stack is not whole")
CODE
like "they were visited" "$(stat_of restless sleepers_visited)" '^[1-9]'

ok "no copy of a stack has parts of two waits" "$root/${BUILD:-build}/tests/e2e/torn_copies" 3000
done_testing
