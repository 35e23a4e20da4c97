#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Text of other tools: perf script's, and collapsed stacks in the dialects of those who write them.
# Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

# The first line's samples and the rows of a report, as CSV.
rows() { # FILE ARGUMENT...
	"$PROF" report --no-config --format csv "$@" | cut -d, -f1,2,5,6 | tr -d '"' | tail -n +2
}
summary() { # FILE ARGUMENT...
	"$PROF" report --no-config "$@" | head -1
}

# perf script: brackets in the names of files and functions.
cat >brackets.txt <<'TEXT'
[ET_NET 0] 100/101 [001]  1.000000: 1000000 cpu-clock: 
	    1179 [unknown] (/tmp/gone (deleted))
	    55d0 std::function<void (int)>::operator()(int) const+0x10 (/opt/My App (x86)/lib.so)
	    55e0 main (anonymous) (/tmp/a (b/unmatched)

java main (1) 12.5 100/103 [001]  1.002000: 1000000 cpu-clock: 
	    55d0 java.lang.String.hashCode ([JIT app cache])
	    55f0 no_file

TEXT
is "brackets: functions and files" "$(rows brackets.txt)" '0x1179,gone,1,1
java.lang.String.hashCode,[JIT app cache],1,1
main (anonymous),unmatched,0,1
no_file,,0,1
std::function<void (int)>::operator()(int) const,lib.so,0,1'
is "brackets: threads" "$("$PROF" report --no-config --by thread --format csv brackets.txt | cut -d, -f1,2 | tr -d '"')" \
	$'thread,tid\n[ET_NET 0],101\njava main (1) 12.5,103'
is "a deleted file's address" "$("$PROF" report --no-config --by address --format csv brackets.txt | grep gone | cut -d, -f1)" '"0x1179"'

# Events that are no clock are weighed by their periods.
cat >cycles.txt <<'TEXT'
a.out 100/100 [000]  1.000000:          1 cycles:P: 
	    55d0 warmup+0x10 (/tmp/a.out)

a.out 100/100 [000]  1.000100:     999999 cycles:P: 
	    55e0 hot+0x10 (/tmp/a.out)

a.out 100/100 [000]  1.000200:        100 page-faults: 
	    55f0 faulting (/tmp/a.out)

TEXT
is "periods of cycles" "$(rows cycles.txt)" $'hot,a.out,999999,999999\nwarmup,a.out,1,1'
is "periods of page faults" "$(rows cycles.txt --event page-faults)" 'faulting,a.out,100,100'
refuses "cycles are no time" 2 'samples of cycles:P do not measure time' "$PROF" report --no-config --unit ms cycles.txt
sed -n 7,8p cycles.txt >faults.txt
is "an event alone" "$(summary faults.txt)" 'perf script: 0.001 s, 1 sample of page-faults (100), 100.0 % named'
cat >clock.txt <<'TEXT'
a 1/1 1.000000: 999999 cycles: 
	1 x (/a)

a 1/1 1.001000: 1000000 task-clock:u: 
	1 y (/a)

TEXT
is "the clock is shown where there is one" "$(rows clock.txt)" 'y,a,1,1'

# A thread has the name that most of its samples have, and its process that of the main thread.
cat >renamed.txt <<'TEXT'
a.out 100/100 1.000000: 1000000 cpu-clock: 
	1 x (/a)

a.out 100/101 1.001000: 1000000 cpu-clock: 
	1 x (/a)

help (1) er 100/101 1.002000: 1000000 cpu-clock: 
	1 x (/a)

help (1) er 100/101 1.003000: 1000000 cpu-clock: 
	1 x (/a)

TEXT
threads() { # FILE
	"$PROF" report --no-config --by thread --format csv "$1" | cut -d, -f1-5 | tr -d '"' | tail -n +2
}
is "a renamed thread" "$(threads renamed.txt)" $'help (1) er,101,a.out,100,3\na.out,100,a.out,100,1'
cat >renamed.json <<'TEXT'
{"linux-perf-json-version": 1, "samples": [
{"timestamp": 1000000000, "pid": 100, "tid": 101, "cpu": -1, "comm": "a.out", "callchain": [{"ip": "0x1", "symbol": "x"}]},
{"timestamp": 1001000000, "pid": 100, "tid": 101, "cpu": -1, "comm": "helper", "callchain": [{"ip": "0x1", "symbol": "x"}]},
{"timestamp": 1002000000, "pid": 100, "tid": 101, "cpu": -1, "comm": "helper", "callchain": [{"ip": "0x1", "symbol": "x"}]},
{"timestamp": 1003000000, "pid": 100, "tid": 100, "cpu": -1, "comm": "a.out", "callchain": [{"ip": "0x1", "symbol": "x"}]}]}
TEXT
is "a renamed thread, in perf's JSON" "$(threads renamed.json)" $'helper,101,a.out,100,3\na.out,100,a.out,100,1'
"$PROF" convert --no-config renamed.json -o cpus.json
is "no sample is on a CPU without a number" "$(grep -c '"CPU 0"' cpus.json)" 0

# Ticks whose period no file states are as long as the distance of most of them.
python3 - <<'CODE'
import json
times = [1_000_000_000 + 250_000 * i + (i % 3) * 100 + (10_000_000 if i > 15 else 0) for i in range(20)]
with open("unstated.txt", "w") as file:
    file.writelines(f"a 7 {time / 1e9:.9f}: cpu-clock: \n\t1 x (/a)\n\n" for time in times)
with open("unstated.json", "w") as file:
    json.dump({"linux-perf-json-version": 1, "samples": [
        {"timestamp": time, "pid": 7, "tid": 7, "comm": "a", "callchain": [{"ip": "0x1", "symbol": "x"}]} for time in times]}, file)
CODE
for file in unstated.txt unstated.json; do
	like "the interval of $file" "$("$PROF" info --no-config $file)" 'Interval +0\.25 ms'
done

printf 'a out 7/8 [001] K 1.000: cpu-clock: \n\t2 y (/a)\n\na out 7/8      1.001: cpu-clock: \n\t1 x (/a)\n\n' >misc.txt
is "modes after the ids" "$(threads misc.txt)" 'a out,8,a out,7,2'
printf 'a.out 7/7 1.000: cpu-clock: \n\t2 y (/lib/ld.so)\n\t1 x (/a.out)\n\n' >program.txt
"$PROF" convert --no-config program.txt -o program.pb.gz
is "pprof begins with the program, not with the first file" "$(threads program.pb.gz)" 'a.out,7,a.out,7,1'

# Without times.
cat >timeless.txt <<'TEXT'
java 19983 cycles:
	ffffffff8105f9da native_write_msr_safe ([kernel.kallsyms])

java 19983/19984 [002]     250000 cycles:

	ffffffff8105f9db finish_task_switch ([kernel.kallsyms])
	7f1 start (/bin/java)

TEXT
is "heads without a time, and a stack after an empty line" "$(rows timeless.txt)" \
	'finish_task_switch,[kernel.kallsyms],250000,250000
native_write_msr_safe,[kernel.kallsyms],1,1
start,java,0,250000'
like "heads without a time: said" "$("$PROF" report --no-config timeless.txt)" 'times: none'

# Other records between samples.
cat >records.txt <<'TEXT'
swapper     0     0.000000: PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x1209988) @ 0]: x [kernel.kallsyms]_text
sh   942  2631.797008: PERF_RECORD_MMAP2 942/942: [0x55f8f7430000(0x13000) @ 0x4000 fe:00 247072 0]: r-xp /usr/bin/dash
sh   942  2631.797000:    1000000 cpu-clock:
	1 x (/a)

