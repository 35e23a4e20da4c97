#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Many of everything at once: recorders, mappings, processes, threads. Single threads' cases (exec
# from a thread that does not lead, reuse of a pid, new names) are in the golden tests
# exec-from-thread, pid-reuse and rename, and in tasks.sh.
. "$(dirname "$0")/lib.sh"

# Lists a recorder's kernel objects, one per line: KIND ID for programs, maps and links, and
# "perf_event" for those.
kernel_objects() { # PID
	sed -nE 's/^(prog|map|link)_id:[[:space:]]*([0-9]+)$/\1 \2/p' "/proc/$1/fdinfo/"* 2>/dev/null
	find "/proc/$1/fd" -lname 'anon_inode:\[perf_event\]' -printf 'perf_event\n' 2>/dev/null
}
kinds() { # PID
	kernel_objects "$1" | cut -d' ' -f1 | sort | uniq -c | awk '{ print $2 "=" $1 }' | tr '\n' ' '
}
objects_are() { # there|freed FILE of kernel_objects
	python3 "$root/tests/e2e/bpf_objects.py" "$@"
}
rss_kib() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; } # PID
# Counts threads of the whole machine: others may run here, too.
fork_count() { awk '/^processes/ { print $2 }' /proc/stat; }
pinned() { find /sys/fs/bpf -mindepth 1 2>/dev/null | sort; }

# Ten at once: five record the whole machine and five a command, one of which is killed.
cp "$workloads/fork_exec" other-name
pinned >pinned.before
whole=(all-1 all-2 all-3 all-4 all-5)
declare -A commands=(
	[shares]="shares 0.3"
	[threads]="threads 0.4"
	[fork_exec]="fork_exec ./other-name"
	[short_threads]="short_threads 20 10"
)
declare -A recorders
for name in "${whole[@]}"; do
	# Other processes of this machine may be so many that rows are shared.
	begin "$name" record -a -F 99 --no-symbols --all-threads
	recorders[$name]=$recorder
done
begin killed record -F 99 -- "$workloads/spin" die 60 >/dev/null
victim=$recorder
read -r spin < <(cat "/proc/$victim/task/"*/children)
at_exit+=("kill $spin 2>/dev/null")
ok "what it started runs" test -d "/proc/${spin:-none}"
kernel_objects "$victim" >objects
like "a recorder at work has programs, maps and events" "$(kinds "$victim")" \
	"map=[1-9][0-9]* perf_event=[1-9][0-9]* prog=[1-9]"
for name in "${!commands[@]}"; do
	# shellcheck disable=SC2086 # words
	begin "$name" record -F 99 --no-symbols -- "$workloads/"${commands[$name]}
	recorders[$name]=$recorder
done
ok "… which the kernel has" objects_are there objects
kill -KILL "$victim"
wait "$victim" 2>/dev/null
ok "of one that is killed no program, map or link is left" wait_until objects_are freed objects
is "… nor an event, with what it had started" "$(kernel_objects "${spin:-none}")" ""
is "… nor a pinned object, of any of the ten" "$(pinned)" "$(<pinned.before)"
is "… nor half a profile under its name" \
	"$(find . -name 'killed*' -not -name '*.ready' -not -name '*.err')" ""
for name in "${!commands[@]}"; do
	recorder=${recorders[$name]}
	finish "$name" 0
done
for name in "${whole[@]}"; do
	kill -INT "${recorders[$name]}"
done
for name in "${whole[@]}"; do
	recorder=${recorders[$name]}
	finish "$name" 0
done
kill "$spin" 2>/dev/null
is "ten at once: nothing is lost" "$(grep -h '^  "lost":' ./*.stats |
	tr -d ' ,\n')" "$(printf '"lost":0%.0s' {1..9})"
for name in "${!commands[@]}"; do
	judge "ten at once: $name has its own processes alone" "$name.json.gz" "$name" <<'CODE'
wanted = {"shares": {"shares"}, "threads": {"threads", "worker-a", "worker-b"},
          "fork_exec": {"fork_exec", "only-forked", "other-name"},
          "short_threads": {"short_threads", *(f"short-{i}" for i in range(20))}}[args[0]]
names = [t["name"] for t in p["threads"]]
expect(set(names) == wanted and len(names) == len(wanted), names)
CODE
done
for name in "${whole[@]}"; do
	judge "ten at once: $name has all that ran, the others but not itself" "$name.json.gz" \
		"${recorders[$name]}" "${recorders[all-1]}" "${recorders[all-5]}" <<'CODE'
pids = {t["pid"] for t in p["threads"]}
expect({pid for pid in args[1:] if pid != args[0]} <= pids, "another recorder is missing")
expect(args[0] not in pids, "itself")
names = {t["name"] for t in p["threads"]}
expect({"shares", "worker-a", "worker-b", "other-name", "short-19", "spin"} <= names, names)
CODE
done

# 2,000 libraries, each with a build id and a function of its own.
mkdir libraries
python3 - "$workloads/library.so" 2000 <<'CODE'
import re, subprocess, sys
data = open(sys.argv[1], "rb").read()
notes = subprocess.run(["readelf", "-n", sys.argv[1]], capture_output=True, text=True).stdout
old = bytes.fromhex(re.search(r"Build ID: (\w+)", notes)[1])
assert data.count(old) == 1 and b"library_inner" in data
for i in range(int(sys.argv[2])):
    with open(f"libraries/lib-{i:04}.so", "wb") as file:
        file.write(data.replace(old, old[:-4] + i.to_bytes(4, "big"))
                   .replace(b"library_inner", b"inner_%07d" % i))
