#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Recordings of perf become profiles whose samples are those that perf script prints.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

# perf keeps its cache of files in the home folder.
export HOME=$tmp
cp "$workloads/fork_exec" program
# The kernel tells build ids: perf 6.1 may abort as it looks for them itself. Records of BPF programs
# that others load meanwhile end perf script, too. The CPU clock's ticks come at the same rate
# everywhere; those of cycles are few where a program begins.
perf_record() { # NAME ARGUMENT...
	local name=$1
	shift
	[[ " $* " == *' -e '* ]] || set -- -e cpu-clock "$@"
	perf record -q --no-bpf-event --buildid-mmap -o "$name" "$@" >perf.out 2>&1 </dev/null || cat perf.out >&2
}
compare() { # NAME
	run "$PROF" convert --all-threads "$1" -o "$1.json.gz"
	is "$1: exit status" "$status" 0
	ok "$1: times and call chains are those of perf script" \
		python3 "$root/tests/e2e/perf_script.py" "$1" "$1.json.gz"
	ok "$1: the profile is valid" python3 "$root/tests/check_profile.py" "$1.json.gz"
}

perf_record plain -g -- "$workloads/fork_exec" ./program
perf_record events -e cpu-clock,page-faults,context-switches -g -- "$workloads/fork_exec" ./program
perf_record tracepoint -e sched:sched_switch,cpu-clock -g -- "$workloads/fork_exec" ./program
perf_record switches --switch-events -g -- "$workloads/threads" 0.3
perf_record packed -z -g -- "$workloads/threads" 0.3
perf_record folder --threads -g -- "$workloads/fork_exec" ./program
perf_record times -k CLOCK_MONOTONIC -g -- "$workloads/fork_exec" ./program
perf_record groups --all-cgroups --namespaces -g -- "$workloads/fork_exec" ./program
perf_record flat -- "$workloads/fork_exec" ./program
perf record -q --no-bpf-event -e cpu-clock -B -g -o inodes -- "$workloads/fork_exec" ./program 2>/dev/null
# Another listener asks for build ids: the kernel marks these records as if they had some, and perf
# may abort when it has written them.
"$PROF" record -q -a -d 100 -o listener.json.gz &
listener=$!
is_listening() {
	"$PROF" status | grep -q "^$listener "
}
wait_until is_listening
perf record -q --no-bpf-event -e cpu-clock -B -g -o beside -- "$workloads/fork_exec" ./program 2>/dev/null || true
kill -INT "$listener"
wait "$listener"
perf record -q --no-bpf-event -e cpu-clock --buildid-mmap -g -o - -- "$workloads/fork_exec" ./program 2>/dev/null >pipe
for name in plain events tracepoint switches packed folder times groups pipe; do
	compare $name
done

# A program that is loaded as perf records, and gone when its file is read.
perf record -q -e cpu-clock --buildid-mmap -g -o bpf -- "$workloads/bpf_run" >perf.out 2>&1 || cat perf.out >&2
like "functions of BPF programs have names" "$("$PROF" report --format json bpf)" 'bpf_prog_[0-9a-f]{16}_prof_test'

run "$PROF" report flat
like "samples without chains: report" "$out" 'burn_a_little +program'
for name in inodes beside; do
	run "$PROF" report $name
	like "$name: without build ids, files are found by inode" "$out" 'burn_a_little +program'
done
run "$PROF" report plain
like "report: functions have names" "$out" 'burn_a_little +program'
run "$PROF" info plain
# perf 7.2 writes its path alone.
like "info: perf's own command line" "$out" 'Command line +[^ ]*perf( record|$)'
run "$PROF" info switches
like "switches: waits are rows" "$out" 'Waits +[1-9]'
run "$PROF" info tracepoint
like "tracepoints are markers, too" "$out" 'sched:sched_switch +[1-9]'
perf_record faults -e page-faults -c 1 -g -- "$workloads/fork_exec" ./program
run "$PROF" convert faults -o faults.json.gz
ok "without a clock, rows of the event are selected" python3 -c '
import gzip, json
p = json.load(gzip.open("faults.json.gz"))
selected = p["meta"]["initialSelectedThreads"]
assert selected and all("(page-faults)" in p["threads"][i]["name"] for i in selected), selected'
run "$PROF" diff plain times
is "diff: exit status" "$status" 0
gzip -c plain >packed.gz
for name in plain packed.gz; do
	run "$PROF" symbolize $name -o named.json.gz
	like "symbolize $name: functions have names" "$("$PROF" report named.json.gz)" 'burn_a_little +program'
done

run bash -c "perf record -q --no-bpf-event -e cpu-clock --buildid-mmap -g -o - -- '$workloads/fork_exec' ./program | '$PROF' report -"
like "through a pipe: report" "$out" 'burn_a_little +program'
gzip -c plain >plain.gz
run "$PROF" report plain.gz
like "compressed: report" "$out" 'burn_a_little +program'
run "$PROF" convert plain --from 0.1 --to 0.2 -o part.json.gz
is "a part: exit status" "$status" 0
like "a part: its samples" "$("$PROF" info part.json.gz)" 'Samples +[1-9]'

# Registers and copies of stacks: perf has at most as many frames as prof.
perf_record copied --call-graph dwarf,16384 -F 500 -- "$workloads/fork_exec" ./program
compare copied
run "$PROF" convert copied -o copied.json.gz --stats copied.json
like "copied stacks are whole" "$("$PROF" info copied.json.gz)" 'Whole stacks +(9[5-9]|100)'

head -c $(($(stat -c %s plain) * 2 / 3)) plain >"cut"
run "$PROF" report cut
is "a file that was cut: exit status" "$status" 0
like "a file that was cut: says so" "$err" 'cut: the recording was cut: it ends [0-9.]+ s after its start'
{ head -c 104 plain; head -c 100000 /dev/zero; } >zeros
run "$PROF" report zeros
is "zeros: exit status" "$status" 125
is "zeros: one line" "$(wc -l <<<"$err")" 1

# perf's own cache has files that are gone; so has a folder that perf archive made.
perf_record gone -g -- ./program executed
perf buildid-cache -a ./program
mv program moved
run "$PROF" convert gone -o gone.json.gz
like "a file that is only in perf's cache has names" "$("$PROF" report gone.json.gz)" 'executed_work'
mv .debug elsewhere
run "$PROF" convert gone -o gone.json.gz
unlike "without it there are none" "$("$PROF" report gone.json.gz)" 'executed_work'
run "$PROF" convert --debug-dir elsewhere gone -o gone.json.gz
like "a copy of the cache is a --debug-dir" "$("$PROF" report gone.json.gz)" 'executed_work'

done_testing
