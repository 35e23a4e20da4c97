#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Rate, duration and CPUs, and the report of --stats on them.
. "$(dirname "$0")/lib.sh"

count_near() { # NAME COUNT MS
	judge "$1: $2 samples in $3 ms" "$1.json.gz" "$2" "$3" <<'CODE'
expect(abs(float(args[1]) / p["meta"]["interval"] / float(args[0]) - 1) < 0.01, p["meta"]["interval"])
spent(float(args[1]), "main", thread("shares"))
CODE
}
record hz 0 -F 199 -- "$workloads/shares" 1
count_near hz 199 1000
judge "-F: the interval in the profile" hz.json.gz \
	<<<'expect(abs(p["meta"]["interval"] - 1000 / 199) < 0.001, p["meta"]["interval"])'
record ms 0 -i 2.5 -- "$workloads/shares" 1
count_near ms 400 1000
judge "-i: the interval in the profile" ms.json.gz \
	<<<'expect(abs(p["meta"]["interval"] - 2.5) < 0.001, p["meta"]["interval"])'
record fast 0 -F 10000 -- "$workloads/shares" 0.5
count_near fast 5000 500

# The recorder may be bound to a CPU; the recorded processes are not.
last_cpu=$(($(getconf _NPROCESSORS_ONLN) - 1))
prof=$PROF
printf '#!/bin/sh\nexec taskset -c 0 "%s" "$@"\n' "$prof" >bound-prof
chmod +x bound-prof
PROF=./bound-prof
record cpus 0 -- taskset -c $last_cpu "$workloads/shares" 0.4
PROF=$prof
count_near cpus 400 400

# A row per CPU: tasks bound to one are in it, and nothing is counted twice.
record per_cpu 0 --per-cpu -- taskset -c $last_cpu "$workloads/shares" 0.4
judge "--per-cpu: what is bound to a CPU is on its row" per_cpu.json.gz $last_cpu per_cpu.stats <<'CODE'
import json
rows = threads_of("cpus")
row = thread(f"CPU {args[0]}")
expect(row in rows and row["processName"] == "CPUs", (row["pid"], row["processName"]))
indexes = [i for i, t in enumerate(p["threads"]) if t["pid"] == "cpus"]
expect(set(indexes) <= set(p["meta"]["initialVisibleThreads"]), p["meta"]["initialVisibleThreads"])
expect(max(indexes) == len(p["threads"]) - 1, indexes)
expect(not any(t["isMainThread"] for t in rows), "a main thread: the front-end would sort by it")
expect({check_profile.view(t) for t in rows} == {"cpu"}, rows[0].keys())
weights = {t["tid"]: check_profile.total_weight(p, t) for t in rows}
stats = json.load(open(args[1]))
expect(sum(weights.values()) == stats["cpu_samples"], f"{weights}, {stats['cpu_samples']}")
expect(weights[row["tid"]] > 0.9 * stats["cpu_samples"], weights)
expect(stats["samples"] == sum(len(samples(t)) for t in p["threads"] if t not in rows) +
       stats["wait_rows"], stats)
expect(stats["processes"] == 1, stats["processes"])
on_cpus = sum(within("main", t) for t in rows)
expect(0 < on_cpus == within("main") / 2, f"{on_cpus}, {within('main')} with threads")
interval = p["meta"]["interval"]
expect(abs(cpu_ms(row) / (weights[row["tid"]] * interval) - 1) < 0.1, cpu_ms(row))
CODE

# Says the samples of each such row.
rows_of_cpus() { # FILE
	gunzip -c "$1" | python3 -c '
import json, sys
print([(t["name"], t["samples"]["timeDeltas"]) for t in json.load(sys.stdin)["threads"] if t["pid"] == "cpus"])'
}
like "samples of that row" "$(rows_of_cpus per_cpu.json.gz)" "CPU $last_cpu"
for options in "" --sanitize; do
	run "$PROF" convert $options per_cpu.json.gz -o per_cpu_again.json.gz
	is "--per-cpu: convert $options keeps the rows" \
		"$(rows_of_cpus per_cpu_again.json.gz)" "$(rows_of_cpus per_cpu.json.gz)"
done
run "$PROF" convert per_cpu.json.gz per_cpu.json.gz -o per_cpu_twice.json.gz
is "--per-cpu: several files have no such rows" "$(rows_of_cpus per_cpu_twice.json.gz)" "[]"

mkfifo ready
"$PROF" record -d 0.5 -o span.json.gz --stats span.stats -- \
	sh -c "echo \$\$ >pid; exec '$workloads/spin' die 60" 2>err >ready &
recorder=$!
read -t 120 -r _ <>ready
wait $recorder
is "-d: exit status" $? 0
ok "-d: it ends, and the command goes on" kill -0 "$(<pid)"
kill -KILL "$(<pid)"
judge "-d: as long as it says" span.json.gz span.stats <<'CODE'
import json
duration = json.load(open(args[0]))["duration_ms"]
last = max(time for _, time, _, _ in samples())
expect(500 <= duration and 0 < last <= duration, f"{duration} ms, last sample at {last} ms")
CODE

