#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Spools that meet trouble: the recording goes on, or what was recorded is kept.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

spools() {
	find "${1-.}" -maxdepth 1 -name '.*.capture'
}
has_samples() { # FILE
	"$PROF" report --format json --include-idle "$1" 2>/dev/null | python3 -c \
		'import json, sys; sys.exit(json.load(sys.stdin)["summary"]["weight"] < 1)'
}

# A limit of the size of files ends both: what fits into the spool is kept.
mkdir limit
run bash -c 'ulimit -f 8; exec "$@"' - "$PROF" record --spool-dir limit -o limit/full.json -- \
	"$workloads/shares" 0.5
is "a limit of files' sizes: exit status" "$status" 125
like "a limit of files' sizes: says so" "$err" 'File too large: it ends here, the recording goes on'
like "a limit of files' sizes: what to do" "$err" 'a part of the recording is kept: prof recover limit/'
is "a limit of files' sizes: the spool stays" "$(spools limit | wc -l)" 1

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
like "a failing disk: says so" "$err" 'Input/output error: it ends here, the recording goes on'
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
