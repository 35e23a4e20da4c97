#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pprof files of other tools: which value is shown, in which unit, and that what prof writes of one
# says the same. Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

pprof_file() {
	python3 "$root/tests/cli/pprof_file.py" "$@"
}
for name in heap heap-later allocs delays micro counts cpu-time cpu-samples labels runs drop wall nameless; do
	pprof_file make $name $name.pb.gz
done

# The first line and the heaviest row of a report.
shown() { # FILE ARGUMENT...
	run "$PROF" report --no-config --by function --errors --limit 1 "$@"
	printf '%s\n' "$out" | sed -n '1s/.*[:,] \([0-9]* samples*\)/\1/p; 5s/  */ /gp'
}
is "without a default, the last type is shown, in its unit, by samples of half a megabyte" "$(shown heap.pb.gz)" \
	"2 samples of inuse_space (15 MB), 100.0 % named
 66.7 ±18.3 % 66.7 ±18.3 % steady app a.c:14"
is "the file's default is shown" "$(shown allocs.pb.gz)" \
	"3 samples of alloc_space (918 MB), 100.0 % named
 98.0 ±0.8 % 98.0 ±0.8 % churn app a.c:11"
is "times that are measured have no error of sampling" "$(shown delays.pb.gz)" \
	"2 samples of delay (0.1 s), 100.0 % named
 98.5 % 98.5 % wait app a.c:13"
is "microseconds with a Greek letter" "$(shown micro.pb.gz)" \
	"1 sample of wait (0.0985 s), 100.0 % named
 100.0 % 100.0 % wait app a.c:12"
is "counts of samples have the error of so many samples" "$(shown counts.pb.gz)" \
	"2 samples of samples (100), 100.0 % named
 50.0 ±9.6 % 50.0 ±9.6 % a app a.c:11"
run "$PROF" report --no-config cpu-time.pb.gz
like "times that are multiples of the period are the clock's" "$out" '^app: 0\.080 s, 2 samples of clock \(8 ticks\)'
run "$PROF" report --no-config cpu-samples.pb.gz
like "samples of a period of time are the clock's" "$out" '^app: 0\.090 s, 2 samples of clock \(8 ticks\)'
run "$PROF" report --no-config heap.pb.gz
like "a heap has no duration" "$out" '^app: 2 samples of inuse_space \(15 MB\).*'$'\n''times: none'$'\n'
is "an event can be chosen" "$(shown heap.pb.gz --event inuse_objects)" \
	"2 samples of inuse_objects (89), 100.0 % named
 89.9 % 89.9 % steady app a.c:14"
run "$PROF" info heap.pb.gz
like "info lists all events" "$out" $'\nEvents:\n.*  inuse_objects +2 samples, 89 (count|occurrences)\n  inuse_space +2 samples, [0-9]+ bytes\n'
like "types of one name are told apart" "$(shown wall.pb.gz --event wall/nanoseconds)" \
	"wall/nanoseconds \\(2e-06 s\\)"

run "$PROF" report --no-config --by function --errors --unit bytes --limit 1 heap.pb.gz
like "--unit bytes" "$out" '10 MB ±2.7 MB  10 MB ±2.7 MB  steady'
run "$PROF" report --no-config --unit ms --format csv delays.pb.gz
like "--unit ms of an event that measures time" "$out" $'\n"wait","app","a.c",13,98.5,98.5,0,0,3\n'
refuses "--sources of a profile" 125 '--sources: heap.pb.gz: needs a capture' "$PROF" convert --sources -o x.json heap.pb.gz
refuses "--unit ms of bytes" 2 'samples of inuse_space do not measure time' "$PROF" report --no-config --unit ms heap.pb.gz
refuses "--unit bytes of times" 2 'samples of delay do not measure memory' \
	"$PROF" report --no-config --unit bytes delays.pb.gz
run "$PROF" report --no-config --format json heap.pb.gz
like "JSON names the unit" "$out" '"event": "inuse_space", "unit": "bytes", .*"self": 10000000'

for name in heap delays; do
	"$PROF" convert --no-config $name.pb.gz -o - --to folded | sed 's/^app;all;//' >$name.folded
