#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files that cannot be read or written: one clear line, and nothing is left behind. Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

cp "$golden/simple.json" profile.json
gzip -k profile.json
head -c 200 profile.json.gz >cut.json.gz
head -c 200 profile.json >cut.json
: >empty
printf 'text\n' >text
printf '{"a": 1}' >object.json
printf '[]' >array.json
printf '[package]\nname = "x"\n' >table.toml
printf '\x1f\x8b\x08\x00' >header.gz
printf 'main;work 3\nno number\n' >stacks.folded
sed 's/"preprocessedProfileVersion": *[0-9]*/"preprocessedProfileVersion":999/' profile.json >newer.json
ln -s nowhere dangling
ln -s loop loop
mkdir folder kcore
: >kcore/data
long=$(printf 'x%.0s' {1..300})

# Each command that reads a profile says the same of a file.
unreadable() { # FILE REGEX
	refuses "info $1" 125 "prof info: .*$2" "$PROF" info "$1"
	refuses "report $1" 125 "prof report: .*$2" "$PROF" report "$1"
	refuses "symbolize $1" 125 "prof symbolize: .*$2" "$PROF" symbolize "$1" -o out.json
}
unreadable nowhere 'nowhere: No such file'
unreadable nowhere/x 'nowhere/x: No such file'
unreadable text/x 'text/x: Not a directory'
unreadable dangling 'dangling: No such file'
unreadable loop 'loop: Too many levels'
unreadable "$long" 'File name too long'
unreadable folder 'folder: Is a directory'
unreadable kcore 'kcore: no data: perf record failed'
unreadable empty 'empty: not a profile'
unreadable text 'text: not a profile in a supported format'
unreadable object.json 'object.json: not a profile in a supported format, but JSON of an unknown kind; prof-report'
unreadable array.json 'array.json: not a profile in a supported format, but JSON of an unknown kind; prof-report'
unreadable table.toml 'table.toml: not a profile in a supported format$'
unreadable stacks.folded 'stacks.folded: line 2 is not a stack and a number'
unreadable cut.json 'cut.json: '
unreadable cut.json.gz 'cut.json.gz: the gzip data is truncated'
unreadable header.gz 'header.gz: '
unreadable newer.json 'newer.json: version 999 .* is too new'
unreadable /dev/null '/dev/null: not a profile'
unreadable /proc/self/mem 'Input/output error'
unreadable - 'standard input: not a profile' </dev/null
# shellcheck disable=SC2016 # for the inner shell
refuses "info -, and standard input is closed" 125 'standard input: ' \
	bash -c '"$1" info - <&-' sh "$PROF"
refuses "info -, and standard input is for writing only" 125 'standard input: Bad file descriptor' \
	"$PROF" info - 0>>text

