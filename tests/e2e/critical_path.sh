#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --critical-path: what made a command take so long.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

# Times of the path and of functions on it, in ms: `times` and `on`. Other programs may keep these
# waiting for a CPU, so shares are those of the time that the path ran.
cat >path.py <<'CODE'
import json
report = json.load(open("report.json"))
times = report["critical_path"]
on = {}
for row in report["rows"]:
    on[row["function"]] = on.get(row["function"], 0) + row["total"]
ran = times["running_ms"]
def parts():
    return [(start, end, data, t["name"]) for t in p["threads"]
            for _, marker, start, end, data in check_profile.markers(p, t)
            if marker == "Critical path" and not t["name"].endswith(" (critical path)")]
def expect_whole():
    found = parts()
    wall = max(end for _, end, _, _ in found) - min(start for start, _, _, _ in found)
    total = sum(data["onPath"] for _, _, data, _ in found)
    expect(abs(total - wall) <= 0.001 * wall, f"{total} of {wall} ms")
    expect(abs(times["total_ms"] - wall) <= 0.001 * wall, f"{times} of {wall} ms")
    expect(times["unknown_ms"] == 0, times)
CODE
rows_of() { # FILE
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["rows"])' "$1"
}
record_path() { # NAME ARGUMENT...
	local name=$1
	shift
	record "$name" 0 --critical-path -- "$workloads/path_shapes" "$@"
	summary=$err
	printed=$out
	"$PROF" report --critical-path --format json --sort total "$name.json.gz" >report.json
}
judge_path() { # DESCRIPTION FILE [ARGUMENT...]
	cat path.py - >judgement.py
	judge "$@" <judgement.py
}

record_path pipeline pipeline
judge_path "of a pipeline, the slowest process is the path" pipeline.json.gz <<'CODE'
expect_whole()
expect(on["transform"] > 0.85 * ran, (on["transform"], ran))
CODE
like "the path is summed up" "$summary" 'critical path: [0-9.e+]* s: .*path_shapes [0-9.]* %'
like "with functions" "$summary" 'on the critical path: .*\(path_shapes\) [0-9.]* %'
like "before the file" "$(tr '\n' '|' <<<"$summary")" 'hottest: .*critical path: .*wrote '

record_path convoy convoy
judge_path "of threads with a lock, what they do with it is the path" convoy.json.gz <<'CODE'
expect_whole()
expect(on["update_shared"] > 0.85 * ran, (on["update_shared"], ran))
CODE

judge "and its row has the hand-overs, with both stacks" convoy.json.gz <<'CODE'
row = [t for t in p["threads"] if t["name"].endswith(" (critical path)")][0]
names = [(name, data) for _, name, _, _, data in check_profile.markers(p, row)]
expect({"Critical path", "Hand-over"} == {name for name, _ in names}, {name for name, _ in names})
found = [data for name, data in names if name == "Hand-over" and "cause" in data and
         "update" in data.get("wait", "")]
stacks = [[f["name"] for f in check_profile.stack_frames(p, data["cause"]["stack"])]
          for data in found]
expect(any("update_shared" in stack for stack in stacks), (names[:5], stacks[:5]))
tids = {f"path_shapes {t['tid']}" for t in p["threads"]}
expect({data["waker"] for data in found} | {data["woken"] for data in found} <= tids, found[:5])
CODE

record_path build build
judge_path "of jobs side by side, the longest is on the path, and what comes after" build.json.gz <<'CODE'
expect_whole()
expect(abs(on["compile_large"] / ran - 2 / 3) < 0.05, (on["compile_large"], ran))
expect(abs(on["link_all"] / ran - 1 / 3) < 0.05, (on["link_all"], ran))
expect(on.get("compile_small", 0) < 0.05 * ran, on.get("compile_small"))
# 0.2 s of 0.6 s are saved, or 0.1 s.
change = {row["if"]: row["ms"] / times["replay_ms"] - 1 for row in times["forecasts"]}
expect(abs(change["compile_large takes half its time"] + 1 / 3) < 0.03, change)
expect(abs(change["link_all takes half its time"] + 1 / 6) < 0.03, change)
expect(abs(change["each thread has a CPU"]) < 0.03, change)
CODE
run "$PROF" report build.json.gz
like "the first screen sums the path up" "$out" "critical path: .*on the critical path: "
run "$PROF" report --critical-path build.json.gz
like "changes are predicted" "$out" ' %.*  if link_all takes half its time'
like "the serial part is told" "$out" 'parallel: .* alone on one CPU: [0-9.]* % of the path: path_shapes'

