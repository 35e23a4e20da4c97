#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A kernel that refuses the recorder a system call: one clear line and what helps, before the command
# is started. What a recording can do without, it does without.
# May run beside others.
. "$(dirname "$0")/lib.sh"

deny=$built/cli/deny
denied() { # REGEX CALL=ERRNO [ARGUMENT...]
	local regex=$1 call=$2
	shift 2
	refuses "$call $*" 125 "prof record: $regex" "$deny" "$call" -- "$PROF" record "$@" -- touch started
}
# Numbers behind @ are those of fcntl, ioctl, bpf: see linux/fcntl.h, perf_event.h, bpf.h.
denied 'cannot receive signals: Too many open files.*ulimit -Hn' signalfd4=EMFILE
denied 'cannot create a socket pair: Too many open files.*ulimit -Hn' socketpair=EMFILE
denied 'cannot open the process: Too many open files.*ulimit -Hn' pidfd_open=EMFILE
denied 'cannot create a timer: Too many open files.*ulimit -Hn' timerfd_create=EMFILE
denied 'cannot create an epoll instance: Too many open files.*ulimit -Hn' epoll_create1=EMFILE
denied 'cannot watch the ring of CPU [0-9]+: No space left' epoll_ctl=ENOSPC
denied 'cannot create an event descriptor: Too many open files.*ulimit -Hn' eventfd2=EMFILE
denied 'cannot start the threads that compile unwind tables: Resource' clone3=EAGAIN
denied 'cannot drop capabilities: Operation not permitted' capset=EPERM
denied 'cannot write standard output: Too many open files' fcntl@1:1030=EMFILE -o -
denied 'cannot create BPF maps: Too many open files.*ulimit -Hn' bpf=EMFILE
denied 'cannot record: bpf: loading a ring buffer: Cannot allocate memory.*more memory' bpf=ENOMEM
denied 'cannot record: bpf: loading a program: Operation not permitted.*a seccomp filter blocks it' bpf@0:5=EPERM
denied 'cannot record: perf_event: perf_event_open: Function not implemented.*a seccomp filter blocks it' \
	perf_event_open=ENOSYS
denied 'cannot load the BPF programs: No space left' bpf@0:2=ENOSPC
denied 'cannot configure the BPF objects: Operation not permitted' bpf@0:15=EPERM
denied 'cannot attach the BPF programs: Operation not permitted' bpf@0:17=EPERM
denied 'cannot open the sampling event: Too many open files.*ulimit -Hn' perf_event_open=EMFILE
denied 'cannot record: perf_event: perf_event_open: Cannot allocate' perf_event_open=ENOMEM
denied 'cannot attach the sampler to the sampling event: Input/output' ioctl@1:0x40042408=EIO
denied 'cannot enable sampling on CPU [0-9]+: Input/output' ioctl@1:0x2400=EIO
denied 'cannot record: rings: cannot map the ring of mapping events of CPU [0-9]+: Cannot allocate.*mlock_kb' \
	mmap@3:1=ENOMEM
# It is set when the command runs.
run "$deny" timerfd_settime=EINVAL -- "$PROF" record -- true
is "timerfd_settime=EINVAL: exit status" "$status" 125
is "timerfd_settime=EINVAL: said" "$err" 'prof record: cannot set a timer: Invalid argument'
is "timerfd_settime=EINVAL: no file" "$(ls)" ""

# Runs the command as another user.
own=$(stat -c %U "$PWD")
[ "$own" = root ] || fail "the scripts' folder is root's" "$own"
refuses "a command that cannot get its user's groups" 125 'cannot assume the groups of user 65534' \
	env SUDO_UID=65534 SUDO_GID=65534 "$deny" setgroups=EPERM -- "$PROF" record -o /tmp/none.json \
	-- touch started
refuses "a command that cannot become its user" 125 'cannot become user 65534' \
	env SUDO_UID=65534 SUDO_GID=65534 "$deny" setresuid=EPERM setuid=EPERM -- "$PROF" record \
	-o /tmp/none.json -- touch started

spared() { # CALL=ERRNO REGEX
	run "$deny" "$1" -- "$PROF" record -o out.json.gz -- "$workloads/shares" 0.1
	is "$1: recorded" "$status" 0
	like "$1: what is said" "$err" "$2"
	ok "$1: a valid profile" python3 "$root/tests/check_profile.py" out.json.gz
	rm -f out.json.gz
}
for call in openat2=ENOSYS statfs=EIO statx=ENOMEM linkat=EIO setrlimit=EPERM \
	ioctl@1:0x2401=EIO bpf@0:1=EPERM; do
	spared $call 'wrote out.json.gz'
done
# From version 1.4 on libbpf itself makes such descriptors.
libbpf=$(realpath "$(ldd "$PROF" | awk '$1 ~ /^libbpf/ { print $3 }')")
libbpf=${libbpf##*.so.1.}
for call in memfd_create=EMFILE fcntl@1:1030=EMFILE; do
	if [ "${libbpf%%.*}" -ge 4 ]; then
		denied '[a-z]* the BPF objects: Too many open files.*ulimit -Hn' $call
	else
		spared $call 'wrote out.json.gz'
	fi
done
is "no temporary file is left" "$(leftovers .)" ""
done_testing
