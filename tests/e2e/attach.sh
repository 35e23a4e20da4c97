#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof attach: running processes, with everything that belongs to them.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

start "$workloads/threads" 60
threads=$started
begin threads attach -p "$threads"
work_on "$threads" 500
kill -INT "$recorder"
finish threads 0
judge "all threads of a process, each with its work, and whole stacks" threads.json.gz <<'CODE'
expect(len(p["threads"]) == 3, check_profile.thread_names(p))
total = len(samples())
expect(total > 30, total)
for name, function in (("threads", "main_work"), ("worker-a", "work_a"), ("worker-b", "work_b")):
    t = thread(name)
    count = within(function, t)
    expect(count > 0.97 * len(samples(t)) > 0, f"{name}: {count} of {len(samples(t))}")
    expect(t["registerTime"] == 0 and t["unregisterTime"] is None, name)
    expect(t["processName"] == "threads" and t["isMainThread"] == (name == "threads"), name)
roots = {frames[0]["name"] for _, _, _, frames in samples()}
expect(all(name == "_start" or "clone" in name for name in roots), roots)
CODE
is "no stack waited for its tables" "$(stat_of threads unknown) $(stat_of threads finished_later)" \
	"0 0"

# The process is never stopped, whatever it is doing.
begin state attach -p "$threads" -d 0.3
like "the process runs, and nobody traces it" \
	"$(grep -E '^(State|TracerPid)' "/proc/$threads/status" | tr '\n' ' ')" \
	'^State:.[RS].*TracerPid:.0 $'
finish state 0

begin patterns attach -p "$threads" --thread 'worker-[b-z],no*such'
work_on "$threads" 200
kill -INT "$recorder"
finish patterns 0
judge "--thread: one is sampled, all are listed" patterns.json.gz <<'CODE'
expect(len(p["threads"]) == 3, check_profile.thread_names(p))
expect([t["name"] for t in p["threads"] if samples(t)] == ["worker-b"], check_profile.thread_names(p))
expect(within("work_b") > 5, within("work_b"))
shown = [p["threads"][i]["name"] for i in p["meta"]["initialVisibleThreads"]]
expect("worker-b" in shown and "worker-a" not in shown, shown)
CODE
refuses "--thread that nothing meets" 125 'filters' \
	"$PROF" attach -p "$threads" --thread nobody -d 0.2
kill "$threads"

# A child from before the recording and one from during it, which ends with the parent.
mkfifo lines ready
exec 3<>lines 4<>ready
start "$workloads/family" <lines >ready
read -r _ <&4
family=$started
begin family attach -p "$family"
echo >&3
has_children() { # PID COUNT
	[ "$(wc -w <"/proc/$1/task/$1/children")" = "$2" ]
}
wait_until has_children "$family" 2
for child in $(<"/proc/$family/task/$family/children"); do
	work_on "$child" 50
done
kill "$family"
finish family 0
judge "descendants: those that were there and those to come" family.json.gz "$family" <<'CODE'
names = [t["name"] for t in p["threads"]]
expect(sorted(names) == ["elder", "parent", "younger-0"] and names[2] == "younger-0", names)
expect(thread("parent")["pid"] == args[0], thread("parent")["pid"])
expect(within("elder_work", thread("elder")) > 5, "elder")
younger = thread("younger-0")
expect(within("younger_work", younger) > 5, "younger")
expect(younger["registerTime"] > 0 and thread("elder")["registerTime"] == 0, "start times")
expect(thread("parent")["unregisterTime"] > 0, "the parent has ended")
CODE

start "$workloads/family" <lines >ready
read -r _ <&4
begin alone attach -p "$started" --no-children
echo >&3
wait_until has_children "$started" 2
kill "$started"
finish alone 0
judge "--no-children" alone.json.gz <<<'expect([t["name"] for t in p["threads"]] == ["parent"], check_profile.thread_names(p))'

# Several processes, chosen in different ways.
start "$workloads/spin" ignore 60 >/dev/null
one=$started
start "$workloads/spin" die 60 >/dev/null
two=$started
cp "$workloads/spin" "$tmp/found-by-name"
start ./found-by-name die 60 >/dev/null
echo "$two" >two.pid
wait_until grep -qx found-by-name "/proc/$started/comm"
begin several attach -p "$one,$two" --pidfile two.pid --comm 'found-by-?ame' -d 0.5
finish several 0
judge "-p, --pidfile and --comm together" several.json.gz "$one" "$two" <<'CODE'
expect({t["pid"] for t in p["threads"]} >= set(args), check_profile.thread_names(p))
expect([t["name"] for t in p["threads"]].count("found-by-name") == 1, check_profile.thread_names(p))
expect(len(p["threads"]) == 3, check_profile.thread_names(p))
CODE
kill "$two" "$started"