# Others use the CPUs most of the time: predictions are those of a machine without them.
load=()
for ((i = 0; i < 3 * $(nproc); i++)); do
	timeout 60 sh -c 'while :; do :; done' &
	load+=($!)
done
record_path starved build
kill "${load[@]}"
wait "${load[@]}" 2>/dev/null
judge_path "predictions are those without background load" starved.json.gz <<'CODE'
expect_whole()
base = times["replay_ms"]
expect(base < 0.8 * times["total_ms"], times)
ms = {row["if"]: (row["ms"], row["path_alone_ms"]) for row in times["forecasts"] if "path_alone_ms" in row}
expect(ms and all(0 < ms <= base and 0 < path <= base for ms, path in ms.values()), (base, ms))
link, path = ms["link_all takes half its time"]
expect(abs(link / base - 5 / 6) < 0.03 and abs(path / base - 5 / 6) < 0.1, (base, ms))
CODE
run "$PROF" report --critical-path starved.json.gz
like "without seconds" "$out" 'alone on the machine, it would take .*predicted change of that time:.* % +if link_all'

# A virtual machine that does not get its CPUs for a while counts that as the path's: the best of three.
for _ in 1 2 3; do
	record_path barrier barrier 100
	judge_path "of stages of two threads, the path is whole" barrier.json.gz <<'CODE'
expect_whole()
CODE
	python3 -c 'import json, sys
print(json.load(open("report.json"))["critical_path"]["running_ms"] / float(sys.argv[1]))' "${printed% *}" >>ratios
done
is "of stages of two threads, those that end last are the path" \
	"$(python3 -c 'ratios = [float(line) for line in open("ratios")]
print(min(abs(ratio - 1) for ratio in ratios) < 0.03 or ratios)')" True

# Commands side by side, of which the second takes longer, then one more.
cat >build.sh <<'CODE'
"$1" 40 &
"$1" 160 &
wait
"$1" 80
CODE
record steps 0 --critical-path -- sh build.sh "$workloads/fixed_work"
unlike "a recursion is one caller" "$err" 'from descend [1-9][0-9][0-9]'
like "commands are the steps" "$err" \
	'critical path: .*fixed_work [0-9.]* % \(160 [0-9.]* %, 80 [0-9.]* %'
"$PROF" report --critical-path --format json --sort total steps.json.gz >report.json
judge_path "and are predicted" steps.json.gz <<'CODE'
expect_whole()
change = {row["if"]: row["ms"] / times["replay_ms"] - 1 for row in times["forecasts"]}
second = change["all of fixed_work 160 takes half its time"]
third = change["all of fixed_work 80 takes half its time"]
expect(abs(second + 1 / 3) < 0.06 and abs(third + 1 / 6) < 0.06, change)
# On an idle machine, it is the whole path.
expect(change.get("all of fixed_work takes half its time", -0.5) < -0.4, change)
expect("all of fixed_work 40 takes half its time" not in change, change)
CODE
# One row has the path of all threads, in times.
judge_path "the profile has a row of the path" steps.json.gz <<'CODE'
rows = [t for t in p["threads"] if t["name"].endswith(" (critical path)")]
expect(len(rows) == 1, [t["name"] for t in rows])
samples = rows[0]["samples"]
expect(samples["weightType"] == "tracing-ms", samples["weightType"])
expect(abs(sum(samples["weight"]) - times["total_ms"]) < 0.001 * times["total_ms"],
       (sum(samples["weight"]), times["total_ms"]))
CODE
errors_of() { # ARGUMENT...: of the largest rows, which other views must show, too
	"$PROF" report --by function --errors --limit 3 "$@" | sed -n 's/  *$//; s/^ *[0-9.]* ±\([0-9.]* %.*\)/\1/p'
}
is "whose sampling error is that of the report" "$(errors_of --critical-path steps.json.gz)" \
	"$(errors_of --event 'critical path' --include-idle steps.json.gz)"
