#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Front-ends' view of a profile: when threads ran, what comes first, what they offer.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

# Time for which a thread's stacks are drawn: each until the next row.
traced=$(
	cat <<'CODE'
def traced_ms(t):
    times = check_profile.sample_times(t) + [None]
    return sum((p["meta"]["interval"] if end is None else end - start)
               for start, end, stack in zip(times, times[1:], t["samples"]["stack"])
               if stack is not None)
CODE
)

record sleeper 0 --no-off-cpu -- python3 -c '
import time
for _ in range(20):
    end = time.process_time() + 0.005
    while time.process_time() < end:
        pass
    time.sleep(0.1)
'
judge "a thread that sleeps is not drawn as one that runs" sleeper.json.gz sleeper.stats <<CODE
$traced
import json
t = max(p["threads"], key=lambda t: len(samples(t)))
drawn, cpu, whole = traced_ms(t), cpu_ms(t), p["meta"]["profilingEndTime"]
expect(whole > 2000, whole)
expect(0.5 * cpu < drawn < 2.5 * cpu and drawn < whole / 2, (drawn, cpu, whole))
expect(check_profile.gap_rows(p, t) >= 20, check_profile.gap_rows(p, t))
table = t["samples"]
expect(table["weightType"] == "tracing-ms", table["weightType"])
expect(0.8 * cpu < sum(table["weight"]) < 1.2 * cpu, (sum(table["weight"]), cpu))
stats = json.load(open(args[0]))
expect(stats["gap_rows"] == check_profile.gap_rows(p), stats["gap_rows"])
expect(stats["samples"] == len(samples()), stats["samples"])
CODE
judge "it is complete, and says so" sleeper.json.gz <<'CODE'
meta = p["meta"]
expect(meta["symbolicated"] is True and meta["symbolicationNotSupported"] is True, "names")
expect(meta["updateChannel"] == "release" and "appBuildID" not in meta, meta.keys())
names = [c["name"] for c in meta["categories"]]
expect("Idle" not in names and "JavaScript" not in names and names[0] == "Other", names)
CODE

printf 'all: a b c d\na b c d:\n\t%s 0.1\n' "$workloads/shares" >Makefile
record make 0 --per-cpu -- make -s -j2
judge "the command is first, whatever its children did; CPUs are last, all are seen" make.json.gz <<'CODE'
types = [(t["processName"], t["processType"]) for t in p["threads"] if t["isMainThread"]]
expect(types[0] == ("make", "default"), types)
expect({kind for _, kind in types[1:]} == {"process"} and len(types) > 4, types)
cpus = [i for i, t in enumerate(p["threads"]) if t["pid"] == "cpus"]
visible = p["meta"]["initialVisibleThreads"]
expect(cpus and cpus[-1] == len(p["threads"]) - 1, cpus)
expect(0 in visible and set(cpus) <= set(visible), visible)
CODE

record all 0 -a --per-cpu -- "$workloads/shares" 0.2
judge "-a: the command is first here, too, though others ran before it" all.json.gz <<'CODE'
first = p["threads"][0]
expect(first["name"] == "shares" and first["processType"] == "default", first["name"])
others = {t["processType"] for t in p["threads"] if t["pid"] != first["pid"]}
expect(others == {"process"}, others)
CODE

start "$workloads/spin" finish 20 >spin.out
spinner=$started
wait_until grep -q ready spin.out
run "$PROF" attach -d 0.3 -o attach.json.gz -p $spinner
is "attach: exit status" "$status" 0
judge "attach: the process is first" attach.json.gz $spinner <<'CODE'
expect(p["threads"][0]["pid"] == args[0], p["threads"][0]["pid"])
expect(p["threads"][0]["processType"] == "default", p["threads"][0]["processType"])
CODE
kill -KILL $spinner

record folded 0 --all-threads -- sh -c 'exec "$@" >/dev/null' sh "$workloads/many_processes" 700 2000 /bin/true
judge "--all-threads: each has its row" folded.json.gz folded.stats <<'CODE'
import json
stats = json.load(open(args[0]))
expect(stats["threads"] == len(p["threads"]) == 701, stats["threads"])
expect(stats["folded_threads"] == 0, stats["folded_threads"])
CODE
record folded 0 -- sh -c 'exec "$@" >/dev/null' sh "$workloads/many_processes" 700 2000 /bin/true
like "the summary says what was folded" "$err" 'for [0-9]+ short-lived ones'
judge "beyond 500 threads, those that came and went share a row" folded.json.gz folded.stats <<'CODE'
import json
stats = json.load(open(args[0]))
folded = [t for t in p["threads"] if check_profile.view(t) == "folded"]
expect(folded and all(t["pid"].endswith("+") and t["isMainThread"] for t in folded), folded)
expect(stats["threads"] == len(p["threads"]) <= 502, stats["threads"])
expect(stats["threads"] - len(folded) + stats["folded_threads"] == 701, stats)
expect(stats["processes"] == len(check_profile.processes(p)), stats["processes"])
expect(stats["samples"] == len(samples()) + len(waits()), stats["samples"])
expect(p["threads"][0]["name"] == "many_processes", p["threads"][0]["name"])
expect(sum(name == "exec" for _, name, *_ in check_profile.markers(p)) >= 700, "exec markers")
CODE
run "$PROF" symbolize -q folded.json.gz -o again.json.gz
is "symbolize reads it: exit status" "$status" 0
judge "and keeps it" again.json.gz folded.json.gz <<'CODE'
before = check_profile.load(args[0])
expect(check_profile.thread_names(p) == check_profile.thread_names(before), "names")
CODE

record unnamed 0 --no-symbols -- "$workloads/shares" 0.2
judge "without names it may be sent to a server" unnamed.json.gz <<'CODE'
expect(p["meta"]["symbolicated"] is False, p["meta"]["symbolicated"])
expect("symbolicationNotSupported" not in p["meta"], "not supported")
CODE
run "$PROF" symbolize -q unnamed.json.gz -o named.json.gz
is "symbolize: exit status" "$status" 0
judge "named later on: rows of gaps and categories stay, and it need not be sent any more" \
	named.json.gz unnamed.json.gz <<'CODE'
before = check_profile.load(args[0])
expect(p["meta"]["symbolicationNotSupported"] is True, "not supported")
expect(p["meta"]["categories"] == before["meta"]["categories"], p["meta"]["categories"])
expect(check_profile.gap_rows(p) == check_profile.gap_rows(before), check_profile.gap_rows(p))
CODE

done_testing