record killed 0 -d 0.3 --kill -- sh -c "echo \$\$ >pid; exec '$workloads/spin' die 60"
ok "--kill: the command has ended" wait_until is_gone "$(<pid)"
record stubborn 0 -d 0.3 --kill -- bash -c "trap '' TERM; echo \$\$ >pid; exec '$workloads/spin' die 60"
ok "--kill: a command that ignores SIGTERM has ended, too" wait_until is_gone "$(<pid)"
record early 5 -d 30 -- sh -c 'exit 5'

record stats 0 -- "$workloads/threads" 0.5
judge "--stats: every key, and what can be counted agrees" stats.json.gz stats.stats <<'CODE'
import json
import os
stats = json.load(open(args[0]))
keys = """samples cpu_samples lost lost_by threads processes ring_bytes user_stacks frames
    named_frames fde_frames gap_rows folded_threads recorder_cpu_ms finish_ms file_bytes
    exit_status""".split()
expect(not set(keys) - set(stats), f"missing: {set(keys) - set(stats)}")
with_user = sum(any(f["category"] == "User" for f in frames) for _, _, _, frames in samples())
for key, counted in (("samples", check_profile.sample_count(p)),
                     ("gap_rows", check_profile.gap_rows(p)),
                     ("threads", len(p["threads"])),
                     ("processes", len(check_profile.processes(p))),
                     ("file_bytes", os.stat("stats.json.gz").st_size),
                     ("exit_status", 0),
                     ("lost", sum(stats["lost_by"].values()))):
    expect(stats[key] == counted, f"{key}: {stats[key]}, counted {counted}")
expect(0 < stats["cpu_samples"] <= stats["samples"], stats)
expect(stats["samples"] == len(samples()) + len(waits()), (len(samples()), len(waits())))
expect(stats["wait_rows"] == len(waits()), stats)
expect(0.95 * stats["cpu_samples"] < stats["user_stacks"] <= stats["cpu_samples"], stats)
expect(stats["user_stacks"] == with_user, f"{stats['user_stacks']}, counted {with_user}")
expect(0 < stats["named_frames"] <= stats["frames"], stats)
expect(stats["frames"] >= p["shared"]["frameTable"]["length"] > 0, stats)
expect(stats["ring_bytes"] > 40 * stats["cpu_samples"], stats)
expect(stats["recorder_cpu_ms"] > 0 and stats["finish_ms"] > 0, stats)
own = stats["bpf_programs"]
expect(own["on_tick"]["runs"] >= stats["cpu_samples"], own)
expect(all(min(row["runs"], 64) <= row["timed"] <= row["runs"] for row in own.values()), own)
expect(0 < own["on_tick"]["us_mean"] <= own["on_tick"]["us_max"] <= stats["bpf_us_max"], own)
shown = p["profilerOverhead"][0]["statistics"]
expect(abs(shown["overheadDurations"] / 1000 - stats["bpf_ms"]) < 0.1, shown)
expect(abs(shown["maxOverhead"] - stats["bpf_us_max"]) < 0.01, shown)
expect(shown["minOverhead"] <= shown["meanOverhead"] <= shown["maxOverhead"], shown)
expect(shown["samplingCount"] == own["on_tick"]["runs"], shown)
log = p["profilingLog"][p["threads"][0]["pid"]]
expect(0 <= log["first_tick_ms"] <= log["stopped_ms"] <= stats["duration_ms"] + 0.01, log)
expect(log["unwind_tables"] == stats["unwind_tables"] and log["armed_ms"] == 0, log)
expect(abs(stats["bpf_ms"] - sum(row["ms"] for row in own.values())) < 0.1, stats)
CODE

# More threads than CPUs, more samples than a small ring holds: either all are there, or the rest is
# counted.
record small 0 -F 20000 --ring-size 64K -- "$workloads/threads" 0.5
judge "a small ring: what is missing is counted" small.json.gz small.stats <<'CODE'
import json
stats = json.load(open(args[0]))
total = stats["cpu_samples"] + stats["lost"]
expect(abs(total / 10000 - 1) < 0.1, f"{stats['cpu_samples']} + {stats['lost']} of 10000")
CODE

# On a terminal, one line that is erased; elsewhere nothing.
on_terminal() { # TERM
	TERM=$1 script -qec "'$PROF' record -o terminal.json.gz -- '$workloads/shares' 1.5 >out" /dev/null
}
like "progress: on a terminal" "$(on_terminal xterm)" \
	$'[0-9] s, [0-9,]+ samples, [0-9]+ lost[^\n]*\033\\[K.*samples, 1 thread'
for terminal in dumb ''; do
	unlike "progress: none where TERM is '$terminal'" "$(on_terminal "$terminal")" $'\033'
done

done_testing
