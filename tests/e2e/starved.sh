#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A recorder with long pauses, or hardly any CPU time: the rings' contents are not lost, further
# records are counted to the tick, and the recorder's backlog is bounded by the rings' size.
. "$(dirname "$0")/lib.sh"

ring_kib=32768
cpus=$(getconf _NPROCESSORS_ONLN)

# True if a process has used 10 ms of CPU time since it had used this much, or is idle.
has_run() { # PID NS
	local used
	read -r used _ <"/proc/$1/schedstat" || return 0
	[ $((used - $2)) -ge 10000000 ] || grep -q '^State:[[:space:]]*[SZ]' "/proc/$1/status"
}
has_worked() { # PID TICKS
	is_gone "$1" || has_used "$1" "$2"
}
# Lets PID run for 10 ms of CPU time now and then until FILE is not empty: each 0.2 s, or each 500
# ms that WORKER uses.
starve() { # PID FILE [WORKER]
	local used
	while [ ! -s "$2" ] && kill -STOP "$1"; do
		if [ $# -lt 3 ]; then
			sleep 0.2
		elif used=$(cpu_ticks "$3"); then
			wait_until has_worked "$3" $((used + $(getconf CLK_TCK) / 2))
		fi
		read -r used _ <"/proc/$1/schedstat"
		kill -CONT "$1"
		sleep 0.01
		wait_until has_run "$1" "$used"
	done
}
nothing_is_lost() { # NAME RING_BYTES
	judge "$1: nothing is lost" "$1.json.gz" "$1.stats" <<'CODE'
import json
stats = json.load(open(args[0]))
expect(stats["lost"] == 0, stats["lost_by"])
expect(sum(stats["lost_events"].values()) == 0, stats["lost_events"])
expect(stats["cpu_samples"] > 1000, stats["cpu_samples"])
CODE
	# The leftovers of a round and the contents of the next are there at once.
	ok "$1: what waited was no more than the rings hold, twice" \
		test "$(stat_of "$1" backlog_bytes)" -le $((2 * $2))
}

# Only this long: the mappings of all other processes have to wait, too.
start "$workloads/deep" 3
begin stopped attach -F 999 --ring-size ${ring_kib}K -p "$started"
kill -STOP "$recorder"
work_on "$started" 1500
kill -CONT "$recorder"
finish stopped 0
nothing_is_lost stopped $((cpus * ring_kib * 1024))
judge "stopped: stacks are whole" stopped.json.gz stopped.stats <<'CODE'
import json
stats = json.load(open(args[0]))
expect(stats["whole"] >= 0.99 * (stats["cpu_samples"] - stats["exiting"]), stats)
CODE

rm -f ended
mkfifo go
start sh -c "read _ <go; '$workloads/deep' 1.5; echo >ended"
begin now-and-then attach -F 999 -p "$started"
echo >go
starve "$recorder" ended
finish now-and-then 0
nothing_is_lost now-and-then $((cpus * 2048 * 1024))

# Many processes, all unknown when their stacks come.
rm -f ended
# shellcheck disable=SC2016 # for the inner shell
start sh -c 'read _ <go; i=0; while [ $i -lt 400 ]; do /bin/true; "$0" </dev/null >/dev/null; i=$((i + 1)); done
	echo >ended' "$(command -v gzip)"
begin processes attach --all-threads -F 999 -p "$started"
echo >go
starve "$recorder" ended
finish processes 0
judge "processes: no tick, process or mapping is lost" processes.json.gz processes.stats <<'CODE'
import json
stats = json.load(open(args[0]))
expect(stats["lost"] == 0, stats["lost_by"])
expect(sum(stats["lost_events"].values()) == 0, stats["lost_events"])
expect(stats["processes"] >= 801, stats["processes"])
CODE

# Rings too small for this long: found and lost samples add up to the kernel's own count.
rm -f ticks begun
mkfifo begun
"$PROF" record -q -i 0.1 --ring-size 64K -o small.json.gz --stats small.stats -- \
	"$workloads/count_ticks" ticks 100000 sh -c "echo \$\$ >begun; exec '$workloads/threads' 2" 2>err &
recorder=$!
read -t 60 -r worker <>begun
starve $recorder ticks "$worker"
finish small 0
judge "small rings: found and lost are as many as the kernel samples" small.json.gz small.stats \
	"$(<ticks)" <<'CODE'
import json
stats, wanted = json.load(open(args[0])), float(args[1])
ticks = stats["cpu_samples"] + stats["lost"]
expect(wanted > 10000 and abs(ticks - wanted) <= 0.03 * wanted, f"{ticks}, not {wanted}: {stats}")
expect(stats["lost"] > 1000, stats["lost"])
expect(sum(cpu["lost"] for cpu in stats["cpu_losses"]) == stats["lost"], stats["cpu_losses"])
CODE

done_testing