done
is "collapsed stacks have the default value" "$(cat heap.folded delays.folded)" \
	$'main;leaky 5000000\nmain;steady 10000000\nmain;lock 1500000\nmain;wait 98500000'

# Differences of amounts: what another function allocates changes nothing for this one.
diffed() { # ARGUMENT...
	run "$PROF" diff --no-config "$@"
	printf '%s\n' "$out" | sed 's/  */ /g'
}
is "two heaps: bytes in use, and the error of sampling" "$(diffed heap.pb.gz heap-later.pb.gz)" \
	"A: heap.pb.gz, 1 run of 15 MB
B: heap-later.pb.gz, 1 run of 40 MB
More: inuse_space +166.7 % (+73.5 … +309.8), one run per side
One run per side: only the sampling error is known

 A B DIFFERENCE P FUNCTION IN
 * 5.0 MB 30 MB +25 MB (+17 MB … +33 MB) <0.001 leaky app
 10 MB 10 MB +0 B (-6.3 MB … +6.3 MB) 1.000 steady app"
like "two heaps: another event" "$(diffed --event inuse_objects heap.pb.gz heap-later.pb.gz)" \
	$'\nNo clear difference: inuse_objects \\+0.0 %.*\n 80 80 \\+0 \\(\\+0 … \\+0\\) 1.000 steady app'
like "two heaps: per second" "$(diffed --metric rate heap.pb.gz heap-later.pb.gz)" 'inuse_space a second \+166.7 %'
run "$PROF" diff --no-config --format json heap.pb.gz heap-later.pb.gz
is "two heaps: as JSON" "$(python3 -c '
import json, sys
diff = json.load(sys.stdin)
print(*[diff["total"][key] for key in ("metric", "event", "unit")], diff["total"]["b"]["amounts"])
print(*[(row["function"], row["differs"], row["amount"]["estimate"]) for row in diff["rows"]])' <<<"$out")" \
	"amount inuse_space bytes [40000000]
('leaky', True, 25000000) ('steady', False, 0)"
run "$PROF" diff --no-config --gate total=1% heap.pb.gz heap-later.pb.gz
is "one run a side decides no gate" "$status" 3
run "$PROF" diff --no-config --allow-single --gate total=1% heap.pb.gz heap-later.pb.gz
is "one run a side, allowed: only sampling may err" "$status" 1

# A file that prof writes of another says the same: directly, and by way of the Firefox Profiler's format.
for name in heap allocs delays counts cpu-time cpu-samples labels runs wall; do
	pprof_file show $name.pb.gz >wanted
	"$PROF" convert --no-config $name.pb.gz -o again.pb.gz
	is "$name: the same again" "$(pprof_file show again.pb.gz)" "$(<wanted)"
	"$PROF" convert --no-config $name.pb.gz -o $name.json.gz
	"$PROF" convert --no-config $name.json.gz -o again.pb.gz
	is "$name: the same by way of the Firefox Profiler's format" "$(pprof_file show again.pb.gz)" "$(<wanted)"
	"$PROF" convert --no-config $name.pb.gz -o $name.html
	"$PROF" convert --no-config $name.html -o again.pb.gz
	is "$name: the same by way of a page" "$(pprof_file show again.pb.gz)" "$(<wanted)"
done
run "$PROF" convert --no-config heap.pb.gz -o heap.json
like "bytes are bytes in the Firefox Profiler" "$(<heap.json)" '"weightType": ?"bytes"'

# Code without a name: its address, from which pprof finds the name in the file, and no line.
"$PROF" convert --no-config nameless.pb.gz -o again.pb.gz
is "code without a name: its address, as in the file read" "$(pprof_file show again.pb.gz)" "$(pprof_file show nameless.pb.gz)"
is "code without a name: the mapping does not claim names, either" "$(pprof_file mappings again.pb.gz)" "0x402000-0x40b000 at 0x1000 /bin/app: "
"$PROF" convert --no-config labels.pb.gz -o again.pb.gz
is "a mapping states what all of its code has" "$(pprof_file mappings again.pb.gz)" \
	"0x1000-0x9000 at 0x0 /bin/app: functions files lines inlines"

