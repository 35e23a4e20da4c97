#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof record -a: the whole machine, or selected parts.
. "$(dirname "$0")/lib.sh"

start "$workloads/threads" 100
threads=$started
start setpriv --reuid 65534 --clear-groups "$workloads/spin" die 100 >/dev/null
spin=$started
wait_until grep -qx spin "/proc/$spin/comm"

# Naming a whole machine takes long, and is not tested here; one with many threads would share rows.
begin all record -a --no-symbols --all-threads
start "$workloads/spin" die 100 >/dev/null
later=$started
"$workloads/shares" 0.2
kill -INT "$recorder"
finish all 0
kill "$later"
judge "everything: what ran before, what came, the kernel's threads; not prof" all.json.gz \
	"$threads" "$spin" "$later" "$recorder" <<'CODE'
pids = {t["pid"] for t in p["threads"]}
expect(set(args[:3]) <= pids, [pid for pid in args[:3] if pid not in pids])
expect(args[3] not in pids, "prof itself")
expect("2" in pids and "kthreadd" in {t["name"] for t in p["threads"]}, "no kernel threads")
expect("0" not in pids, "the idle task")
for pid in args[:2]:
    expect(all(t["registerTime"] == 0 for t in threads_of(pid)), pid)
expect(threads_of(args[2])[0]["registerTime"] > 0, "began later")
counts = [t["samples"]["length"] for t in p["threads"]]
# Others may run programs of the same name: then rows have arguments, too.
sampled = {t["name"].split()[0] for t, count in zip(p["threads"], counts) if count}
expect({"spin", "worker-a", "worker-b", "shares"} <= sampled, sampled)
shown = p["meta"]["initialVisibleThreads"]
busy = counts.index(max(counts))
expect(busy in shown and len(shown) <= 30, shown)
CODE
record command 0 -a --comm 'spin,shares' -- "$workloads/shares" 0.3
judge "-a with a command: as long as it runs, and what the filters let pass" command.json.gz <<'CODE'
names = {t["name"].split()[0] for t in p["threads"]}
expect(names == {"spin", "shares"}, names)
expect(within("sixty", thread("shares")) > 5, len(samples(thread("shares"))))
expect(within("spinning") > 5, within("spinning"))
CODE
ok "ticks that are no samples are counted" test "$(stat_of command other_ticks)" -gt 0

# Each filter, and the tasks that it passes.
filtered() { # NAME NAMES ARGUMENT...
	local name=$1 wanted=$2
	shift 2
	begin "$name" record -a -d 0.4 "$@"
	finish "$name" 0
	judge "$name: $*" "$name.json.gz" "$wanted" <<'CODE'
names = {t["name"] for t in p["threads"]}
expect(names == set(args[0].split()), names)
expect(len(samples()) > 3, len(samples()))
CODE
}
filtered pid "threads worker-a worker-b" --pid "$threads"
filtered uid spin --uid nobody --comm 's*'
tid=$(grep -lx worker-b /proc/"$threads"/task/*/comm | cut -d/ -f5)
filtered tid "threads worker-a worker-b" --tid "$tid" --comm 'th[r]eads' --uid root
judge "tid: only that one is sampled" tid.json.gz <<<'expect({t["name"] for t in p["threads"] if samples(t)} == {"worker-b"}, check_profile.thread_names(p))'

# Control groups of every version present.
groups=0
try_group() { # NAME FOLDER PATH
	mkdir "$2/prof-test" 2>/dev/null && mkdir "$2/prof-test/below" 2>/dev/null || return
	at_exit+=("rmdir $2/prof-test/below $2/prof-test 2>/dev/null")
	if echo "$threads" >"$2/prof-test/below/cgroup.procs"; then
		groups=$((groups + 1))
		filtered "$1" "threads worker-a worker-b" --cgroup "$3"
		echo "$threads" >"$2/cgroup.procs"
	fi
	rmdir "$2/prof-test/below" "$2/prof-test"
	refuses "$1: a group that is gone" 125 'control group' "$PROF" record -a --cgroup "$3"
}
version2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
[ -z "$version2" ] || try_group version-2 "$version2" /prof-test
version1=$(awk '$3 == "cgroup" && $4 ~ /pids|freezer|memory/ { print $2; exit }' /proc/mounts)
[ -z "$version1" ] || try_group version-1 "$version1" "$version1/prof-test"
ok "control groups were tried" test "$groups" -gt 0

# One CPU of several.
cpu=$(grep -o '[0-9]*$' /sys/devices/system/cpu/online)
taskset -pc "$cpu" "$spin" >/dev/null
begin cpu record -a -d 0.4 --cpu "$cpu" --pid "$spin,$threads"
finish cpu 0
is "--cpu: one is sampled" "$(stat_of cpu cpus)" 1
judge "--cpu: no more ticks than it has" cpu.json.gz <<'CODE'
span = p["meta"]["profilingEndTime"] - p["meta"]["profilingStartTime"]
expect(len(samples()) < 1.1 * span + 10, (len(samples()), span))
expect(within("spinning") > 3, within("spinning"))
CODE

kill "$threads" "$spin"

record renames 0 --thread 'lou[d]' -- "$workloads/renames" 4
judge "--thread follows renames" renames.json.gz <<'CODE'
expect(len(p["threads"]) == 2, check_profile.thread_names(p))
expect(within("loud_work") > 200, within("loud_work"))
expect(within("quiet_work") <= 8, within("quiet_work"))
CODE

run "$PROF" record -a --include-self -d 0.3 -o self.json.gz
judge "--include-self" self.json.gz <<<'expect("prof" in {t["processName"].split()[0] for t in p["threads"]}, "no prof")'

refuses "filters that nothing meets" 125 'filters' \
	"$PROF" record -a -d 0.2 --comm nobody-has-this -o nothing.json.gz
for filter in "-a --comm nobody-has-this" "-a --uid 4000000000" "--thread nobody-has-this"; do
	# shellcheck disable=SC2086 # words
	refuses "$filter: not met by the command either" 125 'filters' \
		"$PROF" record $filter -o nothing.json.gz -- sleep 0.1
done
record met 0 -a --comm sleep -- sleep 0.1
judge "a command that meets them" met.json.gz \
	<<<'expect("sleep" in {t["name"].split()[0] for t in p["threads"]}, check_profile.thread_names(p))'
refuses "--pid of nobody" 125 'no process' "$PROF" record -a --pid 2147483647
refuses "--uid of nobody" 125 'no such user' "$PROF" record -a --uid no-such-user
refuses "--cpu that is none" 125 'not online' "$PROF" record -a --cpu 4000
refuses "--cgroup that is none" 125 'not a control group' "$PROF" record -a --cgroup /tmp
for wrong in "--pid 1 -- touch started" "-a --pid x" "-a --kill -d 1" "-a --comm [x" "-a --uid ,"; do
	# shellcheck disable=SC2086 # words
	refuses "prof record $wrong" 2 '.' "$PROF" record $wrong
done

done_testing
