#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --off-cpu: how many waits there are is known, and how many of them may have a stack.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

ping_pong=$workloads/ping_pong

# between DESCRIPTION NUMBER LEAST MOST
between() {
	ok "$1: $2" awk -v n="$2" -v least="$3" -v most="$4" 'BEGIN { exit !(n >= least && n <= most) }'
}

# Runs ping_pong for some round trips and prints the times that both, and this program, left their
# CPU by their own will, as the kernel has counted them, and otherwise.
cat >counted.py <<'CODE'
import resource, subprocess, sys
subprocess.run([sys.argv[1], "0"], input=sys.argv[2], text=True, stdout=subprocess.DEVNULL)
used = [resource.getrusage(who) for who in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)]
print(sum(u.ru_nvcsw for u in used), sum(u.ru_nivcsw for u in used))
CODE
counted() { # NAME ROUNDS OPTION...
	local name=$1 rounds=$2
	shift 2
	record "$name" 0 "$@" -- python3 counted.py "$ping_pong" "$rounds"
	read -r voluntary others <<<"$out"
}

# Before its exec, and after it has looked, this program has waits of its own.
counted all 2000 --off-cpu=all
between "every wait is counted" "$(stat_of all waits)" "$((voluntary - 10))" \
	"$((voluntary + others + 500))"
# The last wait of a process that ends has no stack.
all=$(($(stat_of all waits) - $(stat_of all waits_lost)))
between "and all are sampled" "$(stat_of all waits_sampled)" "$((all - 4))" "$all"
is "with certainty" "$(stat_of all wait_chance_min)" 1.0

counted few 60000 --off-cpu=100
between "of few samples, too, every wait is counted" "$(stat_of few waits)" "$((voluntary - 10))" \
	"$((voluntary + others + 500))"
between "of which few are sampled" "$(stat_of few waits_sampled)" 10 12000
between "by a small chance" "$(stat_of few wait_chance_min)" 0 0.1
is "none is lost" "$(stat_of few waits_lost)" 0

record storm 0 --off-cpu=all -- "$workloads/many_processes" 200 100000 /bin/true
between "short processes wait, too" "$(stat_of storm waits)" 20 100000
ok "their profile is one" python3 "$root/tests/check_profile.py" storm.json.gz

record exec 0 --off-cpu=all -- python3 -c '
import os, threading, time
for i in range(3):
    threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
time.sleep(0.05)
os.execv("/bin/sleep", ["sleep", "0.05"])'
between "an exec while other threads wait" "$(stat_of exec waits)" 5 1000
ok "its profile is one" python3 "$root/tests/check_profile.py" exec.json.gz

# A CPU that is not sampled is not where a thread waits.
cat >elsewhere.py <<'CODE'
import os, time
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
time.sleep(0.1)
end = time.process_time() + 0.3
while time.process_time() < end:
    pass
time.sleep(0.1)
CODE
record elsewhere 0 --off-cpu=all --cpu 0 -- python3 elsewhere.py
between "waits beside CPUs that are not sampled" "$(stat_of elsewhere idle_ms)" 195 260

# Defaults.
record default 0 -- sleep 0.05
between "waits of a command" "$(stat_of default idle_ms)" 48 1000
start sleep 100
begin attached attach -d 0.1 -p "$started"
finish attached 0
between "waits of a process" "$(stat_of attached idle_ms)" 80 10000
record none 0 --no-off-cpu -- sleep 0.05
is "--no-off-cpu: no waits" "$(stat_of none waits) $(stat_of none wait_rows)" "0 0"
record everything 0 -a -- sleep 0.05
is "-a: no waits" "$(stat_of everything waits) $(stat_of everything wait_rows)" "0 0"
record there 0 --cpu 0 -- sleep 0.05
is "some CPUs: no waits" "$(stat_of there waits) $(stat_of there wait_rows)" "0 0"

# A kernel that does not tell of context switches, as far as prof can see.
sed 's/btf_trace_sched_switch/btf_trace_sched_twitch/' /sys/kernel/btf/vmlinux >other.btf
cat >other-prof <<CODE
#!/bin/sh
exec unshare -m sh -c 'mount --bind other.btf /sys/kernel/btf/vmlinux && exec "\$@"' sh "$PROF" "\$@"
CODE
chmod +x other-prof
prof=$PROF PROF=./other-prof
record without 0 -- "$workloads/shares" 0.1
like "where the kernel refuses waits, a warning says so" "$err" \
	'^prof: warning: waits are not recorded: this kernel does not expose context switches to BPF programs: its BTF has no btf_trace_sched_switch'
is "and the rest is recorded" "$(stat_of without waits) $(grep -c warning: <<<"$err")" "0 1"
refuses "where they were asked for: an error" 125 \
	'prof record: this kernel does not expose context switches to BPF programs' \
	"$PROF" record --off-cpu=100 -- touch started
PROF=$prof

refuses "a negative number of waits" 2 'off-cpu' "$PROF" record --off-cpu=-1 -- true
done_testing
