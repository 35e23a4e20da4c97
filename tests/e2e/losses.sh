#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A recorder that does not get to read its buffers for a second loses nothing by default; what is
# lost in smaller ones is counted by CPU and time, and is shown.
. "$(dirname "$0")/lib.sh"

# Records COMMAND, which writes a line into ./begun once it runs, and stops the recorder for SECONDS
# after that. NAME.json.gz, NAME.stats, NAME.err.
stalled() { # NAME SECONDS OPTION... -- COMMAND
	local name=$1 seconds=$2 recorder
	shift 2
	rm -f begun
	mkfifo begun
	"$PROF" record -o "$name.json.gz" --stats "$name.stats" "$@" 2>"$name.err" &
	recorder=$!
	read -r _ <begun
	kill -STOP $recorder
	sleep "$seconds"
	kill -CONT $recorder
	wait $recorder
	is "$name: exit status" $? 0
	is "$name: the ledger balances" \
		"$(python3 "$root/tests/e2e/ledger.py" "$name.stats" "$name.json.gz" 2>&1)" ""
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
stalled processes 1.05 -- bash -c 'echo >begun; end=$((SECONDS + 2))
	while ((SECONDS < end)); do python3 -c "sorted(range(100000), key=str)"; /bin/true; done'
nothing_is_lost processes
stalled others 1.05 -e page-faults,context-switches -- \
	sh -c "echo >begun; '$workloads/events' 50000 1000 100 counts; exec '$workloads/deep' 0.7"
nothing_is_lost others

stalled small 1 -F 5000 --ring-size 64K -- sh -c "echo >begun; exec '$workloads/deep' 0.8"
judge "small: losses by CPU, as markers, and in the statistics" small.json.gz small.stats <<'CODE'
import json
stats = json.load(open(args[0]))
expect(stats["lost"] > 200, stats["lost"])
expect(sum(cpu["lost"] for cpu in stats["cpu_losses"]) == stats["lost"], stats["cpu_losses"])
found = [(data["count"], data["cpu"], data["reason"], start, end)
         for _, name, start, end, data in check_profile.markers(p) if name == "lost samples"]
expect(sum(count for count, *_ in found) == stats["lost"], found)
expect({cpu for _, cpu, *_ in found} == {cpu["cpu"] for cpu in stats["cpu_losses"]}, found)
expect(all(reason == "ring-full" for _, _, reason, *_ in found), found)
CODE
like "small: the summary says so" "$(<small.err)" ' lost \(ring-full [0-9]+\)'

done_testing
