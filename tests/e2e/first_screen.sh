#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The first screen of prof report, on programs whose culprit is known: each is named in its place.
#
# May run beside others.
# shellcheck disable=SC2016 # backquotes of Markdown
. "$(dirname "$0")/lib.sh"

heading() { # REGEX: the section of $out that begins with it
	awk -v heading="$1" '$0 ~ heading { shown = 1 } !$0 { shown = 0 } shown' <<<"$out"
}
answers() { # NAME: shows the first screen of NAME.json.gz
	run "$PROF" report "$1.json.gz"
	ok "$1: at most 40 lines: $(wc -l <.out)" test "$(wc -l <.out)" -le 40
}

# The time is spent in libc, for one function of three.
cat >sorts.c <<'CODE'
#include <stdlib.h>
#include <time.h>
static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
static int rows[50000];
__attribute__((noinline)) static void rank_all(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		rows[i] = (int)(random() & 0xffff);
	qsort(rows, sizeof(rows) / sizeof(*rows), sizeof(*rows), compare);
	__asm__ volatile("");
}
__attribute__((noinline)) static void serve(void)
{
	rank_all();
	__asm__ volatile("");
}
int main(void)
{
	while (clock() < CLOCKS_PER_SEC * 6 / 10)
		serve();
	return 0;
}
CODE
gcc -g -O1 -o sorts sorts.c
record sorts 0 -- ./sorts
like "record names it" "$err" $'\nprof: hottest: rank_all \\(sorts\\), (9[0-9]|100)\\.'
like "record names the next command" "$err" $'\nprof: next: prof report sorts.json.gz$'
answers sorts
like "sorts: the hot path ends in the program's function" "$(heading 'Hot path')" \
	$'^Hot path: (9[0-9]|100)\\.[0-9] % in rank_all\n'
like "sorts: the path" "$(heading 'Hot path')" ' % +main .*'$'\n''.* % +serve .*'$'\n''.* % +rank_all +sorts +sorts.c:'
like "sorts: what it calls" "$(heading 'Hot path')" $' % +qsort'
like "sorts: for whom the library runs" "$(heading 'Where it ran')" 'libc.so.6 .*rank_all sorts.c:12'
unlike "sorts: it did not wait" "$out" 'Where it waited'

# A function that a thread and main() call: the line and the hot path have all of it.
cat >halves.c <<'CODE'
#include <pthread.h>
#include <time.h>
__attribute__((noinline)) static void work(long ms)
{
	struct timespec t;
	do {
		for (volatile int i = 0; i < 10000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < ms);
}
static void *run(void *nothing)
{
	work(400);
	__asm__ volatile("");
	return nothing;
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
	work(200);
	return 0;
}
CODE
gcc -g -O1 -pthread -o halves halves.c
record halves 0 -- ./halves
like "record tells the whole of a function" "$err" $'\nprof: hottest: work \\(halves\\), (9[0-9]|100)\\.'
answers halves
like "as does the hot path" "$(heading 'Hot path')" $'^Hot path: (9[0-9]|100)\\.[0-9] % in work\n'

# Two threads run one function, two thirds of whose time are in the hottest.
cat >thirds.c <<'CODE'
#include <pthread.h>
#include <time.h>
#define SPINNER(name) \
	__attribute__((noinline)) static void name(long ms) \
	{ \
		struct timespec t, begin; \
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin); \
		do { \
			for (volatile int i = 0; i < 10000; i++) \
				; \
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); \
		} while ((t.tv_sec - begin.tv_sec) * 1000 + (t.tv_nsec - begin.tv_nsec) / 1000000 < ms); \
	}
SPINNER(hot)
SPINNER(rest)
__attribute__((noinline)) static void part(long ms)
{
	hot(ms * 7 / 10);
	rest(ms * 3 / 10);
	__asm__ volatile("");
}
static void *run(void *nothing)
{
	part(400);
	__asm__ volatile("");
	return nothing;
}
int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
	part(250);
	return 0;
}
CODE
gcc -g -O1 -pthread -o thirds thirds.c
record thirds 0 -- ./thirds
like "record tells the whole of its caller, too" "$err" \
	$'\nprof: hottest: hot \\(thirds\\), (6[3-9]|7[0-6])\\.[0-9] %, and (9[0-9]\\.[0-9]|100\\.0) % in part'

# A script that only starts an installed program is not where the user can look.
mkdir -p venv/bin venv/lib/site-packages
cat >venv/lib/site-packages/tool.py <<'CODE'
import time
def hot():
    end = time.process_time() + 0.5
    while time.process_time() < end:
        pass
def main():
    hot()
CODE
printf 'import sys\nsys.path.insert(0, "venv/lib/site-packages")\nfrom tool import main\nmain()\n' >venv/bin/tool
record tool 0 -- python3 venv/bin/tool
like "record names a function of an installed program" "$err" $'\nprof: hottest: hot \\(tool\\.py:2\\), '
answers tool
like "tool: the hot path leads through it" "$(heading 'Hot path')" $' % +main +tool.py:6\n.* % +hot +tool.py:'

