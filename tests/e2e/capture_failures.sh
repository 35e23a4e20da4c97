#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Spools that meet trouble: the recording goes on, or what was recorded is kept.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

spools() {
	find "${1-.}" -maxdepth 1 -name '.*.capture'
}
has_ticks() { # FILE COUNT
	"$PROF" report --format json --include-idle "$1" 2>/dev/null | python3 -c \
		'import json, sys; sys.exit(json.load(sys.stdin)["summary"]["weight"] < int(sys.argv[1]))' "$2"
}
has_samples() { # FILE
	has_ticks "$1" 1
}

# A limit of the size of files ends both: what fits into the spool is kept.
mkdir 'the limit'
run bash -c 'ulimit -f 8; exec "$@"' - "$PROF" record --spool-dir 'the limit' -o 'the limit/full.json' -- \
	"$workloads/shares" 0.5
is "a limit of files' sizes: exit status" "$status" 125
like "a limit of files' sizes: says so" "$err" 'File too large: the capture is incomplete, the recording continues'
like "a limit of files' sizes: what to do" "$err" 'a part of the recording is kept: prof recover '"'the limit/"
is "a limit of files' sizes: the spool stays" "$(spools 'the limit' | wc -l)" 1
run "$PROF" recover -o part.json 'the limit'/.*.capture
is "a limit of files' sizes: recovered" "$status" 0
like "a limit of files' sizes: says how much" "$err" 'the recording was cut: it ends [0-9.]+ s after its start'
ok "a limit of files' sizes: a valid profile" python3 "$root/tests/check_profile.py" part.json

# Somebody removes the spool meanwhile.
# shellcheck disable=SC2016 # the inner shell's
run "$PROF" record -q -o removed.json -- sh -c 'rm .removed.json.*.capture; exec "$0" 0.2' "$workloads/shares"
is "a removed spool: exit status" "$status$err" 0
ok "a removed spool: the profile" has_samples removed.json

# The reader of standard output has gone.
mkdir pipe
"$PROF" record -q --spool-dir pipe -o - -- "$workloads/shares" 0.2 2>pipe/err | true
like "a closed pipe: says so" "$(<pipe/err)" 'Broken pipe'
like "a closed pipe: what to do" "$(<pipe/err)" 'the recording is kept: prof recover pipe/'
run "$PROF" recover pipe
is "a closed pipe: recovered" "$status" 0
ok "a closed pipe: with samples" has_samples pipe/recovered.profile.json.gz

# A disk that fails.
cat >fail.c <<'CODE'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int writes;

ssize_t write(int fd, const void *data, size_t size)
{
	ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
	char name[64], target[4096];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = readlink(name, target, sizeof(target) - 1);
	if (n > 8 && !memcmp(target + n - 8, ".capture", 8) && __sync_add_and_fetch(&writes, 1) > 2) {
		errno = EIO;
		return -1;
	}
	return real(fd, data, size);
}
CODE
cc -shared -fPIC -o fail.so fail.c -ldl
run env LD_PRELOAD="$PWD/fail.so" ASAN_OPTIONS=verify_asan_link_order=0 "$PROF" record -o eio.json -- \
	"$workloads/shares" 2
is "a failing disk: exit status" "$status" 0
like "a failing disk: says so" "$err" 'Input/output error: the capture is incomplete, the recording continues'
ok "a failing disk: the profile" has_samples eio.json
is "a failing disk: no spool stays" "$(spools)" ""

# Two recorders of one folder, and of one output.
"$PROF" record -q -o same.json -- "$workloads/shares" 0.5 &
"$PROF" record -q -o same.json -- "$workloads/shares" 0.5 &
wait
ok "two recorders: a profile" has_samples same.json
is "two recorders: no spool stays" "$(spools)" ""

# A link in the place of the capture is not followed.
echo precious >target
ln -s target linked.prof
refuses "--raw over a link" 125 'Invalid argument' "$PROF" record --raw linked.prof -- touch started
is "what the link names is untouched" "$(<target)" precious

# The kernel ends the recorder for lack of memory in its group: what it had is there.
memory_group prof-capture-$$
# shellcheck disable=SC2016 # the inner shell's
sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$PROF" record -q -o starved.json.gz -- \
	sh -c 'echo $$ >pid; exec "$0" die 60' "$workloads/spin" >/dev/null &
recorder=$!
spooled() {
	local file
	file=$(spools) && [ -n "$file" ] && has_ticks "$file" 100
}
wait_until spooled
pid=$(<pid)
at_exit+=("kill $pid 2>/dev/null")
# Ending takes a while: the next victim is the one that takes the memory, not its parent.
echo 1000 >/proc/$recorder/oom_score_adj
limit_memory $(($(cat "$group/memory.usage_in_bytes" "$group/memory.current" 2>/dev/null) + (32 << 20)))
cat >hungry.py <<'CODE'
import os, sys, time
group, recorder = sys.argv[1:]
def lives():
    try:
        with open(f"/proc/{recorder}/stat") as stat:
            return "Z" not in stat.read().rsplit(")", 1)[1]
    except OSError:
        return False
taker = os.fork()
if taker == 0:
    with open(group + "/cgroup.procs", "w") as out:
        out.write(str(os.getpid()))
    taken = []
    while lives():
        taken.append(bytearray(1 << 20))
        time.sleep(0.01)
    os._exit(0)
while lives():
    time.sleep(0.01)
os.waitpid(taker, 0)
CODE
ok "out of memory: memory is taken from it" python3 hungry.py "$group" $recorder
wait $recorder 2>/dev/null
is "out of memory: the kernel ended the recorder" $? 137
ok "out of memory: the command goes on" work_on "$pid" 20
kill "$pid"
run "$PROF" recover .
is "out of memory: recovered" "$status" 0
like "out of memory: says that it was cut" "$err" 'was cut: it ends [0-9.]+ s after its start'
ok "out of memory: with what had been there" has_ticks starved.json.gz 100

# The recorder of a build is killed at some moment: the build goes on, and there is a profile.
printf 'all: %s\n' "$(printf 'o%d ' {1..30})" >Makefile
printf 'o%%:\n\t@"%s/shares" 0.1\n\t@echo done >$@\n' "$workloads" >>Makefile
for moment in 0.8 1.7; do
	rm -f o*
	"$PROF" record -q -o killed.json.gz -- make -s -j2 &
	recorder=$!
	wait_until test -e o1
	sleep $moment
	kill -9 $recorder
	wait $recorder 2>/dev/null
	run "$PROF" recover .
	is "killed after $moment s: recovered" "$status" 0
	ok "killed after $moment s: with samples" has_samples killed.json.gz
	ok "killed after $moment s: the build goes on" wait_until test -e o30
	rm -f killed.json.gz
done
done_testing
