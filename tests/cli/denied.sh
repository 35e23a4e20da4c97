#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A kernel that refuses what prof asks of it: one clear line, and what helps. Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

deny=$built/cli/deny
cp "$golden/simple.json" profile.json

# One row of prof check where a system call is refused, and the verdict.
checked() { # DESCRIPTION CALL=ERRNO ROW [HINT]
	run "$deny" "$2" -- "$PROF" check
	is "check, $1: exit status" "$status" 1
	like "check, $1: its row" "$out" $'\n'"missing  $3"
	like "check, $1: the verdict" "$out" $'\nprof (cannot record here|records through sudo[^\n]*): '
	[ -z "${4-}" ] || like "check, $1: what to do" "$out" "$4"
}
checked "no bpf(2)" bpf=ENOSYS 'bpf  *loading a ring buffer: Function not implemented' \
	'a seccomp filter blocks it: .*seccomp=unconfined'
checked "an old bpf(2)" bpf=EINVAL 'bpf  *loading a ring buffer: Invalid' 'boot a newer kernel'
checked "bpf(2) without memory" bpf=ENOMEM 'bpf  *loading a ring buffer: Cannot allocate' \
	'more memory'
checked "bpf(2) not allowed" bpf=EPERM 'bpf  *loading a ring buffer: Operation not permitted'
checked "no perf events" perf_event_open=ENOSYS 'perf_event  *perf_event_open: Function not' \
	'a seccomp filter blocks it: .*seccomp=unconfined'
checked "perf events not allowed" perf_event_open=EACCES 'perf_event  *perf_event_open: Permission'
checked "perf events without memory" perf_event_open=ENOMEM \
	'perf_event  *perf_event_open: Cannot allocate memory' 'more memory'
run "$deny" bpf=EPERM -- "$PROF" check --json
is "check --json, bpf(2) not allowed: exit status" "$status" 1
ok "check --json, bpf(2) not allowed: says so" python3 - <<'CODE'
import json
report = json.load(open(".out"))
assert report["can_record"] is False
row = next(row for row in report["features"] if row["name"] == "bpf")
assert row["status"] == "missing" and "not permitted" in row["detail"] and row["hint"], row
CODE
# AddressSanitizer itself does not start without these limits.
needs_limits() {
	grep -q __asan_init "$PROF"
}
if ! needs_limits; then
	run "$deny" setrlimit=EPERM -- "$PROF" check
	like "check, the limit of open files is a secret" "$out" $'\nnote     open files  *unknown'
fi

# Nothing is written where a step fails.
denied() { # REGEX CALL=ERRNO ARGUMENT...
	local call=$2 regex=$1
	shift 2
	refuses "$call: prof $*" 125 "$regex" "$deny" "$call" -- "$PROF" "$@"
}
denied 'cannot receive signals: Too many open files' signalfd4=EMFILE symbolize profile.json -o out.json
denied 'standard input: Too many open files' fcntl@1:1030=EMFILE info -
denied 'standard output: Too many open files' fcntl@1:1030=EMFILE symbolize profile.json -o -
denied 'write profile.json: Permission denied' renameat=EACCES symbolize profile.json -o profile.json
ok "renameat=EACCES: the old file is there" cmp profile.json "$golden/simple.json"

# Works without calls that are not essential.
spared() { # CALL=ERRNO
	run "$deny" "$1" -- "$PROF" symbolize -q profile.json -o out.json
	is "$1: symbolize goes on" "$status$err" 0
	ok "$1: a profile" "$PROF" info out.json
	rm -f out.json
}
spared getrandom=EIO
spared statfs=EIO
spared statx=ENOSYS
spared memfd_create=EMFILE
spared openat2=ENOSYS
needs_limits || spared setrlimit=EPERM
spared linkat=EPERM
is "no temporary file is left" "$(leftovers .)" ""
done_testing
