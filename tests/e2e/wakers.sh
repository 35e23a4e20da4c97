#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --wakers: who ended a wait.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

cat >woken.py <<'CODE'
def stack_of(data):
    stack = data.get("cause", {}).get("stack")
    return [] if stack is None else [f["name"] for f in check_profile.stack_frames(p, stack)]
def woken(name):
    return [(start, end, data, stack_of(data))
            for _, marker, start, end, data in check_profile.markers(p, thread(name))
            if marker == "woken" and not data["waker"].startswith("kworker")]
CODE
# Kernel threads end waits for files.
judge_wakers() { # DESCRIPTION FILE [ARGUMENT...]
	cat woken.py - >judgement.py
	judge "$@" <judgement.py
}

# The answer comes after 3 ms.
record pong 0 --wakers --off-cpu=2000 -- "$workloads/wait_turns" pipe 0 1 0 3000 100
judge_wakers "the waker in a ping-pong is the other side" pong.json.gz <<'CODE'
found = woken("wait_turns")
expect(95 <= len(found) <= 105, f"{len(found)} markers")
tid = thread("answer")["tid"]
expect({(data["waker"], str(data["tid"]), str(data["cause"]["tid"])) for _, _, data, _ in found} ==
       {("answer", str(tid), str(tid))}, found[0])
expect(all(end - start >= 1 and data["cause"]["time"] == end for start, end, data, _ in found),
       "times")
stacks = {(stack[0], stack[-1], "answer" in stack) for _, _, _, stack in found}
expect({(root.lstrip("_")[:5], *rest) for root, *rest in stacks} ==
       {("clone", "try_to_wake_up", True)}, stacks)
expect(sum("long_wait" in names for names in
           [[f["name"] for f in frames] for _, _, _, frames in waits(thread("wait_turns"))]) > 0,
       "the wait has no stack")
CODE

# Timers expire on a CPU on which somebody else runs.
cat >beside.sh <<'CODE'
"$1/spinners" 0 100000 >/dev/null &
"$1/wait_turns" timer 0 1 3000 3000 50
kill $!
CODE
record timer 0 --wakers --off-cpu=2000 -- sh beside.sh "$workloads"
judge_wakers "a timer is an interrupt, whatever runs on its CPU" timer.json.gz <<'CODE'
found = woken("wait_turns")
expect(len(found) >= 95, f"{len(found)} markers")
wakers = {(data["waker"], data["tid"], len(stack)) for _, _, data, stack in found}
expect(wakers == {("interrupt", 0, 0)}, wakers)
CODE

find_disk wakers-disk
record lock 0 --wakers --off-cpu=2000 -- "$workloads/wait_shares" "$disk" 50
judge_wakers "who holds a lock is beside who waits for it" lock.json.gz <<'CODE'
main = thread("wait_shares")
locked = [time for _, time, _, frames in waits(main)
          if any(f["name"] == "wait_for_lock" for f in frames)]
unlocks = [(start, end) for start, end, data, stack in woken("wait_shares")
           if data["waker"] == "holder" and "hold" in stack
           and any("unlock" in name for name in stack)]
expect(len(unlocks) >= 40, f"{len(unlocks)} unlocks")
beside = [start for start, end in unlocks
          if any(start - 0.1 <= time <= end + 0.1 for time in locked)]
expect(len(beside) >= 0.8 * len(unlocks), f"{len(beside)} of {len(unlocks)} have a stack")
CODE

# The waker is not recorded.
mkfifo pipe
exec 5<>pipe
start sh -c 'while read -r line; do :; done <pipe'
begin others attach --wakers --off-cpu=2000 -p "$started"
writer() {
	local i
	for i in $(seq 20); do
		echo "$i"
		sleep 0.02
	done >&5
}
ok "a process writes that is not recorded" writer
kill -INT "$recorder"
finish others 0
judge_wakers "of others only the name is told" others.json.gz <<'CODE'
found = [(data["waker"], data["tid"] > 0, len(stack)) for t in p["threads"]
         for _, _, data, stack in woken(t["name"])]
expect(len(found) >= 15, f"{len(found)} markers")
expect({f[1:] for f in found} == {(True, 0)}, set(found))
CODE

refuses "wakers without waits" 125 'needs waits to be recorded' \
	"$PROF" record --wakers --no-off-cpu -- touch started
record none 0 --off-cpu=2000 -- "$workloads/wait_turns" pipe 0 1 0 3000 10
judge_wakers "without the option, no markers" none.json.gz <<'CODE'
expect(not woken("wait_turns"), woken("wait_turns"))
CODE
done_testing
