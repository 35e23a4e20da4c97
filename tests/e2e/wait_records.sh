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

# Runs ping_pong for some round trips and prints the times that both left their CPU by their own
# will, as the kernel has counted them, and otherwise.
cat >counted.py <<'CODE'
import resource, subprocess, sys
subprocess.run([sys.argv[1], "0"], input=sys.argv[2], text=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_nvcsw, used.ru_nivcsw)
CODE
counted() { # NAME ROUNDS OPTION...
	local name=$1 rounds=$2
	shift 2
	record "$name" 0 "$@" -- python3 counted.py "$ping_pong" "$rounds"
	read -r voluntary others <<<"$out"
}

# Python has waits of its own.
counted all 2000 --off-cpu=all
between "every wait is counted" "$(stat_of all waits)" "$((voluntary - 4))" \
	"$((voluntary + others + 500))"
# The last wait of a process that ends has no stack.
all=$(($(stat_of all waits) - $(stat_of all waits_lost)))
between "and all are sampled" "$(stat_of all waits_sampled)" "$((all - 4))" "$all"
is "with certainty" "$(stat_of all wait_chance_min)" 1.0

counted few 60000 --off-cpu=100
between "of few samples, too, every wait is counted" "$(stat_of few waits)" "$((voluntary - 4))" \
	"$((voluntary + others + 500))"
between "of which few are sampled" "$(stat_of few waits_sampled)" 10 12000
between "by a small chance" "$(stat_of few wait_chance_min)" 0 0.1
is "none is lost" "$(stat_of few waits_lost)" 0

record storm 0 --off-cpu=all -- "$workloads/many_processes" 200 100000 /bin/true
between "short processes wait, too" "$(stat_of storm waits)" 200 100000
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

record none 0 --no-off-cpu -- sleep 0.05
is "without --off-cpu, no waits" "$(stat_of none waits) $(stat_of none wait_rows)" "0 0"

refuses "a negative number of waits" 2 'off-cpu' "$PROF" record --off-cpu=-1 -- true
done_testing
