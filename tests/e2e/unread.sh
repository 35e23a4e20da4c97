#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Interpreters that are not read: their stacks do not count as complete.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
# Has what a file with a V8 that is too old has, and a thread of its own.
cat >spin.c <<'CODE'
#include <pthread.h>
#include <time.h>

volatile unsigned int sink;

void native_spin(double seconds)
{
	struct timespec now, end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += (long)(seconds * 1e9);
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	do {
		for (int i = 0; i < 10000; i++)
			sink = sink * 31 + i;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
}

static void *run(void *ctx)
{
	native_spin(*(double *)ctx);
	return NULL;
}

pthread_t start_thread(double *seconds)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, seconds);
	return thread;
}

int main(void)
{
	native_spin(1);
}
CODE
old=(-DMAJOR=9 -O1 -fno-omit-frame-pointer spin.c "$root/tests/fuzz/seeds/v8.c" -lpthread)
gcc -o old "${old[@]}"
gcc -shared -fpic -o libold.so "${old[@]}"
record alone 0 -- ./old
like "the reason is told" "$err" 'V8 is older than 10'
like "with the number of stacks" "$err" '[0-9]+ stacks have no functions: their interpreter cannot be read'
judge "nearly all of them" alone.json.gz alone.stats <<'CODE'
import json
s = json.load(open(args[0]))
expect(s["runtimes"]["unread"] >= 0.5 * s["user_stacks"] > 50, s["runtimes"])
CODE

cat >both.py <<'CODE'
import ctypes
import time

library = ctypes.CDLL("./libold.so")
library.start_thread.restype = ctypes.c_ulong
seconds = ctypes.c_double(1.5)
thread = library.start_thread(ctypes.byref(seconds))

def leaf(rounds):
    for _ in range(rounds):
        pass

end = time.monotonic() + 1.5
while time.monotonic() < end:
    leaf(10000)
CODE
record both 0 -- /usr/bin/python3 both.py
judge "beside one that is read: its own are complete, the other thread's are not" both.json.gz both.stats <<'CODE'
import json
s = json.load(open(args[0]))
r = s["runtimes"]
native = sum("native_spin" in [f["name"] for f in frames] for _, _, _, frames in samples())
python = sum("leaf" in [f["name"] for f in frames] for _, _, _, frames in samples())
expect(native > 50 and python > 50, (native, python))
# The file may be mapped for some time before it is known. Waits count, too.
expect(0.5 * native <= r["unread"] <= r["threadless"] + r["idle"] + 10, (native, python, r))
expect(s["by_runtime"]["Python"]["whole"] >= 0.9 * python, (python, s["by_runtime"]))
CODE
like "the summary does not call them complete" "$err" \
	'Python [0-9.]+: ([0-8]?[0-9]\.[0-9]+) % of stacks have all .*[0-9]+ are of an interpreter that cannot be read'
done_testing