# Texts of gperftools and Java keep what pprof keeps of them: how they were sampled, for how long, sizes of blocks.
for file in heap go java-contention; do
	"$PROF" convert --no-config "$root/tests/fuzz/corpus/gperftools/$file" -o again.pb.gz
	pprof_file show again.pb.gz | sed -n 's/^sample \(.*\]\) .* \[\(.*\)\]$/\1 \2/p; /^period/p; /^duration/p'
done >again
is "texts of gperftools: period, duration, size of blocks" "$(<again)" "period 1 of space/bytes
[0, 0, 2000, 20000000] bytes=10000
[50, 13107200, 50, 13107200] bytes=262144
period 524288 of space/bytes
[513, 524800, 1025, 1049600] bytes=1024
duration 6019923000000
period 100 of contentions/count
[200, 300000] "

# Frames below a dropped one belong to its caller, as with pprof; a stack keeps its outermost frame.
"$PROF" convert --no-config drop.pb.gz -o - --to folded | sed 's/^app;all;//' >drop.folded
is "drop_frames and keep_frames" "$(<drop.folded)" $'main;index 9000\nmain;malloc_keep;copy 1\nmain;parse 1000\nmalloc 2'

# Go programs, as their own profiler shows them: no wrappers, and one name for both calling conventions. A
# wrapper that nothing calls is all there is.
pprof_file make go go.pb.gz
"$PROF" convert --no-config go.pb.gz -o again.pb.gz
is "wrappers of Go's compiler are left out" \
	"$(pprof_file show again.pb.gz | sed -n 's/^sample \[\([0-9]*\),[^]]*\] \(.*\) \[.*/\1 \2/; s/ \/src\/main.go:[0-9]* of [0-9]*//gp')" \
	$'1 main.main\n2 main.T.put;main.main\n3 main.T.get;main.main\n4 main.work;main.run;main.main'
like "but not the outermost function" "$(pprof_file show again.pb.gz)" 'sample \[5, 50000000\] main\.\(\*T\)\.put '

# For Go's compiler, without the kernel's frames: what they did is done by the function that called it.
for format in pb pgo; do
	"$PROF" convert --no-config "$golden/kernel-frames.json" -o kernel.$format
done
is "go build sees the program's frames alone" \
	"$(for format in pb pgo; do pprof_file show kernel.$format | sed -n 's/^sample \(.*\) \[pid.*/\1/p'; done)" \
	$'[1, 1000000] 0x301;0x401;0x500;0x600
[1, 1000000] 0xffffffffd0000000 :0 of 0;0xffffffffc1000010 :0 of 0;0xffffffffd0000000 :0 of 0;0xf;0x20
[1, 1000000] do_read :0 of 0;entry :0 of 0
[1, 1000000] do_read :0 of 0;ext4_read :0 of 0;entry :0 of 0;0x10;0x20
[1, 1000000] 0x10;0x20
[1, 1000000] 0x301;0x401;0x500;0x600
[1, 1000000] 0xf;0x20
[1, 1000000] entry :0 of 0'

run "$PROF" report --no-config --during request=beta labels.pb.gz
like "labels select samples" "$out" '1 sample of clock \(8 ticks\),'
"$PROF" convert --no-config runs.pb.gz -o runs.json
is "samples in a row with the same labels share markers" \
	"$(python3 -c 'import json; m = json.load(open("runs.json"))["threads"][0]["markers"]
print(m["startTime"], m["endTime"], [row.get("number", 0) for row in m["data"]])')" \
	'[0, 0, 20, 20, 30, 30] [20, 20, 30, 30, 40, 40] [0, 512, 0, 512, 0, 512]'
run "$PROF" report --no-config --during request=alpha runs.pb.gz
like "each of them has the labels" "$out" '3 samples of clock'
"$PROF" convert --no-config --sanitize labels.pb.gz -o sanitized.json
run grep -c 'alpha\|beta\|example.org' sanitized.json
is "labels are private" "$out" 0
is "ids and names of labels are those of threads" \
	"$("$PROF" report --no-config --by thread --format csv labels.pb.gz | cut -d, -f1-5 | tr -d '"' | sort)" \
	$'all,0,app,0,14\nall,5,nginx,77,3\npool,9,app,7,2\nthread,tid,process,pid,self'
done_testing
