#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Latencies, and the filter by parallelism, of a recording whose threads are known. Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

# 60 ms of one thread, then 40 ms of it and of another, a fifth of an interval later.
for ms in {100..199}; do
	function=alone
	[ "$ms" -lt 160 ] || function=both
	printf 'app 7/7 [000] 5.%s000: 1000000 cpu-clock:\n\t10 %s+0x0 (/bin/app)\n\n' "$ms" $function
	[ $function = alone ] ||
		printf 'app 7/8 [001] 5.%s200: 1000000 cpu-clock:\n\t10 both+0x0 (/bin/app)\n\n' "$ms"
done >script.txt
"$PROF" convert -q script.txt -o p.json.gz

is "latencies, and the mean parallelism" \
	"$("$PROF" report --sort latency --format csv p.json.gz | cut -d, -f1,5,6,9-11)" \
	'function,self,total,latency,total_latency,parallelism
"alone",60,60,60,60,1
"both",80,80,40,40,2'
is "in JSON and ms" "$("$PROF" report --sort latency --format json --unit ms --by thread p.json.gz |
	grep -o '"tid".*' | sed 's/"thread_title.*//; s/"[a-z]*_error": [0-9.]*, //g')" \
	'"tid": 7, "process": "app", "pid": "7", "self": 100, "total": 100, "latency": 80, "total_latency": 80, "parallelism": 1.25, 
"tid": 8, "process": "app", "pid": "7", "self": 40, "total": 40, "latency": 20, "total_latency": 20, "parallelism": 2, '
run "$PROF" report --sort latency p.json.gz
like "as text, in shares of all latencies" "$out" \
	$'\n LATENCY  TOTAL LATENCY  PARALLELISM .*\n  60.0 % +60.0 % +1.00 +42.9 % +42.9 %  alone .*\n  40.0 % +40.0 % +2.00 +57.1 % +57.1 %  both '
like "with what they add up to" "$out" '1.40 threads ran at a time; latencies add up to 0.1 s'
is "by parallelism" "$("$PROF" report --by parallelism --format csv p.json.gz | cut -d, -f1,2,6)" \
	$'threads,self,latency\n1,60,60\n2,80,40'
is "without rows of a small share" \
	"$("$PROF" report --by parallelism --min 50 --format csv p.json.gz | cut -d, -f1,2,6)" \
	$'threads,self,latency\n2,80,40'

weights() { # OPTION...
	"$PROF" report --by function --format csv "$@" p.json.gz | awk -F, 'NR > 1 { print $1, $5 }' | paste -sd,
}
is "one thread at a time" "$(weights --parallelism 1)" '"alone" 60'
is "two" "$(weights --parallelism 2)" '"both" 80'
is "two or more" "$(weights --parallelism 2-)" '"both" 80'
is "one to three" "$(weights --parallelism 1-3)" '"both" 80,"alone" 60'
is "threads that are not selected run, too" "$(weights --parallelism 2 --thread 8)" '"both" 40'
is "prof script takes the same filter" "$("$PROF" script --parallelism 1 p.json.gz | grep -c alone)" 60
ok "so does prof convert" "$PROF" convert -q --parallelism 2 p.json.gz -o two.json.gz
is "which leaves them" "$("$PROF" report --by function --format csv two.json.gz | cut -d, -f1,5 | tail -1)" '"both",80'

waits=$golden/waits.json
is "waits have no latency" "$("$PROF" report --sort latency --by category --format csv "$waits" | grep -c Idle)" 0
refuses "not even with --include-idle" 2 'prof report: --include-idle: waits have no latency' \
	"$PROF" report --sort latency --include-idle "$waits"
refuses "nor with the critical path" 2 'prof report: --critical-path: has no latencies' \
	"$PROF" report --sort latency --critical-path "$waits"
refuses "which no filter divides" 2 'prof report: --critical-path: ' \
	"$PROF" report --parallelism 1 --critical-path "$waits"
for bad in 0 x 3-2 -2 1-x 2-0 ''; do
	refuses "--parallelism '$bad'" 2 "--parallelism $bad: " \
		"$PROF" report --parallelism="$bad" p.json.gz
done
refuses "a tree by parallelism" 2 '--by parallelism: is a table' \
	"$PROF" report --by parallelism --tree p.json.gz
refuses "another order of it" 2 '--by parallelism: is a table' \
	"$PROF" report --by parallelism --sort total p.json.gz
refuses "no sample" 125 'no matching samples' "$PROF" report --parallelism 3 p.json.gz

echo 'main;work 5' >p.folded
for option in --sort=latency --by=parallelism --parallelism=1; do
	refuses "$option of a profile without times" 125 \
		'p.*: --sort latency and --parallelism: the profile has no times' \
		"$PROF" report $option p.folded
done
done_testing
