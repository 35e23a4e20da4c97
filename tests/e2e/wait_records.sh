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

# Each round trip has two waits; some programs start it.
# shellcheck disable=SC2016 # "$0" is the inner shell's
record all 0 --off-cpu=all -- sh -c 'echo 2000 | "$0" 0' "$ping_pong"
between "every wait is counted" "$(stat_of all waits)" 3900 8000
is "and all are sampled" "$(stat_of all waits_sampled)" \
	"$(($(stat_of all waits) - $(stat_of all waits_lost)))"
is "with certainty" "$(stat_of all wait_chance_min)" 1.0

# shellcheck disable=SC2016 # likewise
record few 0 --off-cpu=100 -- sh -c 'echo 60000 | "$0" 0' "$ping_pong"
between "many waits" "$(stat_of few waits)" 117000 200000
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

record none 0 --no-off-cpu -- sleep 0.05
unlike "without waits there are no statistics of them" "$(cat none.stats)" '"waits'

refuses "a negative number of waits" 2 'off-cpu' "$PROF" record --off-cpu=-1 -- true
refuses "waits of some CPUs" 125 'off-cpu and --cpu exclude' "$PROF" record --off-cpu=1 --cpu 0 -- true
done_testing
