#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A recorder with little CPU time, or with one CPU of several: the recording is complete, or losses
# are counted to the tick, and stacks stay whole. The recorded program is not confined.
. "$(dirname "$0")/lib.sh"

head -c 3000000 /dev/urandom >data
cp "$workloads/fork_exec" other-name
load="gzip -1 -c data >/dev/null
	'$workloads/threads' 1
	'$workloads/fork_exec' ./other-name"
last_cpu=$(grep -o '[0-9]*$' /sys/devices/system/cpu/online)
mkfifo go

# Records $load, a tick each NS, with the recorder started by COMMAND. Calls $at_begin before $load
# runs, $at_end before prof names anything.
at_begin=: at_end=:
confined() { # NAME NS COMMAND OPTION...
	local name=$1 ns=$2 prof=$PROF
	printf '#!/bin/sh\n%s "%s" "$@"\n' "$3" "$prof" >confined-prof
	chmod +x confined-prof
	shift 3
	rm -f ticks
	# shellcheck disable=SC2016 # for the inner shell
	start sh -c 'read _ <go; exec "$0" ticks "$1" bash -c "$2"' "$workloads/count_ticks" \
		"$ns" "$load"
	PROF=./confined-prof
	begin "$name" attach -i "$(awk "BEGIN { print $ns / 1e6 }")" -p "$started" "$@"
	PROF=$prof
	$at_begin
	echo >go
	wait_until test -s ticks
	$at_end
	finish "$name" 0
	judge "$name: as many ticks as the kernel samples" "$name.json.gz" "$name.stats" \
		"$(<ticks)" <<'CODE'
import json
stats, wanted = json.load(open(args[0])), float(args[1])
ticks = stats["cpu_samples"] + stats["lost"]
expect(wanted > 1000 and abs(ticks - wanted) <= 0.03 * wanted, f"{ticks}, not {wanted}: {stats}")
expect(sum(cpu["lost"] for cpu in stats["cpu_losses"]) == stats["lost"], stats["cpu_losses"])
CODE
}
is_complete() { # NAME
	judge "$1: nothing is lost, stacks are whole" "$1.json.gz" "$1.stats" <<'CODE'
import json
stats = json.load(open(args[0]))
expect(stats["lost"] == 0 and sum(stats["lost_events"].values()) == 0, stats)
can_be_whole = sum(stats[c] for c in ("whole", "truncated", "broken", "unknown"))
expect(stats["whole"] >= 0.99 * can_be_whole, stats)
CODE
}

# Other processes compete for the recorder's only CPU.
start taskset -c "$last_cpu" "$workloads/spin"
confined affinity 200000 "exec taskset -c $last_cpu"
is_complete affinity

make_group cpu
at_end='set_quota 1000 1000'
at_begin='set_quota 10 100'
confined quota 200000 "$enter"
is_complete quota
# With this little CPU time at once, rings overflow: that is counted.
at_begin='set_quota 1 1000'
confined small-quota 50000 "$enter" --ring-size 64K --no-symbols
ok "small-quota: the recorder had to wait" grep -q '^nr_throttled [1-9]' "$group/cpu.stat"
ok "small-quota: it lost ticks" test "$(stat_of small-quota lost)" -gt 100
at_begin=: at_end=:

make_group cpuset
[ $version = 2 ] || cat "$(dirname "$group")/cpuset.mems" >"$group/cpuset.mems"
echo "$last_cpu" >"$group/cpuset.cpus"
confined cpuset 200000 "$enter"
is_complete cpuset

done_testing
