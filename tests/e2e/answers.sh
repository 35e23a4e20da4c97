#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Jobs with a known culprit: the first screen names it, and the cause, in its place. Those with
# servers are in tests/prove/answers.
# May run beside others.
. "$(dirname "$0")/lib.sh"
sources=$root/tests/workloads/answers
python=$(python3 -c 'import sys; print(sys.executable)')

answers() { # NAME: shows the first screen of NAME.json.gz
	run "$PROF" report "$1.json.gz"
	ok "$1: at most 40 lines: $(wc -l <.out)" test "$(wc -l <.out)" -le 40
	narrow=$(script -qec "stty cols 60; PAGER=cat '$PROF' report $1.json.gz" /dev/null | wc -l)
	ok "$1: in a narrow terminal, too: $narrow" test "$narrow" -le 40
}
section() { # REGEX: the section of $out that begins with it
	awk -v heading="$1" '$0 ~ heading { shown = 1 } !$0 { shown = 0 } shown' <<<"$out"
}

record regexp 0 -- node "$sources/regexp.js" 1
like "regexp: record names the function" "$err" $'\nprof: hottest: isValidName \\(regexp.js:[0-9]+\\)'
answers regexp
like "regexp: the hot path" "$(section 'Hot path')" '^Hot path: [0-9.]+ % in isValidName'
like "regexp: the cause" "$(section Advice)" 'regular expressions took [0-9]+ % of the time, most for isValidName'
unlike "regexp: is no code without names" "$(section Advice)" 'made at run time'

gcc -O2 -g -o leak "$sources/leak.c"
record leak 0 --alloc -- ./leak
like "leak: record names the holder" "$err" $'\nprof: held at the end: .*, (9[0-9]|100) % from remember \\(leak.c:[0-9]+\\)'
answers leak
like "leak: the holder" "$(section 'What is held at the end')" \
	$'\n +HELD +FUNCTION .*\n +[0-9]+ MB +remember +leak +leak.c:[0-9]+ +handle leak.c:'
unlike "leak: the recorder's library is not the user's" "$(section 'Hot path')" '^Hot path: .* in malloc'

record pyleak 0 --alloc=pages -- "$python" "$sources/leak.py"
like "pyleak: record names the holder" "$err" \
	$'\nprof: held at the end: .* \\(at most .*\\) of .*; of the peak [0-9]+ % from remember[^ ]* \\(leak.py:'
answers pyleak
like "pyleak: the holder when most was held" "$(section 'What was held after')" \
	$'\n +HELD +FUNCTION .*\n +[0-9]+ MB +remember.* +leak.py:[0-9]+ +(remember|handle) leak.py:'

# One file of a build takes nearly all of its time.
mkdir parts
for i in 1 2 3 4; do
	echo "int part$i(int a) { return a + $i; }" >parts/part$i.c
done
for ((i = 0; i < 300; i++)); do
	echo "int f$i(int *a, int n) { int s = $i; for (int i = 0; i < n; i++) s += a[i] * (i ^ s); return s; }"
done >parts/tables.c
cat >parts/Makefile <<'MAKE'
all: part1.o part2.o part3.o part4.o tables.o
%.o: %.c
	gcc -O2 -c -o $@ $<
MAKE
record build 0 -- make -C parts
answers build
like "build: the file that takes long" "$out" $'\nran [0-9.]+ s, [0-9.]+ % of it in cc1 tables.c'

# A file that is compiled alone is named, too.
record one 0 -- gcc -O2 -c -o tables.o parts/tables.c
answers one
like "one: the file" "$out" $'\nran [0-9.]+ s, [0-9.]+ % of it in cc1 tables.c'

record loop 0 -- "$python" "$sources/loop.py" 0.5
like "loop: record names the function" "$err" '[:;] blocked in send_mail: [0-9.]+ s \(sleep in an event loop\)'
answers loop
like "loop: the cause" "$(section Advice)" 'an event loop stood still for [0-9.]+ s because send_mail \(loop.py:'

gcc -O2 -g -fopenmp -o rows "$sources/rows.c"
OMP_WAIT_POLICY=passive record rows 0 -- ./rows 200000000
answers rows
like "rows: the hot path" "$(section 'Hot path')" '^Hot path: [0-9.]+ % in solve_row'
like "rows: the cause" "$(section Advice)" 'until others had done their share of the work in main \(rows.c:'

# The threads wait for each other, and main() for them.
gcc -O2 -g -pthread -o convoy "$sources/convoy.c"
record convoy 0 -- ./convoy 0.5
answers convoy
like "convoy: the lock comes before the join, with the caller" "$(section 'Where it waited')" \
	$'\n +BLOCKED .*\n +[0-9.]+ s +lock +append_log +convoy +convoy.c:[0-9]+ +(handle|work) convoy.c:'

record unique 0 -- ruby "$sources/unique.rb" 9000
answers unique
like "unique: the cause" "$(section Advice)" 'searching lists from their begin took [0-9]+ % of the time, most for .*unique'

gcc -O2 -g -pthread -o ready "$sources/ready.c"
record ready 0 -- ./ready
answers ready
like "ready: the cause" "$(section Advice)" 'waiting without sleep .* took [0-9]+ % of the time, most for wait_until_ready'

record pool 0 -- "$python" "$sources/pool.py"
answers pool
like "pool: the place" "$(section 'Where it waited')" $'\n +[0-9.]+ s +condition +ConnectionPool.get +pool.py:[0-9]+ +handle pool.py:'
like "pool: the cause" "$(section Advice)" 'until others gave back one of a limited number, [0-9.]+ at a time, most in ConnectionPool.get'
ok "pool: threads that wait for others are not idle" python3 -c '
import re, sys
blocked, idle = (float(re.search(word + r" ([0-9.]+) s", sys.argv[1])[1]) for word in ("blocked", "idle"))
sys.exit(not blocked > 5 * idle)' "$out"

gcc -O2 -g -o spike "$sources/spike.c"
run "$PROF" record --last 20 -o spike.json.gz -- ./spike 200
answers spike
like "spike: the last seconds" "$(section 'Hot path')" ' rebuild_index +spike +spike.c:'

gcc -O1 -g -o old "$sources/versions.c"
gcc -O1 -g -DSLOW -o new "$sources/versions.c"
record versions 0 --iterations 2 --variant old=./old --variant new=./new
run "$PROF" diff versions.json.gz
like "versions: the function that grew" "$out" $'\n[ *]*[0-9.]+ % +[0-9.]+ % +\\+.* checksum'

done_testing
