#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Processes and threads: fork, exec, names, short lives, namespaces.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

ln "$workloads/fork_exec" other-name 2>/dev/null || cp "$workloads/fork_exec" other-name
record fork 0 -- "$workloads/fork_exec" ./other-name
judge "fork and exec: three processes, each with its work and its last name" fork.json.gz <<'CODE'
expect(len(check_profile.processes(p)) == 3, check_profile.thread_names(p))
for name, function in (("fork_exec", "parent_work"), ("only-forked", "forked_work"),
                       ("other-name", "executed_work")):
    t = thread(name)
    expect(t["isMainThread"] and t["processName"] == name, (t["processName"], name))
    spent(200, function, t)
    count = within(function, t)
    expect(count > 0.9 * len(samples(t)), f"{name}: {count} of {len(samples(t))}")
CODE

record short 0 -- "$workloads/short_threads" 40 20
judge "threads that live 20 ms: all there, all sampled, with their times" short.json.gz <<'CODE'
names = [t["name"] for t in p["threads"]]
expect(sorted(names) == sorted(["short_threads"] + [f"short-{i}" for i in range(40)]), names)
last = -20
every = [thread(f"short-{i}") for i in range(40)]
# Each thread is joined before the next begins. The kernel tells the waiter before the thread is
# gone.
for t in every:
    spent(20, "short_life", t)
    expect(t["unregisterTime"] - t["registerTime"] >= 19.9, f"{t['name']}: lived too short")
    expect(t["registerTime"] >= last + 20, f"{t['name']} began before the last one had run")
    last = t["registerTime"]
# A thread may wait long for a CPU to end on, but few do: each has the next one's whole life.
in_time = sum(t["unregisterTime"] <= later["registerTime"] for t, later in zip(every, every[2:]))
expect(in_time >= 20, f"{in_time} of 38 ended in time")
spent(40 * 20, "short_life", *every)
CODE

# shellcheck disable=SC2016 # for the inner shell
record brief 0 --all-threads -- bash -c 'for i in $(seq 300); do /bin/true; done'
judge "300 processes, one after the other: all listed" brief.json.gz <<'CODE'
names = [t["name"] for t in p["threads"]]
expect(names.count("true") == 300, f"{names.count('true')} times true")
expect(names.count("bash") + names.count("seq") == 2, [n for n in names if n != "true"])
CODE

# Before the exec, the process runs prof itself, which must not be in the profile.
record first 0 -- "$workloads/shares" 0.2
judge "the command is recorded from its exec on" first.json.gz <<'CODE'
expect(len(p["threads"]) == 1, check_profile.thread_names(p))
expect(not any(lib["name"] == "prof" for lib in p["libs"]), [lib["name"] for lib in p["libs"]])
CODE

run unshare -pf --mount-proc "$PROF" record -o inside.json.gz -- \
	bash -c "echo \$\$ >pid; '$workloads/shares' 0.3; true"
is "in a pid namespace: exit status" "$status" 0
judge "in a pid namespace: its pids, and names from its files" inside.json.gz "$(cat pid)" <<'CODE'
expect([t["pid"] for t in p["threads"]][0] == args[0], check_profile.thread_names(p))
expect(int(args[0]) < 100, args[0])
expect(within("sixty", thread("shares")) > 100, "no sixty()")
CODE
# A thread that has given back its pid still runs for a moment.
run unshare -pf --mount-proc "$PROF" record -F 10000 -o ends.json.gz -- "$workloads/short_threads" 300 1
judge "in a pid namespace: threads that end keep their tid" ends.json.gz <<'CODE'
expect(len(p["threads"]) == 301, f"{len(p['threads'])} threads")
expect(all(t["tid"] > 0 for t in p["threads"]), [t["name"] for t in p["threads"] if t["tid"] <= 0])
CODE

# Two recordings at once, which do not see each other.
at_once() { # NAME COMMAND...
	tmp=$tmp/$1.at-once
	mkdir "$tmp"
	record "$1" 0 -- "${@:2}" >"$1.tap"
}
at_once one "$workloads/shares" 0.5 &
one=$!
at_once two "$workloads/threads" 0.5 &
two=$!
wait $one
like "two at once: the first" "$(<one.tap)" '^ok'
wait $two
like "two at once: the second" "$(<two.tap)" '^ok'
judge "two at once: one" one.json.gz <<'CODE'
expect([t["name"] for t in p["threads"]] == ["shares"], check_profile.thread_names(p))
spent(500, "main", thread("shares"))
CODE
judge "two at once: two" two.json.gz <<'CODE'
expect(sorted(t["name"] for t in p["threads"]) == ["threads", "worker-a", "worker-b"],
       check_profile.thread_names(p))
for name, function, ms in (("threads", "main_work", 50), ("worker-a", "work_a", 150),
                           ("worker-b", "work_b", 300)):
    spent(ms, function, thread(name))
CODE

# A program that is gone when it is named: deleted while it runs.
cp "$workloads/spin" deleted
mkfifo ready
record gone 0 -- bash -c './deleted die 0.3 >ready & read -r _ <ready; rm deleted; wait'
judge "a program deleted while it runs is named" gone.json.gz <<'CODE'
found = samples(thread("deleted"))
expect(within("spinning") > 0.9 * len(found) > 0, f"{within('spinning')} of {len(found)}")
CODE

# Programs that rename their first thread: as a thread, or as the process.
record thread 0 -- "$workloads/call_me" thread 300
judge "a program keeps its name when its first thread has another" thread.json.gz <<'CODE'
t = thread("MainThread")
expect(t["isMainThread"] and t["processName"] == "call_me", t["processName"])
expect(within("named_work", t) > 0.9 * len(samples(t)) > 0, "no named_work()")
CODE
record title 0 -- "$workloads/call_me" title 300 that has room
judge "a title is the process's name" title.json.gz <<'CODE'
expect([t["processName"] for t in p["threads"]] == ["job of many wor"], check_profile.thread_names(p))
CODE

# The same where they run already; scripts are called by their files, not by their interpreters.
printf '#!/bin/sh\nwhile :; do :; done\n' >works.sh
chmod +x works.sh
"$workloads/call_me" thread 1000000 &
renamed=$!
"$workloads/call_me" title 1000000 that has room &
titled=$!
./works.sh &
script=$!
has_name() { # PID NAME
	[ "$(<"/proc/$1/comm")" = "$2" ]
}
wait_until has_name $renamed MainThread
wait_until has_name $titled "job of many wor"
wait_until has_name $script works.sh
run "$PROF" attach -o running.json.gz -d 0.3 -p "$renamed,$titled,$script"
is "running programs: recorded" "$status" 0
judge "running programs have the same names" running.json.gz <<'CODE'
names = sorted((t["name"], t["processName"]) for t in p["threads"])
expect(names == [("MainThread", "call_me"), ("job of many wor", "job of many wor"), ("works.sh", "works.sh")],
       names)
expect(p["meta"]["product"] == "call_me", p["meta"]["product"])
CODE
run "$PROF" report --process call_me running.json.gz
is "they can be asked for" "$status" 0
kill $renamed $titled $script
wait $renamed $titled $script 2>/dev/null

done_testing