# Files of other tools are named, with what converts them.
recognized() { # CONTENT REGEX
	# shellcheck disable=SC2059 # with escapes
	printf "$1" >foreign
	refuses "recognized: $2" 125 "foreign: not a profile in a supported format, but .*$2" "$PROF" report foreign
}
recognized '\x04\x22\x4d\x18\x40\x40\xc0\xe7G\0\0\xf9\x05memray\0' 'memray transform speedscope'
recognized 'allocator,num_allocations,size,tid,thread_name,stack_trace\n' 'a memray report'
recognized '{"alloc_samples": 7, "args": []}' 'a scalene profile'
recognized '\xfb)\x03\xfa\x04w.py' 'a Python marshal file'
recognized '\x80\x05\x95\x01\0\x01\0\0\0\0\0\x8c\x0btracemalloc' 'a Python tracemalloc snapshot'
recognized '{"snapshot":{"meta":{"node_fields":["type"]}},"nodes":[1],"samples":[]}' 'a V8 heap snapshot'
recognized 'v8-version,11,3,244\n' 'a V8 log'
recognized 'gmon\x01\0\0\0' 'gprof shows it'
recognized '*version\n3\n' 'an Android method trace'
recognized '{"version":1,"recording":{"instrumentTypes":["timeline-record-type-network"]}}' 'a Safari timeline'
recognized '{\n"program": "x",\n"cost_centres": []}' 'a GHC profile'
recognized 'goroutine 1 [running]:\nmain.main()\n' 'a list of goroutines'
recognized 'v 10400 3\nx 3 ./a\nX ./a\nI 1000 5e2921\n' 'raw heaptrack data'
recognized 'Analysis of sampling rg (pid 1) every 1 millisecond\n' "a report by macOS's sample"
recognized 'Weight\tSelf Weight\t\tSymbol Name\n1 s\t0 s\t \tmain\n' 'a copy from Instruments'
recognized 'CPU     ID                    FUNCTION:NAME\n' 'DTrace output'
recognized 'Attaching 2 probes...\n\n@[\n    f+1\n]: 3\n' 'bpftrace output'
recognized '# started on Sun Nov 29\n\n Performance counter stats for x:\n' 'perf stat counts'
recognized '\n<!DOCTYPE html>\n<html>' 'a page or picture'
recognized 'memray\0\1\0' 'memray transform speedscope'
recognized 'HCAT\1\0\0\0' 'profiling.sampling replay'
recognized 'MMPD\11\0\0\0' 'crox'
recognized 'Nettrace\24\0\0\0' 'dotnet-trace convert'
recognized '\n\7\100\1\122\3abc' 'traceconv profile'
recognized '{"type":"meta","v":0,"sample_interval_usec":1000}\n{}\n' '[-][-]gecko'
recognized 'go 1.26 trace\0\0\0' 'go tool trace -pprof'
recognized '\tSat Nov 28 2026 12:00 Time and Allocation Profiling Report  (Final)\n' 'ghc-prof-flamegraph'
recognized '\004\010{\010' 'stackprof --stackcollapse'
recognized '{\251\003z' 'flameprof'
recognized '{"root_frame": {"function": "main"}}' 'pyinstrument -r speedscope'
recognized 'hdrb\0\0' 'hs-speedscope converts it'
recognized 'SIMPLEPERF\1\0' 'a simpleperf report'
recognized 'Stack_3185 log opened (PC)\n' 'a Papyrus log'
recognized '{"alloc_samples": 3, "elapsed_time_sec": 2.5}' 'scalene'
recognized 'MOJ\3\1austin\0003.7.0\0' 'mojo2austin'
recognized '\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\336\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\5\0\7\4\7cpython\6' 'vmprof'
recognized '\x80\2cyappi\nYFuncStats\n' 'a yappi profile'
recognized 'NYTProf 5 0\n' 'nytprofcalls'
recognized 'memory profiling: line profiling: sample.interval=10000\n:1:2:3:4:"f" \n' 'a profile of R by Rprof'
recognized 'sample.interval=10000\n"f" "g" \n' 'a profile of R by Rprof'
recognized '{"a==>b":{"ct":30,"wt":342},"main()":{"ct":1,"wt":345}}' 'an XHProf profile'
recognized '\n****** Process <0.80.0>    -- 100.00 %% of profiled time *** \n' "an Erlang profiler's report"
recognized '\x2d-- Execution profile ---\nTotal samples       : 62\n' 'an async-profiler report'
recognized 'flamegraph([\n{"x":0,"y":7,"width":3,"frame_id":14' 'stackprof'
recognized 'Measure Mode: wall_time\nThread ID: 80\n' 'a ruby-prof report'
recognized 'Flat profile:\n\nEach sample counts as 0.01 seconds.\n' 'a gprof report'
recognized '\x5e\x97\xca\xfd\1\1' 'Sysprof'
recognized '\n0x2e8 [0x110]: event: 69\n.\n. ... raw event: size 272 bytes\n' 'a perf report'
recognized '# started on Mon Nov 30 13:59:40 2026\n\n1.50,msec,task-clock,1497\n' 'perf stat counts'
recognized 'File: a.test\nBuild ID: 66\nType: cpu\n' 'a pprof report'
recognized 'digraph profile {\n' 'a page or picture'

# JSON with threads alone: what is missing.
printf '{"threads": []}' >threads.json
unreadable threads.json 'not a profile of the Firefox Profiler: no "meta"'

