#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A recorder that cannot read its buffers for a second loses nothing by default. Losses in smaller
# buffers, and samples that the kernel does not allow, are counted by CPU and time, and shown.
. "$(dirname "$0")/lib.sh"

# Records COMMAND, which writes its pid into ./begun when it runs, then stops the recorder for
# SECONDS or until the command has ended. ./stopped exists when it is stopped, ./resumed when it runs
# again. Leaves NAME.json.gz, NAME.stats, NAME.err.
stalled() { # NAME SECONDS|end OPTION... -- COMMAND
	local name=$1 seconds=$2 recorder pid
	shift 2
	rm -f begun stopped resumed
	mkfifo begun
	"$PROF" record -o "$name.json.gz" --stats "$name.stats" "$@" 2>"$name.err" &
	recorder=$!
	read -t 60 -r pid <>begun
	kill -STOP $recorder
	touch stopped
	if [ "$seconds" = end ]; then
		wait_until is_gone "$pid"
	else
		sleep "$seconds"
	fi
	kill -CONT $recorder
	touch resumed
	wait $recorder
	is "$name: exit status" $? 0
	is "$name: the ticks balance" \
		"$(python3 "$root/tests/e2e/tick_stats.py" "$name.stats" "$name.json.gz" 2>&1)" "$name.json.gz: ok"
}
nothing_is_lost() { # NAME
	judge "$1: nothing is lost in a stall of a second" "$1.json.gz" "$1.stats" <<'CODE'
import json
stats = json.load(open(args[0]))
expect(stats["lost"] == 0, stats["lost_by"])
expect(sum(stats["lost_events"].values()) == 0, stats["lost_events"])
expect(stats["cpu_losses"] == [], stats["cpu_losses"])
expect(stats["cpu_samples"] > 150, stats["cpu_samples"])
CODE
}

stalled deep 1.05 -- sh -c "echo >begun; exec '$workloads/deep' 1"
nothing_is_lost deep
# shellcheck disable=SC2016 # for the inner shell
stalled processes 1.05 -- bash -c 'echo >begun; left=10
	while [ ! -e resumed ] || ((left-- > 0)); do python3 -c "sorted(range(100000), key=str)"; /bin/true; done'
nothing_is_lost processes
stalled others 1.05 -e page-faults,context-switches -- \
	sh -c "echo >begun; '$workloads/events' 50000 1000 100 counts; exec '$workloads/deep' 0.7"
nothing_is_lost others

stalled small end -F 5000 --ring-size 64K -- sh -c "echo \$\$ >begun; exec '$workloads/deep' 0.8"
judge "small: losses by CPU, as markers, and in the statistics" small.json.gz small.stats <<'CODE'
import json
stats = json.load(open(args[0]))
expect(stats["lost"] > 200, stats["lost"])
expect(sum(cpu["lost"] for cpu in stats["cpu_losses"]) == stats["lost"], stats["cpu_losses"])
found = [(data["count"], data["cpu"], data["reason"], start, end)
         for _, name, start, end, data in check_profile.markers(p) if name == "lost samples"]
waits = [row for row in found if row[2] == "ring-full: waits"]
found = [row for row in found if row not in waits]
expect(sum(count for count, *_ in waits) == stats["waits_lost"], waits)
expect(sum(count for count, *_ in found) == stats["lost"], found)
expect({cpu for _, cpu, *_ in found} == {cpu["cpu"] for cpu in stats["cpu_losses"]}, found)
expect(all(reason == "ring-full" for _, _, reason, *_ in found), found)
CODE
cpu=$(taskset -pc $$ | sed 's/.*: *//; s/[-,].*//')
# Markers fill the buffer: the rest is for ticks, and for what the next program is.
stalled markers end --syscalls=0 --ring-size 1M -- taskset -c "$cpu" sh -c "echo \$\$ >begun
	until [ -e stopped ]; do :; done
	dd if=/dev/zero of=/dev/null bs=1 count=30000
	exec /bin/true \$((6 * 7000))"
judge "markers: a full buffer takes the arguments of a program" markers.json.gz markers.stats <<'CODE'
import json
stats = json.load(open(args[0]))
expect(stats["syscalls"]["lost"] > 0, stats["syscalls"])
expect(stats["arguments_skipped"] == 0, stats["arguments_skipped"])
expect(any("42000" in text.split() for text in p["shared"]["stringArray"]), "arguments")
CODE
like "small: the summary says so" "$(<small.err)" ' lost \(ring-full [0-9]+\)'