sh   942  2631.897000:    1000000 cpu-clock:
	1 x (/a)

TEXT
is "mappings are no samples" "$(summary records.txt)" 'perf script: 0.101 s, 2 samples of clock, 100.0 % named'

# Collapsed stacks: a thread first.
printf '%s\n' '[main tid=1];java/lang/Thread.run_[0];Foo.bar_[j] 10' '[pool-1 tid=2];java/lang/Thread.run_[0];Foo.baz_[1] 5' \
	'[kworker/0:1];worker_thread_[k] 4' >threads.folded
printf '%s\n' '[tid=7];start_thread 3' >unnamed.folded
is "a thread of async-profiler without a name" "$("$PROF" report --no-config --by thread --format csv unnamed.folded | cut -d, -f1,2,5 | tr -d '"')" \
	$'thread,tid,self\n,7,3'
is "threads of async-profiler" "$("$PROF" report --no-config --by thread --format csv threads.folded | cut -d, -f1,2,5 | tr -d '"')" \
	$'thread,tid,self\nmain,1,10\npool-1,2,5\nall,0,4'
is "marks of async-profiler" "$(rows threads.folded)" \
	$'Foo.bar,,10,10\nFoo.baz,,5,5\nworker_thread,,4,4\njava/lang/Thread.run,,0,15\n[kworker/0:1],,0,4'
is "the kernel's mark" "$(rows threads.folded --no-kernel | head -3)" $'Foo.bar,,10,10\nFoo.baz,,5,5\n[kworker/0:1],,4,4'
printf '%s\n' 'Foo.main;java.lang.String_[k] 100' 'Foo.main;byte[]_[i] 50' >classes.folded
is "classes of allocations are not the kernel's" "$(rows classes.folded --no-kernel)" \
	$'java.lang.String,,100,100\nbyte[],,50,50\nFoo.main,,0,150'
is "such stacks measure no time" "$(summary classes.folded)" \
	'folded stacks: 2 samples of allocations (150), 100.0 % named'
printf '%s\n' 'Foo.main;java.lang.Object_[i] 100' >locks.folded
is "stacks of locks look like those of allocations" "$(summary locks.folded)" \
	'folded stacks: 1 sample of allocations or locks (100), 100.0 % named'
printf '%s\n' 'tid:7;app.py:main:10;app.py:work:20 3' 'tid:8;<frozen x>:main:10 1' >python.folded
is "files and lines of Python" "$("$PROF" report --no-config --by line --format csv python.folded | cut -d, -f1,3-5 | tr -d '"')" \
	$'function,file,line,self\nwork,app.py,20,3\nmain,<frozen x>,10,1\nmain,app.py,10,0'
