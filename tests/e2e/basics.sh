#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Real programs, end to end.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

record python 0 -- python3 -c '
import json
import time
data = [{"key": str(i), "value": [i] * 20} for i in range(2000)]
while time.process_time() < 0.6:
    json.loads(json.dumps(data))
'
like "it says what it recorded" "$err" 'samples'
like "and where that is" "$err" 'python.json.gz'
is "and nothing of it on stdout" "$out" ""
judge "python: enough samples of the interpreter" python.json.gz <<'CODE'
expect(sum(s[2] for s in samples()) > 150, f"{len(samples())} samples")
named = [t["name"] for t in p["threads"]]
expect(any(name.startswith("python3") for name in named), named)
own_functions = {f[-1]["name"] for _, _, _, f in samples() if f}
expect(len(own_functions) > 10, own_functions)
CODE

head -c 3000000 /dev/urandom | od -An -tx1 | head -c 6000000 >big
record gzip 0 -- gzip -9 -k big
judge "gzip: user code in gzip itself, kernel code beside" gzip.json.gz <<'CODE'
t = thread("gzip")
libs = {f[-1]["lib"] for _, _, _, f in samples(t) if f}
libs = {lib if isinstance(lib, (str, type(None))) else lib["name"] for lib in libs}
expect("gzip" in libs, libs)
expect(t["samples"]["length"] > 100, t["samples"]["length"])
CODE

mkdir made
for i in 1 2 3 4 5 6; do
	printf '#include <stdio.h>\n#include <stdlib.h>\nint f%d(void) { return puts("%d"); }\n' $i $i >made/f$i.c
done
# With a cache, other processes would stand in for the compilers.
export CCACHE_DISABLE=1
printf 'all: f1.o f2.o f3.o f4.o f5.o f6.o\n' >made/Makefile
record make 0 -- make -s -j2 -C made
judge "make -j2: every process of the tree, in order of start" make.json.gz <<'CODE'
names = [t["processName"] for t in p["threads"] if t["isMainThread"]]
expect(names[0] == "make", names)
# Processes with equal names are told apart by the file that they work on.
for title in [f"cc1 f{i}.c" for i in range(1, 7)] + [f"as f{i}.o" for i in range(1, 7)]:
    expect(names.count(title) == 1, f"{names.count(title)} times {title} in {names}")
starts = [t["processStartupTime"] for t in p["threads"] if t["isMainThread"]]
expect(starts == sorted(starts), starts)
expect(len({t["pid"] for t in p["threads"]}) == len(names), "one main thread a process")
CODE

run "$PROF" record -- "$workloads/inlines"
is "without -o: exit status" "$status" 0
judge "without -o: profile.json.gz" profile.json.gz <<<'expect(samples(), "empty")'

record nothing 0 -- true
judge "true: a valid profile with its thread, whatever the samples" nothing.json.gz <<'CODE'
expect([t["name"] for t in p["threads"]] == ["true"], check_profile.thread_names(p))
expect(p["meta"]["product"] == "true", p["meta"]["product"])
CODE

cp "$workloads/shares" 'with blank "quotes" é'
record names 0 -- './with blank "quotes" é' 0.1
judge "a program with a strange name" names.json.gz <<'CODE'
expect(p["threads"][0]["name"] == 'with blank "quo', p["threads"][0]["name"])
expect("é" in p["meta"]["arguments"], p["meta"]["arguments"])
expect(any(lib["path"].endswith('/with blank "quotes" é') for lib in p["libs"]), p["libs"])
CODE

is "no temporary files are left" "$(leftovers .)" ""
# The kernel adds " (deleted)" to the path of a deleted file, but a file's name may end so, too.
cp "$workloads/shares" 'stays (deleted)'
record called 0 -- './stays (deleted)' 0.3
judge "a file is called what it is called" called.json.gz <<'CODE'
libs = {lib["name"]: lib["path"] for lib in p["libs"]}
expect("stays (deleted)" in libs, libs)
CODE
cp "$workloads/shares" gone
cp "$workloads/inlines" 'gone (deleted)'
start ./gone 20
wait_until grep -q /gone "/proc/$started/maps"
rm gone
run "$PROF" attach -o gone.json.gz -d 0.5 -p "$started"
kill "$started"
judge "a deleted file is not the one that is called as it is by now" gone.json.gz <<'CODE'
libs = {lib["name"]: lib["path"] for lib in p["libs"]}
expect(libs.get("gone", "").endswith("/gone (deleted)") and "gone (deleted)" not in libs, libs)
expect(within("sixty") > 5, within("sixty"))
CODE
# The recorder gets to run on a busy machine, where it may.
# shellcheck disable=SC2016 # of the inner shell
run "$PROF" record -q -o nice.json.gz -- sh -c 'nice; ps -o ni= -p "$PPID" | tr -d " "'
is "the recorder is urgent, the command is not" "$out" "0
$(nice -n -10 nice 2>/dev/null)"
# shellcheck disable=SC2016
run nice -n 5 "$PROF" record -q -o nice.json.gz -- sh -c 'nice; ps -o ni= -p "$PPID" | tr -d " "'
is "a niceness that the user chose stays" "$out" "5
5"
done_testing