CODE
mkfifo ready
exec 4<>ready
start "$workloads/many_libraries" libraries/*.so >ready
mapped=$started
read -r _ <&4
ok "2,000 executable mappings" test "$(grep -c ' r-xp .*/libraries/' "/proc/$mapped/maps")" = 2000
begin mapped attach -p "$mapped"
work_on "$mapped" 500
kill -INT "$recorder"
finish mapped 0
kill "$mapped"
is "2,000 mappings: nothing is lost, no stack waits or ends early" \
	"$(stat_of mapped lost) $(stat_of mapped unknown) $(stat_of mapped truncated)" "0 0 0"
judge "2,000 mappings: whole stacks with the right names in the right files" mapped.json.gz <<'CODE'
user = [[f for f in frames if f["category"] != "Kernel"] for _, _, _, frames in samples()]
expect(len(user) > 30, len(user))
chain = ["main", "work_all", "library_work"]
seen, wrong = set(), []
for frames in user:
    names = [f["name"] for f in frames]
    at = next((i for i, f in enumerate(frames) if (f["lib"] or "").startswith("lib-")), None)
    if names[0] != "_start" or (at is not None and names[at - 2:at + 1] != chain):
        wrong.append(names)
    for f in frames if at is not None else []:
        if f["name"].startswith("inner_"):
            seen.add(f["lib"])
            if f["lib"] != f"lib-{int(f['name'][6:]):04}.so":
                wrong.append((f["lib"], f["name"]))
expect(not wrong, (len(wrong), wrong[:3]))
expect(len(seen) > 20, len(seen))
CODE

# Short-lived processes.
cp /bin/true brief-one
begin storm record -a --no-symbols --all-threads -F 99
"$workloads/many_processes" 300 100 ./brief-one >pids
# Waiting records take memory, too, and more of it on a busier machine. But leftovers of processes
# would add up with each storm.
for ((i = 0; i < 5; i++)); do
	before=$(rss_kib "$recorder") forks=$(fork_count)
	"$workloads/many_processes" 300 100 ./brief-one >>pids
	grown=$(($(rss_kib "$recorder") - before)) forks=$(($(fork_count) - forks))
	[ $grown -ge $((forks * 8)) ] || break
done
ok "what a process leaves behind is 8 KiB at most" test "$grown" -lt $((forks * 8))
kill -INT "$recorder"
finish storm 0
is "600 processes and more at 100 a second: nothing is lost" "$(stat_of storm lost)" 0
judge "… and each is listed, with its name and its life" storm.json.gz <<'CODE'
started = open("pids").read().split()
expect(len(set(started)) >= 600, len(set(started)))
found = {t["pid"]: t for t in p["threads"] if t["name"] == "brief-one"}
expect(set(found) == set(started), sorted(set(started) ^ set(found))[:5])
expect(len([t for t in p["threads"] if t["name"] == "brief-one"]) == len(started), "twice")
expect(all(0 < t["registerTime"] <= t["unregisterTime"] for t in found.values()), "lives")
CODE

# Kernel objects and memory of the recorder, for one thread and for 10,000, once the program that
# visits sleeping threads is loaded, too.
cost_of() { # PID
	echo "$(kinds "$1")$(sed -n 's/^memlock:[[:space:]]*//p' "/proc/$1/fdinfo/"* |
		awk '{ sum += $1 } END { print sum }')"
}
settled_cost() { # PID WORKER
	local now='' before
	until [ "$now" = "${before-}" ] && [ -n "$now" ]; do
		before=$now
		work_on "$2" 300
		now=$(cost_of "$1")
	done
	echo "$now"
}
declare -A cost memory
for count in 1 10000; do
	start "$workloads/many_threads" "$count" >ready
	read -r _ <&4
	begin "threads-$count" attach --all-threads -p "$started"
	is "threads, $count: said to be ready" "$(<"threads-$count.ready")" ready
	cost[$count]=$(settled_cost "$recorder" "$started")
	memory[$count]=$(rss_kib "$recorder")
	kill -INT "$recorder"
	finish "threads-$count" 0
	kill "$started"
	judge "threads, $count: all are listed, and the one that works is sampled" \
		"threads-$count.json.gz" "$count" <<'CODE'
names = [t["name"] for t in p["threads"]]
expect(len(names) == int(args[0]), len(names))
# Threads with equal names are told apart by their tids.
sleepers = [name for name in names if name.split()[0] == "sleeper"]
expect(len(sleepers) == int(args[0]) - 1, len(sleepers))
expect(len({t["tid"] for t in p["threads"]}) == len(names), "tids")
expect(within("main_work", thread("many_threads")) > 5, len(samples()))
CODE
done
is "10,000 threads: no more programs, maps, events or kernel memory than for one" \
	"${cost[10000]}" "${cost[1]}"
ok "… and 4 KiB a thread at most" test $((memory[10000] - memory[1])) -lt 40000
echo "# ${cost[1]} bytes; ${memory[1]} and ${memory[10000]} KiB"

done_testing