"$PROF" convert steps.json.gz -o again.json.gz 2>/dev/null
"$PROF" report --event 'critical path' --format json steps.json.gz >first.json
"$PROF" report --event 'critical path' --format json again.json.gz >second.json
is "which a conversion keeps" "$(rows_of first.json)" "$(rows_of second.json)"

# Programs that call a helper in several places, beside others with other parts.
compile_path() { # NAME [OPTION...]
	gcc -O1 -g -I "$root" "${@:2}" "$root/tests/workloads/path/$1.c" -o "$1"
}
share_of() { # NAME: its share of the running time on the path, in percent
	python3 -c 'import json, re, sys
times = json.load(open("report.json"))["critical_path"]
shares = re.findall(re.escape(sys.argv[1]) + r" ([0-9.]+) %", sys.stdin.read())
print(round(max(map(float, shares), default=0) * times["total_ms"] / times["running_ms"]))' "$1"
}
record_cause() { # NAME COMMAND...
	record "$1" 0 --critical-path -- "${@:2}"
	summary=$err
	"$PROF" report --critical-path --format json "$1.json.gz" >report.json
}
compile_path rows -fopenmp
record_cause openmp ./rows
ok "of threads with OpenMP, the rows that take longest are named" test "$(share_of heavy_row <<<"$summary")" -ge 70
unlike "and its threads are not called by their libraries" \
	"$("$PROF" report --critical-path openmp.json.gz | head -n 2)" 'libgomp'
compile_path ring
record_cause io_uring ./ring
ok "of a reader by io_uring, the writer is named" test "$(share_of produce <<<"$summary")" -ge 80
printf '%s\n' 10 20 120 30 >list
record_cause xargs xargs -a list -P 2 -n 1 "$workloads/fixed_work"
ok "of commands of xargs, the longest is named" test "$(share_of 120 <<<"$summary")" -ge 75

for seed in 1 4 8 16; do
	"$PROF" record -q --critical-path --raw random.cap -- "$workloads/path_random" $seed
	run "$built/e2e/path_sums" random.cap
	is "the path of random program $seed adds up" "$status" 0
	[ "$status" = 0 ] || diagnose "$out"
done

# Names that tell nothing, and one that is too long.
strip -o bare "$workloads/fixed_work"
record bare 0 --critical-path -- ./bare 60
like "a function without a name is told by its address" "$err" 'on the critical path: fun_'
unlike "but does not count as a cause" "$err" 'from fun_'
long=$(printf 'a_function_with_a_long_name_%.0s' 1 2 3 4 5)
printf 'static __attribute__((noipa)) void %s(void) { for (volatile int i = 0; i < 100000000; i++); }
int main(void) { %s(); }\n' "$long" "$long" >long.c
gcc -O1 -g long.c -o long
record long 0 --critical-path -- ./long
like "a long name is cut" "$err" 'on the critical path: a_function_[a-z_]*…'
run "$PROF" report --critical-path long.json.gz
like "also in predictions" "$out" 'if a_function_[a-z_]*… takes half its time'

record sleep 0 --critical-path -- sleep 0.3
"$PROF" report --critical-path --format json sleep.json.gz >report.json
judge_path "a sleep is its own cause" sleep.json.gz <<'CODE'
expect_whole()
expect({data["step"] for _, _, data, _ in parts()} == {"sleep"}, parts())
slept = [data for _, _, data, _ in parts() if data["does"] == "[clock_nanosleep]"]
expect(sum(data["onPath"] for data in slept) >= 299, slept)
expect(times["waiting_ms"] >= 299, times)
expect({data.get("waker", "interrupt") for data in slept} == {"interrupt"}, slept)
CODE

# A thread that is woken while it still leaves its CPU was woken nevertheless.
record_path naps naps 1000
judge_path "waits have their wakers" naps.json.gz <<'CODE'
expect_whole()
found = [data for _, _, data, _ in parts()]
lost = [data for data in found if data["does"] == "[futex]" and not data.get("waker")]
expect(not lost, f"{len(lost)} of {len(found)}: {lost[:3]}")
CODE

