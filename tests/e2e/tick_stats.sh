#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every tick of the timer is accounted for, whatever happens to it: the number is that of other
# counts. record() always checks that the classes add up.
. "$(dirname "$0")/lib.sh"

# Ticks of a recording, found and lost.
ticks_are() { # DESCRIPTION NAME WANTED PERCENT
	judge "$1" "$2.json.gz" "$2.stats" "$3" "$4" <<'CODE'
import json
stats = json.load(open(args[0]))
wanted, percent = float(args[1]), float(args[2])
ticks = stats["cpu_samples"] + stats["lost"]
expect(wanted > 1000 and abs(ticks - wanted) <= percent / 100 * wanted, f"{ticks}, not {wanted}: {stats}")
CODE
}
head -c 3000000 /dev/urandom >data
cp "$workloads/fork_exec" other-name
# Threads, processes, system calls, on one CPU or on all.
load="gzip -1 -c data >/dev/null
	'$workloads/threads' 1
	'$workloads/syscalls'
	'$workloads/fork_exec' ./other-name"

# The kernel's own samples of the same run: one per 200 µs of its CPU time. That often, because a
# CPU may serve others in slices of some milliseconds.
last_cpu=$(($(getconf _NPROCESSORS_ONLN) - 1))
record pinned 0 -i 0.2 -- "$workloads/count_ticks" ticks 200000 taskset -c $last_cpu bash -c "$load"
ticks_are "on one CPU: as many ticks as the kernel samples" pinned "$(<ticks)" 2
record free 0 -i 0.2 -- "$workloads/count_ticks" ticks 200000 bash -c "$load"
ticks_are "on any CPU: as many ticks as the kernel samples" free "$(<ticks)" 2

# The kernel's accounting, for many processes shorter than a tick.
# shellcheck disable=SC2016 # for the inner shell
short='TIMEFORMAT="%U %S"; time { for ((i = 0; i < 400; i++)); do /bin/true; done; "$0" 1.2; }'
record short 0 -i 0.2 -- bash -c "{ $short; } 2>times" "$workloads/threads"
ticks_are "short processes: as many ticks as the CPU time has" short \
	"$(awk '{ print ($1 + $2) * 5000 }' times)" 4
judge "short processes: hardly a stack is not whole" short.json.gz short.stats <<'CODE'
import json
stats = json.load(open(args[0]))
can_be_whole = sum(stats[c] for c in ("whole", "truncated", "broken", "unknown"))
expect(stats["whole"] >= 0.99 * can_be_whole, stats)
CODE

# A recorder that is stopped while the command runs loses most of it, and knows how much.
mkfifo begun
rm -f ticks
"$PROF" record -q -i 0.1 --ring-size 64K -o stopped.json.gz --stats stopped.stats -- \
	"$workloads/count_ticks" ticks 100000 sh -c "echo >begun; exec '$workloads/threads' 0.5" 2>err &
recorder=$!
read -t 120 -r <>begun
kill -STOP $recorder
wait_until test -s ticks
kill -CONT $recorder
wait $recorder
is "a recorder that was stopped: exit status" $? 0
is "a recorder that was stopped: the ticks balance" \
	"$(python3 "$root/tests/e2e/tick_stats.py" stopped.stats stopped.json.gz)" "stopped.json.gz: ok"
ok "a recorder that was stopped: it lost ticks" test "$(stat_of stopped lost)" -gt 1000
ticks_are "a recorder that was stopped: as many ticks as the kernel samples" stopped "$(<ticks)" 3

done_testing