# Threads that wait for one lock, held by one of them.
cat >convoy.c <<'CODE'
#include <pthread.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) static void take_ticket(void)
{
	pthread_mutex_lock(&lock);
	nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	pthread_mutex_unlock(&lock);
}
static void *work(void *unused)
{
	for (int i = 0; i < 20; i++) {
		take_ticket();
		for (clock_t begin = clock(); clock() - begin < CLOCKS_PER_SEC / 1000;)
			;
	}
	return unused;
}
int main(void)
{
	pthread_t threads[6];
	for (int i = 0; i < 6; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 6; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
CODE
gcc -g -O1 -pthread -o convoy convoy.c
record convoy 0 -- ./convoy
like "record names the wait" "$err" 'blocked in take_ticket: [0-9.]+ s \(lock\)'
answers convoy
like "convoy: waits come first" "$out" $'\nWhere it waited\n.*\nHot path'
like "convoy: the lock, in the function that takes it" "$(heading 'Where it waited')" \
	$'^Where it waited\n +BLOCKED +KIND +FUNCTION .*\n +[0-9.]+ s +lock +take_ticket +convoy +convoy.c:6 +work convoy.c:[0-9]+\n'
like "convoy: advice" "$(heading Advice)" 'threads waited [0-9.]+ s for a lock in take_ticket'
like "convoy: advice as JSON" "$("$PROF" report --format json convoy.json.gz | python3 -c 'import json, sys
print(*("%s %d" % (row["rule"], row["value"] > 1) for row in json.load(sys.stdin)["advice"]))')" '^locks 1'
like "convoy: times" "$out" $'\nran [0-9.]+ s,( [0-9.]+ % of it in [a-z]+,)? blocked [0-9.]+ s \\(lock [0-9.]+, condition [0-9.]+\\)'
like "convoy: what the function waits for" "$("$PROF" explain convoy.json.gz take_ticket)" \
	$'\nWaits below it\nblocked [0-9.]+ s \\(lock [0-9.]+\\)'
record wakers 0 --wakers -- ./convoy
answers wakers
like "wakers: who held the lock" "$(heading 'Where it waited')" ' lock +take_ticket +convoy +convoy.c:6 +work convoy.c:[0-9]+ +take_ticket convoy.c:8'
like "wakers: who ended the wait for the threads" "$(heading 'Where it waited')" ' condition +main +convoy +convoy.c:[0-9]+ +work'
like "wakers: advice" "$(heading Advice)" 'take_ticket \(convoy.c:8\) held it before'
# A wait that is long enough to be sampled, and on the path for sure: the only one.
record path 0 --critical-path -- ./halves
answers path
like "path: who ended the wait for the thread" "$(heading 'Where it waited')" ' condition +main +halves +halves.c:[0-9]+ +run'

# A program that waits for a time, not for what it needs, or writes byte by byte.
cat >retry.c <<'CODE'
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static void log_line(void)
{
	for (int i = 0; i < 1000; i++)
		write(1, "x", 1);
}
__attribute__((noinline)) static void retry(void)
{
	usleep(300000);
	__asm__ volatile("");
}
int main(int argc, char **argv)
{
	while (argc > 1 && clock() < CLOCKS_PER_SEC * 4 / 10)
		log_line();
	for (int i = argc; i < 5; i++)
		retry();
	return !argv;
}
CODE
gcc -g -O1 -o retry retry.c
record retry 0 -- ./retry
answers retry
like "retry: where it slept" "$(heading 'Where it (waited|idled)')" ' retry +retry +retry.c:[0-9]+ +main retry.c'
strip -o bare retry
record bare 0 -- ./bare
like "bare: the program whose function has no name" "$err" 'blocked in fun_[0-9a-f]+ \(bare\): '
record lines 0 -- sh -c './retry 1 2 3 4 >lines.txt'
answers lines
like "lines: what takes long, and where" "$("$PROF" report --format json lines.json.gz)" \
	'reading and writing files took [0-9]+ % of the time, and hardly copied anything, most for log_line '

# Threads without code of the user are blocked, too.
cat >helpers.c <<'CODE'
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int main(void)
{
	pthread_t thread;
	pthread_mutex_lock(&lock);
	for (int i = 0; i < 4; i++)
		pthread_create(&thread, NULL, (void *(*)(void *))pthread_mutex_lock, &lock);
	return system("sleep 0.3");
}
CODE
gcc -g -O1 -w -pthread -o helpers helpers.c
record helpers 0 -- ./helpers
answers helpers
like "helpers: kinds are those of all threads" "$out" \
	$'\nran [0-9.]+ s,( [0-9.]+ % of it in [a-z]+,)? blocked [0-9.]+ s \\(lock 1\\.[0-9], child 0\\.[3-9][0-9]?\\)'

# Processes that do not run at all: where they hang.
flock hang.lock sleep 1000 &
holder=$!
until [ -e hang.lock ] && ! flock -n hang.lock true; do sleep 0.01; done
flock hang.lock true &
blocked=$!
until grep -q locks_lock_inode_wait "/proc/$blocked/stack"; do sleep 0.01; done
sleep 1000 &
idle=$!
until grep -q nanosleep "/proc/$idle/stack"; do sleep 0.01; done
run "$PROF" attach -p "$blocked" -d 0.3 -o blocked.json.gz
answers blocked
like "blocked: the summary" "$out" $'0 samples[^%]*\n'"ran 0.000 s, blocked 0\.[23][0-9]+ s \(lock 0\.[23][0-9]*\)"
like "blocked: the place" "$(heading 'Where it waited')" $'\n +0\.[23][0-9]+ s +lock +[^ ]+ +flock'
unlike "blocked: nothing ran" "$out" 'What ran|Where it ran'
run "$PROF" attach -p "$idle" -d 0.3 -o idle.json.gz
answers idle
like "idle: the place" "$(heading 'Where it idled')" $'\n +0\.[23][0-9]+ s +[^ ]+ +sleep'
pkill -P "$holder"
kill "$idle"
wait "$holder" "$blocked" "$idle"

# A script whose time goes to the standard library.
cat >shop.py <<'CODE'
import json
import time
def price(order):
    return sum(item["price"] for item in json.loads(order))
def handle(orders):
    return [price(order) for order in orders]
orders = [json.dumps([{"price": n, "name": "x" * 50} for n in range(300)])] * 10
end = time.process_time() + 0.6
while time.process_time() < end:
    handle(orders)
CODE
record shop 0 -- "$(command -v python3)" shop.py
answers shop
"$PROF" convert -q --own -o shop.folded shop.json.gz
is "shop: collapsed stacks of own code" "$(sort -k2 -t' ' -n -r shop.folded | grep -c 'json\|Py\|decode')" 0
like "shop: and its functions" "$(cat shop.folded)" ';<module>;handle;([^;]*<listcomp>;)?price [1-9]'
like "shop: the hot path ends in the script" "$(heading 'Hot path')" \
	$'^Hot path: [6-9][0-9.]+ % in price\n.* % +<module> .*\n.* % +handle .*\n.* % +price +shop.py:'
like "shop: for whom the library runs" "$(heading 'Where it ran')" 'price shop.py:4'

# An event loop that a handler holds up by sleeping.
cat >loop.py <<'CODE'
import asyncio
import time
def slow_lookup():
    time.sleep(0.05)
async def handle():
    slow_lookup()
async def main():
    for _ in range(20):
        await handle()
        await asyncio.sleep(0.002)
asyncio.run(main())
CODE
record loop 0 -- "$(command -v python3)" loop.py
answers loop
like "loop: the sleep, in the function that sleeps" "$(heading 'Where it waited')" \
	$'\n +(0\\.9|1\\.)[0-9]+ s +sleep in an event loop +slow_lookup +loop.py:4 +handle loop.py:[0-9]+(\n|$)'

# No path has most of the time, and a function of the interpreter has more than any of a script.
cat >alpha.py <<'CODE'
import time
def alpha():
    while time.process_time() < 0.6:
        (b"ab" * 50000).count(b"ba")
alpha()
CODE
python=$(python3 -c 'import sys; print(sys.executable)')
record parts 0 -- sh -c "$python alpha.py; ./retry 1 2 3 4 >/dev/null; ./thirds"
like "parts: the script's function, not the interpreter's" "$err" $'\nprof: hottest: alpha \\(alpha\\.py:2\\), '

# A rule of names: the default name keeps one file more.
run "$PROF" record -q -- true
run "$PROF" record -- true
like "the default name: an older file is kept" "$err" 'wrote profile.json.gz .*; the previous one is now profile.json.gz.old'
ok "profile.json.gz.old is a profile" "$PROF" info profile.json.gz.old
run "$PROF" record -o profile.json.gz -- true
unlike "a name that is given: it is replaced" "$err" 'the one before'

# An assistant records, and reads the same.
run "$PROF" mcp --allow-record <<'CALLS'
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"record","arguments":{"output":"told.json.gz","command":["./sorts"]}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"report","arguments":{"file":"told.json.gz"}}}
CALLS
like "prof mcp records" "$out" '"id":1.*hottest: rank_all.*"isError":false'
like "prof mcp reports" "$out" '"id":2.*Hot path.*`rank_all`.*"isError":false'

run "$PROF" report --errors sorts.json.gz
like "--errors" "$(heading 'Where it ran')" '[0-9.]+ ±[0-9.]+ % +[0-9.]+ ±[0-9.]+ %'
run "$PROF" report --sort total --by function sorts.json.gz
totals=$(awk 'NR > 3 && $2 == "%" { print $3 }' .out)
is "--sort total" "$totals" "$(sort -rn <<<"$totals")"
ok "--sort total: more than a row" test "$(wc -l <<<"$totals")" -gt 3
refuses "--sort of a tree" 2 'orders the rows of tables' "$PROF" report --sort total --tree sorts.json.gz
# shellcheck disable=SC2016
record crowd 0 -- sh -c 'for i in $(seq 200); do /bin/true; done'
like "crowd: many processes of a program have one share" "$("$PROF" report crowd.json.gz)" '% of it in true × 200, (blocked|waited|idle|in) '

done_testing