is "threads of Python" "$("$PROF" report --no-config --by thread --format csv python.folded | cut -d, -f2,5)" \
	$'tid,self\n7,3\n8,1'
austin() { # MODE
	printf '# austin: 3.7.0\n# interval: 1000\n# mode: %s\n\n' "$1"
}
{ austin wall && printf 'P7;T0:7;app.py:main:10;app.py:work:20 2500\nP7;T0:8;app.py:main:10 500\n'; } >austin.folded
is "microseconds of Austin" "$(summary austin.folded)" \
	'folded stacks: 0.003 s, 2 samples of clock (3,000 ticks), 100.0 % named'
{ austin memory && printf 'P7;T0:7;app.py:main:10 4096\nP7;T0:7;app.py:main:10;app.py:work:20 -1024\n'; } >memory.folded
is "bytes of Austin" "$(summary memory.folded)" 'folded stacks: 1 sample of allocated (4.1 kB), 100.0 % named'
is "freed bytes of Austin" "$(rows memory.folded --event freed | head -1)" 'work,,1024,1024'
{ austin full && printf 'P7;T0:7;app.py:main:10;app.py:work:20 2500,0,4096\nP7;T0:7;app.py:main:10 500,1,-8\n'; } >full.folded
is "all metrics of Austin: time" "$(rows full.folded)" $'work,,2500,2500\nmain,,500,3000'
is "all metrics of Austin: time of the CPU" "$(rows full.folded --event 'not idle')" $'work,,2500,2500\nmain,,0,2500'
is "all metrics of Austin: memory" "$(rows full.folded --event allocated)" $'work,,4096,4096\nmain,,0,4096'
printf 'main;_ZN3foo3barEi;_RNvCs1234_7mycrate3run 3\n' >mangled.folded
is "mangled names" "$(rows mangled.folded)" $'mycrate::run,,3,3\nfoo::bar,,0,3\nmain,,0,3'

# Numbers.
printf 'a;b 0.7\na;c 0.2\na;d 1.9\n' >fractions.folded
"$PROF" convert --no-config fractions.folded -o fractions.json
is "fractions stay the same, also by way of the Firefox Profiler's format" \
	"$("$PROF" convert --no-config fractions.json -o - --to folded | sed 's/.*all;//')" $'a;b 0.7\na;c 0.2\na;d 1.9'
is "fractions" "$("$PROF" report --no-config --format csv --unit percent fractions.folded | cut -d, -f1,5 | tail -n +2)" \
	$'"d",67.85714286\n"b",25\n"c",7.142857143\n"a",0'
printf 'a;b 1e3\na;c\t12\n' >forms.folded
is "powers of ten, and a tab" "$(rows forms.folded)" $'b,,1000,1000\nc,,12,12\na,,0,1012'
printf 'parent;first 10 30\nparent;second 10 40\nparent2 30 30\n' >two.folded
is "two columns: after" "$(rows two.folded)" $'second,,40,40\nfirst,,30,30\nparent2,,30,30\nparent,,0,70'
is "two columns: before" "$(rows two.folded --event before)" $'parent2,,30,30\nfirst,,10,10\nsecond,,10,10\nparent,,0,20'
printf 'main;f 3\n 1\n' >empty.folded
is "a stack without frames" "$(rows empty.folded)" $'f,,3,3\n,,1,1\nmain,,0,3'
printf 'thread 1 4\nmain;f 6\n' >number.folded
is "a name that ends in a number" "$(rows number.folded)" $'f,,6,6\nthread 1,,4,4\nmain,,0,6'
printf '\xef\xbb\xbfa;b 12\r\na;c 8\r\n' >mark.folded
is "a byte order mark" "$(rows mark.folded)" $'b,,12,12\nc,,8,8\na,,0,20'
printf 'a;b 12\r\na;d\xc3\xa9j\xc3\xa0 8\r\n' | python3 -c '
import sys
open("utf16.folded", "w", encoding="utf-16", newline="").write(sys.stdin.buffer.read().decode())'
is "UTF-16" "$(rows utf16.folded)" $'b,,12,12\nd\xc3\xa9j\xc3\xa0,,8,8\na,,0,20'
is "the length is that of all weights" "$(summary mark.folded)" \
	'folded stacks: 0.020 s, 2 samples of clock (20 ticks), 100.0 % named'
printf '# one comment\n// another one\na;b 12\n' >comments.folded
is "comments" "$(rows comments.folded)" $'b,,12,12\na,,0,12'
printf 'main;work 3\nmain;rest 4\nno number\n' >bad.folded
refuses "a line without a number is named" 125 'line 3 is not a stack and a number' "$PROF" report --no-config bad.folded
printf '[{"name": "x", "ts": 1},\n{"name": "y"}] 12\n' >array.json
refuses "JSON is no stack" 125 'not a profile' "$PROF" report --no-config array.json
done_testing