# Ends of recordings.
begin int attach -p "$one"
kill -INT "$recorder"
finish int 0
begin term attach -p "$one"
kill -TERM "$recorder"
finish term 0
ok "the process goes on" kill -0 "$one"
kill -KILL "$one"

is_ended() { ! kill -0 "$1" 2>/dev/null; }
wait_until is_ended "$one"
refuses "a process that has ended" 125 "no process with pid $one" "$PROF" attach -p "$one"
refuses "a process that never was" 125 'no process with pid 2147483647' \
	"$PROF" attach -p 2147483647
refuses "no such name" 125 'no process is named nobody' "$PROF" attach --comm nobody
refuses "no such file" 125 'none.pid' "$PROF" attach --pidfile none.pid
echo nonsense >bad.pid
refuses "a file without a pid" 125 'bad.pid' "$PROF" attach --pidfile bad.pid
start "$workloads/threads" 60
has_threads() { # PID COUNT
	local all=("/proc/$1/task/"*)
	[ "${#all[@]}" = "$2" ]
}
wait_until has_threads "$started" 3
tasks=("/proc/$started/task/"*)
thread=${tasks[2]##*/}
refuses "a thread" 125 "thread of process $started" "$PROF" attach -p "$thread"
refuses "a descriptor that is not open" 125 'ready-fd' "$PROF" attach -p "$started" --ready-fd 99
for wrong in "" "-p x" "-p 0" "-p 1,,2" "-p $started surplus" "-p $started --thread [a" \
	"--comm" "-p $started -d 0" "-p $started --ready-fd x" "-p $started --cpu"; do
	# shellcheck disable=SC2086 # words
	refuses "prof attach $wrong" 2 '.' "$PROF" attach $wrong
done

# A descriptor tells a script, too.
exec 5> >(cat >told)
run "$PROF" attach -p "$started" -d 0.2 --ready-fd 5 -o told.json.gz
exec 5>&-
ok "--ready-fd" wait_until grep -qx ready told
kill "$started"

# A pid namespace, where pids differ from the kernel's.
cat >inside.sh <<'CODE'
"$1/threads" 60 &
threads=$!
status=0
for kind in inside all; do
	which="attach -p $threads"
	[ $kind = inside ] || which="record -a"
	rm -f inside.ready
	# shellcheck disable=SC2086 # words
	"$2" $which -q --ready-file inside.ready -o $kind.json.gz &
	wait_until test -e inside.ready
	work_on $threads 200
	kill -INT $!
	wait $! || status=$?
done
echo $status $threads >inside.status
kill $threads
CODE
{
	declare -f wait_until cpu_ticks has_used work_on
	cat inside.sh
} >within.sh
unshare -pf --mount-proc bash within.sh "$workloads" "$PROF"
is "in a pid namespace: exit status" "$(cut -d' ' -f1 inside.status)" 0
for file in inside all; do
	judge "in a pid namespace: its pids, and all threads ($file)" $file.json.gz \
		"$(cut -d' ' -f2 inside.status)" <<'CODE'
ours = threads_of(args[0])
expect(int(args[0]) < 100, args[0])
expect(sorted(t["name"] for t in ours) == ["threads", "worker-a", "worker-b"],
       check_profile.thread_names(p))
expect(sum(within(name) for name in ("main_work", "work_a", "work_b")) > 20, len(samples()))
expect(all(int(t["pid"]) < 200 for t in p["threads"]), check_profile.thread_names(p))
CODE
done

# A process ends while prof waits for the reader of its FIFO.
mkfifo late
start sleep 100
"$PROF" attach -p "$started" -o late.json.gz --ready-file late 2>late.err &
recorder=$!
has_pidfd() {
	find "/proc/$recorder/fd" -lname '*pidfd*' | grep -q .
}
wait_until has_pidfd
kill "$started"
wait_until is_gone "$started"
cat late >/dev/null
wait $recorder
is "a process that ends before recording begins: exit status" $? 125
like "a process that ends before recording begins: says so" "$(<late.err)" \
	'^prof attach: the process ended before recording began$'
ok "a process that ends before recording begins: no profile" test ! -e late.json.gz

done_testing