# 0.6 s and 0.3 s.
run "$PROF" diff --critical-path --force build.json.gz pipeline.json.gz
like "paths are compared" "$out" 'Less: critical path -'
like "by function" "$out" ' ms .* burn '
"$PROF" diff --critical-path --force --gate total=20% --allow-single pipeline.json.gz build.json.gz \
	>/dev/null 2>&1
is "and a gate judges them" $? 1
refuses "a comparison of a profile without a path" 125 'record one with prof record --critical-path' \
	"$PROF" diff --critical-path pipeline.json.gz "$workloads/../golden/profiles/simple.json"
run "$PROF" report --critical-path --tree --min 0 pipeline.json.gz
like "the path has a tree" "$out" 'transform +path_shapes'
run "$PROF" report --critical-path --by thread pipeline.json.gz
like "and a table" "$out" '^critical path: '

"$PROF" record -q -o none.json.gz -- true
refuses "a question to a profile" 125 'needs a capture' \
	"$PROF" report --critical-path --what-if transform=0.5 pipeline.json.gz
refuses "a question about nothing" 2 'not NAME=FACTOR' \
	"$PROF" report --critical-path --what-if transform pipeline.json.gz
refuses "a profile without a path" 125 'record one with prof record --critical-path' \
	"$PROF" report --critical-path none.json.gz
refuses "a path without waits" 125 'needs waits to be recorded' \
	"$PROF" record --critical-path --no-off-cpu -- touch started
refuses "a path of running processes" 125 'only for a command' \
	"$PROF" attach --critical-path -p $$ -d 1
refuses "a path of several runs" 2 'one run of a command' \
	"$PROF" record --critical-path --iterations 2 -- touch started

# Captures have the wakers, too.
"$PROF" record -q --critical-path --raw pipeline.cap -- "$workloads/path_shapes" pipeline
"$PROF" convert pipeline.cap -o converted.json.gz 2>/dev/null
"$PROF" report --critical-path --format json --sort total converted.json.gz >report.json
judge_path "a capture has the path" converted.json.gz <<'CODE'
expect_whole()
expect(on["transform"] > 0.85 * ran, (on["transform"], ran))
CODE
"$PROF" report --critical-path --what-if transform=0.25 --format json pipeline.cap >asked.json
judge_path "a question is answered" converted.json.gz <<'CODE'
asked = json.load(open("asked.json"))["critical_path"]
answer = [row["ms"] for row in asked["forecasts"] if row["if"] == "transform takes 0.25 of its time"]
# The other processes take 0.1 s and 0.1 s of it.
expect(len(answer) == 1 and answer[0] < 0.5 * asked["replay_ms"], (answer, asked["replay_ms"]))
CODE
refuses "a question about a function that is not there" 125 'no function has this name' \
	"$PROF" report --critical-path --what-if transmute=0.25 pipeline.cap
run "$PROF" convert --critical-path -o path.folded pipeline.cap
like "the path has other forms" "$(cat path.folded)" 'transform'

# A thread has work of its own before it answers: that is no part of the requests.
"$PROF" record -q --critical-path --raw requests.cap -- "$workloads/path_shapes" requests
"$PROF" convert requests.cap -o requests.json.gz 2>/dev/null
"$PROF" report --critical-path --during request --format json --sort total requests.cap >report.json
judge_path "markers have a path of their own" requests.json.gz <<'CODE'
spans = [end - start for t in p["threads"] for _, name, start, end, _ in check_profile.markers(p, t)
         if name == "request"]
expect(len(spans) == 30, len(spans))
expect(abs(times["total_ms"] - sum(spans)) <= 0.001 * sum(spans), (times, sum(spans)))
expect(abs(on["parse"] - 90) < 20 and abs(on["transform"] - 150) < 30, on)
# 8 ms of the thread's own work less the 1 ms and 3 ms of the other thread.
expect(on.get("format", 0) < 10 and on["update_shared"] < 150, on)
expect(not times["forecasts"], times["forecasts"])
CODE
refuses "a path during nothing" 125 'has no such marker' \
	"$PROF" report --critical-path --during nothing requests.cap
done_testing
