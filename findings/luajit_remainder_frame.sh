#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# LuaJIT: its unwind tables are wrong while the interpreter computes a remainder.
#
# Expected: .eh_frame states the caller of LuaJIT's interpreter at each of its instructions, so that
#           debuggers, profilers and backtrace(3) in a signal handler find all frames.
# Seen:     the interpreter calls a routine of its own for "%", which lies in the same FDE. There, the
#           return address of that call is on the stack, too, and the stated caller is the word below
#           the right one: backtraces end. A loop of sums has no such stack, one of remainders has
#           them in half of its time. gdb stops at the same place.
# Versions: PyPI's lupa 2.6 with LuaJIT 2.1.1760617492; Debian 12's libluajit2 2.1-20230119; gcc 12.2,
#           on x86-64.
# Date:     2026-11-30
set -euo pipefail
shopt -s inherit_errexit

described="LuaJIT 2.1.1760617492
sums: all stacks are whole
remainders: more than a quarter is cut"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check lupa==2.6 >&2

cat >ticks.c <<'CODE'
#include <execinfo.h>
#include <signal.h>
#include <stddef.h>
#include <sys/time.h>

int whole, cut;

/* Python has more frames around a function of Lua. */
static void on_tick(int number)
{
	void *frames[64];

	if (backtrace(frames, 64) > 10)
		whole++;
	else
		cut++;
}

void ticks(int usec)
{
	struct itimerval every = {{0, usec}, {0, usec}};
	void *frames[1];

	backtrace(frames, 1); /* loads the unwinder */
	signal(SIGPROF, on_tick);
	setitimer(ITIMER_PROF, &every, NULL);
}
CODE
gcc -O1 -shared -fPIC -o ticks.so ticks.c

cat >loops.py <<'CODE'
import ctypes
import lupa.luajit21 as lua

ticks = ctypes.CDLL("./ticks.so")
whole, cut = (ctypes.c_int.in_dll(ticks, name) for name in ("whole", "cut"))
runtime = lua.LuaRuntime()
print(runtime.lua_implementation)
for what, step in ("sums", "x = x * 31 + i - x / 3"), ("remainders", "x = (x * 31 + i) % 16777216"):
    loop = runtime.eval(f"function(n) jit.off(true) local x = 0 for i = 1, n do {step} end return x end")
    loop(10)
    whole.value = cut.value = 0
    ticks.ticks(2000)
    while whole.value + cut.value < 100:
        loop(3000000)
    ticks.ticks(0)
    share = cut.value / (whole.value + cut.value)
    print(f"{what}:", "all stacks are whole" if not share else "more than a quarter is cut" if share > 0.25
          else f"{share:.1%} cut")
CODE
seen=$(own/bin/python loops.py)
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