# The kernel samples no more often than its limit, which this lowers meanwhile, but not so far that
# it disturbs others who sample on this machine.
change_rates
for name in before meanwhile after; do
	cp "$workloads/threads" $name
done
# Records at a higher rate, into NAME.json.gz. The limit is lowered only while ./meanwhile runs.
throttled() { # NAME OPTION...
	local name=$1 had
	shift
	# The kernel may have lowered it.
	echo 100000 >$rates
	had=$(<$rates)
	rm -f begun changed
	mkfifo begun changed
	"$PROF" record -F 25000 -o "$name.json.gz" --stats "$name.stats" "$@" -- sh -c './before 0.2
		echo >begun; read _ <changed; ./meanwhile 0.5; echo >begun; read _ <changed; ./after 0.2' \
		2>"$name.err" &
	recorder=$!
	read -t 60 -r _ <>begun
	echo 11000 >$rates
	echo >changed
	read -t 60 -r _ <>begun
	echo "$had" >$rates
	echo >changed
	wait $recorder
	is "$name: exit status" $? 0
	is "$name: the ticks balance" \
		"$(python3 "$root/tests/e2e/tick_stats.py" "$name.stats" "$name.json.gz" 2>&1)" "$name.json.gz: ok"
}

throttled throttled
judge "throttled: by CPU and time, in the statistics and as markers" throttled.json.gz \
	throttled.stats <<'CODE'
import json
stats = json.load(open(args[0]))
rows = {name: next(t for t in p["threads"] if t["processName"] == name and t["isMainThread"])
        for name in ("before", "meanwhile", "after")}
begin, end = rows["before"]["unregisterTime"], rows["after"]["registerTime"]
found = [(start, stop, data) for _, name, start, stop, data in check_profile.markers(p)
         if name == "throttled"]
# A CPU whose tick rests between short bursts of work is throttled now and then at any limit.
meant = [data["count"] for start, stop, data in found if start < end and stop > begin]
expect(sum(meant) > 0.8 * sum(data["count"] for *_, data in found), (begin, end, found))
expect(all(start < stop for start, stop, _ in found), found)
cpus = {cpu["cpu"]: cpu for cpu in stats["cpu_losses"]}
expect({data["cpu"] for _, _, data in found} == set(cpus), (found, cpus))
for number, cpu in cpus.items():
    times = [data["count"] for _, _, data in found if data["cpu"] == number]
    expect(sum(times) == cpu["throttled"], (times, cpu))
    expect(cpu["throttled_ms"] < end - begin, (cpu, begin, end))
# Busy tasks may have moved between CPUs.
expect(sum(cpu["throttled"] for cpu in cpus.values()) > 10, cpus)
expect(sum(cpu["throttled_ms"] for cpu in cpus.values()) > 0.2 * (end - begin), (cpus, begin, end))
expect({data["event"] for _, _, data in found} == {"clock"}, found)
rates = {name: sum(weight for t in p["threads"] if t["processName"] == name
                   for *_, weight, _ in samples(t)) /
         (0.2e3 if name != "meanwhile" else 0.5e3) for name in rows}
expect(rates["meanwhile"] < 0.8 * rates["before"], rates)
expect(rates["meanwhile"] < 0.8 * rates["after"], rates)
expect(stats["lost"] == 0 and sum(stats["lost_events"].values()) == 0, stats)
CODE
like "throttled: the summary says so" "$(<throttled.err)" \
	'the kernel stopped sampling for a while: CPU [0-9]+ for [0-9.]+ ms \([0-9]+ times\)'
throttled other-events -e cpu-clock,task-clock
judge "throttled: another event, for itself" other-events.json.gz other-events.stats <<'CODE'
import json
stats = json.load(open(args[0]))
event = stats["events"]["task-clock"]
found = {data["event"]
         for _, name, *_, data in check_profile.markers(p) if name == "throttled"}
expect(event["throttled"] > 10 and event["throttled_ms"] > 10, event)
expect(found == {"clock", "task-clock"}, found)
CODE
like "throttled: another event, in the summary" "$(<other-events.err)" 'task-clock for [0-9.]+ ms'

done_testing
