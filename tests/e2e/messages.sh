#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Messages of a recording: what is wrong and what to do, with and without a terminal.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

record short 0 --no-off-cpu -- sleep 0.01
like "a command that hardly ran on a CPU" "$err" 'hardly ran on a CPU: for more samples raise -F .*prof attach -p PID'
record long 0 -- "$workloads/shares" 0.3
unlike "one that was" "$err" 'hardly'
like "one plain line on stacks" "$err" $'\nprof: stacks: [0-9.]+ % whole\n'
record waits 0 --off-cpu=2000 -- sleep 0.1
unlike "or whose waits are recorded" "$err" 'hardly'

# The command goes on: prof prints its pid, so that it can be ended.
record left 0 -d 0.2 -- sleep 60
like "-d: the command still runs, with its pid" "$err" 'still running with pid [0-9]+; use --kill'
pid=$(sed -n 's/.*with pid \([0-9]*\);.*/\1/p' <<<"$err")
is "and it is that of the command" "$(cat "/proc/$pid/comm")" sleep
kill "$pid"
record ended 0 -d 0.2 --kill -- sleep 60
unlike "--kill: it does not" "$err" 'still running'

# Losses: the recorder cannot read a small ring until the command has ended.
stall() { # NAME OPTION... -- COMMAND
	local name=$1 pid
	shift
	rm -f begun
	mkfifo begun
	"$PROF" record -o "$name.json.gz" --stats "$name.stats" "$@" 2>"$name.err" &
	recorder=$!
	read -t 120 -r pid <>begun
	kill -STOP $recorder
	wait_until is_gone "$pid"
	kill -CONT $recorder
	wait $recorder
	status=$?
	err=$(<"$name.err")
}
stall lossy --fail-on-loss -F 5000 --ring-size 64K -- sh -c "echo \$\$ >begun; exec '$workloads/deep' 0.6"
is "--fail-on-loss: exit status" "$status" 125
is "in --stats, too" "$(stat_of lossy exit_status)" 125
like "--fail-on-loss: says so, and what to do" "$err" '--fail-on-loss: .*the profile is kept.*--ring-size'
judge "and the profile is kept" lossy.json.gz <<<'expect(p["threads"], "no thread")'
record lossless 3 --fail-on-loss -- sh -c 'exit 3'
is "without losses the status is the command's" "$(stat_of lossless exit_status)" 3

# Out of memory: the recorder gets no more than it has, and ever more records.
echo old >kept.json.gz
# shellcheck disable=SC2016 # for the inner shell
begin kept record -- sh -c 'for i in $(seq 400); do /bin/true; done; sleep 0.2; echo done >by-command'
prlimit --pid "$recorder" --as=1
wait "$recorder"
is "out of memory: exit status" $? 125
is "out of memory: one line" "$(wc -l <kept.err)" 1
like "out of memory: says how much, and what to do" "$(<kept.err)" \
	'^prof: out of memory \([0-9]+ bytes more\): free some, or raise the limit'
is "out of memory: what had the name stays" "$(<kept.json.gz)" old
wait_until test -s by-command
is "out of memory: the command goes on" "$(<by-command)" "done"

refuses "a command without a name" 127 'the name of the command is empty' "$PROF" record -- ''

on_terminal() { # COMMAND...
	run python3 "$root/tests/e2e/terminal.py" "$@"
}
on_terminal "$PROF" record -o t.json.gz -- sh -c 'echo from the command; exit 3'
is "on a terminal: the command's exit status" "$status" 3
like "on a terminal: a line when recording begins, and the command's after it" "$out" \
	"^.prof: recording sh, Ctrl-C ends it.r.nfrom the command.r.n"
unlike "and no other while the command has the terminal" "$out" '[0-9] s, [0-9,]+ sample'
on_terminal "$PROF" record -o t.json.gz -- no-such-command
is "a command that is not there: exit status" "$status" 127
like "a command that is not there: the line is taken back" "$out" \
	'Ctrl-C ends it.r.n.x1b\[A.r.x1b\[Kprof record: no-such-command: command not found.r.n.$'
on_terminal "$PROF" record -q -o t.json.gz -- true
is "--quiet: nothing" "$out" "''"
# shellcheck disable=SC2016 # for the inner shell
on_terminal sh -c '"$@" >/dev/null' sh "$PROF" record -o t.json.gz -- "$workloads/shares" 1.5
like "a command whose output goes elsewhere: a line with time, samples and losses" "$out" \
	'.x1b\[Kprof: [0-9]+ s, [0-9,]+ samples?, 0 lost.r.x1b\[K'
start "$workloads/shares" 100
INTERRUPT='0 lost' on_terminal "$PROF" attach -o t.json.gz -p "$started"
is "attach: Ctrl-C ends it" "$status" 0
like "attach: what it records" "$out" "recording shares .pid $started., Ctrl-C ends it"
kill "$started"
run env TERM=xterm "$PROF" record -o t.json.gz -- true
unlike "without a terminal: no such line" "$err" 'recording|'$'\033'

done_testing
