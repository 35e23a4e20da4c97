#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof attach: processes that run already, with all that is theirs.
. "$(dirname "$0")/lib.sh"

# Starts a command in the background that is ended with the test; $started is its pid.
start() { # COMMAND...
	"$@" &
	started=$!
	at_exit+=("kill $started 2>/dev/null")
}
# Attaches in the background and returns once recording has begun; $recorder is prof.
attach() { # NAME ARGUMENT...
	local name=$1
	shift
	rm -f "$name.ready"
	"$PROF" attach -o "$name.json.gz" --stats "$name.stats" --ready-file "$name.ready" "$@" \
		2>"$name.err" &
	recorder=$!
	wait_until test -e "$name.ready" || cat "$name.err"
}
finish() { # NAME
	local problems
	wait "$recorder"
	is "$1: exit status" $? 0
	problems=$(python3 "$root/tests/check_profile.py" "$1.json.gz" 2>&1 &&
		python3 "$root/tests/e2e/ledger.py" "$1.stats" "$1.json.gz" 2>&1)
	is "$1: a valid profile" "$problems" "$1.json.gz: ok"
}

start "$workloads/threads" 60
attach threads -p "$started" -d 1
finish threads
judge "all threads of a process, each with its work, and whole stacks" threads.json.gz <<'CODE'
expect(len(p["threads"]) == 3, check_profile.thread_names(p))
total = len(samples())
expect(total > 200, total)
for name, function in (("threads", "main_work"), ("worker-a", "work_a"), ("worker-b", "work_b")):
    t = thread(name)
    count = within(function, t)
    expect(count > 0.97 * len(samples(t)) > 0, f"{name}: {count} of {len(samples(t))}")
    expect(t["registerTime"] == 0 and t["unregisterTime"] is None, name)
    expect(t["processName"] == "threads" and t["isMainThread"] == (name == "threads"), name)
roots = {frames[0]["name"] for _, _, _, frames in samples()}
expect(roots <= {"_start", "__clone3", "clone3", "__clone", "__GI___clone3"}, roots)
CODE
is "none of them waits for its tables" "$(stat_of threads unknown)" 0
kill "$started"

done_testing