# An escape sequence in a file's name, and in what is in the file, steers no terminal.
printf -v hostile 'a\e[31mb'
unreadable "$hostile" 'a\?\[31mb: No such file'

unwritable() { # FILE REGEX
	refuses "symbolize -o $1" 125 "prof symbolize: .*$2" "$PROF" symbolize profile.json -o "$1"
}
unwritable nowhere/out.json 'nowhere/out.json: the folder nowhere does not exist'
unwritable text/out.json 'the folder of text/out.json: Not a directory'
unwritable folder $'folder: Is a directory\n  name a file in it: folder/profile.json.gz'
unwritable folder/ 'folder/: Is a directory'
unwritable "$long" 'File name too long'
unwritable /proc/out.json '/proc/out.json: '
unwritable /dev/full '/dev/full: No space left on device'
# shellcheck disable=SC2016
refuses "symbolize -o -, and standard output is closed" 125 'standard output is closed' \
	bash -c '"$1" symbolize profile.json -o - >&-' sh "$PROF"
# shellcheck disable=SC2016
refuses "symbolize -o -, and standard output is full" 125 'No space left on device' \
	bash -c '"$1" symbolize profile.json -o - >/dev/full' sh "$PROF"
# shellcheck disable=SC2016
refuses "symbolize where a file may have no more bytes" 125 'File too large' \
	bash -c 'ulimit -f 1; exec "$1" symbolize profile.json -o out.json' sh "$PROF"
refuses "symbolize into another format" 125 'profile.json: the format firefox cannot be converted' \
	"$PROF" symbolize profile.json -o out.folded
refuses "symbolize to a terminal" 125 'standard output is a terminal' python3 - "$PROF" <<'CODE'
import os, pty, subprocess, sys
_, terminal = pty.openpty()
sys.exit(subprocess.run([sys.argv[1], "symbolize", "profile.json", "-o", "-"], stdout=terminal).returncode)
CODE

# Names folders that cannot be used, and does the rest.
run "$PROF" symbolize --debug-dir nowhere --debug-dir text profile.json -o out.json
is "folders of debug files that are none: exit status" "$status" 0
like "folders of debug files that are none: said" "$err" '--debug-dir nowhere: No such file'
like "folders of debug files that are none: each" "$err" '--debug-dir text: Not a directory'
rm out.json
run "$PROF" symbolize -q profile.json -o profile.json
is "the same file: exit status" "$status" 0
is "the same file: nothing is said" "$err" ""
ok "the same file: a profile" "$PROF" info profile.json
is "no temporary file is left" "$(leftovers .)" ""

# A reader that goes away ends prof, as it ends others.
# shellcheck disable=SC2016
run bash -c 'set -o pipefail; "$1" symbolize -q "$2" -o - | true' sh "$PROF" "$golden/threads.json"
like "a reader that goes away: no crash" "$status" '^(0|125|141)$'
for file in "$golden"/{counters,markers,losses,containers,cpus}.json; do
	run "$PROF" info "$file"
	is "info of ${file#"$golden"/}" "$status$err" 0
done
run "$PROF" info "$golden/counters.json"
like "info lists counters" "$out" $'\nCounters:\n  [^\n]* samples'

# --profile-version 75 says what 70 says, in the newest form.
for name in inline runtimes markers-hostile; do
	"$PROF" convert --no-config "$golden/$name.json" -o older.json
	"$PROF" convert --no-config --profile-version 75 "$golden/$name.json" -o newer.json
	python3 "$root/tests/readers/newest.py" older.json wanted.json
	run python3 -c 'import json, sys; a, b = (json.load(open(name)) for name in sys.argv[1:]); print(a == b)' newer.json wanted.json
	is "$name: version 75 has flags" "$out" True
	"$PROF" convert --no-config --profile-version 75 "$golden/$name.json" -o newer.jslb
	"$PROF" convert --no-config newer.jslb -o again.json
	ok "$name: version 75 is read back, with columns in binary" cmp again.json older.json
done
refuses "--profile-version 71" 2 "must be one of 70, 75" "$PROF" convert --no-config --profile-version 71 "$golden/simple.json" -o x.json
done_testing
