#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Latencies and parallelism of a program that measures itself when its threads ran at a time.
# May run beside others.
. "$(dirname "$0")/lib.sh"

run_report() { # OPTION...: rows by function, in ms
	"$PROF" report --format json --unit ms "$@"
}
# Compares with what the program printed: the ms of its serial part, of its parallel part, and those
# in which two threads ran. A tick is an interval; 5 standard deviations of as many.
agrees() { # FILE...
	python3 - "$@" <<'CODE'
import json, math, sys
serial, parallel, both = map(float, open("told").read().split())
def near(got, wanted, what):
    if abs(got - wanted) > 5 * math.sqrt(max(wanted, 25)) + 10:
        sys.exit(f"{what}: {got} ms, not {wanted}; {serial} {parallel} {both}")
def rows(name):
    return {r["function"]: r for r in json.load(open(name))["rows"]}
if sys.argv[1] == "latency":
    r = rows("latency.json")
    near(r["serial_part"]["total_latency"], serial, "serial part")
    near(r["parallel_part"]["total_latency"], parallel, "parallel part")
    near(r["parallel_part"]["total"], parallel + both, "CPU time of the parallel part")
    mean = (parallel + both) / parallel
    if abs(r["parallel_part"]["parallelism"] - mean) > 0.2 or r["serial_part"]["parallelism"] > 1.1:
        sys.exit(f"parallelism: {r}, not {mean}")
else:
    near(rows("one.json").get("parallel_part", {"total": 0})["total"], parallel - both, "alone")
    near(rows("one.json")["serial_part"]["total"], serial, "serial part")
    near(rows("two.json")["parallel_part"]["total"], 2 * both, "two at a time")
    if "serial_part" in rows("two.json") and rows("two.json")["serial_part"]["total"] > 20:
        sys.exit("the serial part is in what ran in parallel")
CODE
}

record two 0 -- "$workloads/serial_part" 500
printf '%s\n' "$out" >told
run_report --sort latency two.json.gz >latency.json
ok "latencies are the program's own times: $(paste -sd' ' told)" agrees latency
run_report --parallelism 1 two.json.gz >one.json
run_report --parallelism 2- two.json.gz >two.json
ok "so is the time in which one thread ran, and two" agrees filter
run_report --by thread --sort latency two.json.gz >threads.json
ok "latencies of all threads add up to the same" python3 - <<'CODE'
import json
sums = [sum(r["latency"] for r in json.load(open(f))["rows"]) for f in ("latency.json", "threads.json")]
assert abs(sums[0] - sums[1]) < 0.01, sums
CODE
run "$PROF" convert two.json.gz -o two.folded
refuses "a profile without times" 125 \
	'--sort latency and --parallelism: the profile has no times' \
	"$PROF" report --sort latency two.folded
done_testing
