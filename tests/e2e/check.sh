#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof check on a machine that lacks one thing after the other: the row, the hint, the verdict.
# May run beside others.
. "$(dirname "$0")/lib.sh"

# Runs prof check in a mount namespace that SETUP has changed; $lacking are commands before prof.
lacking=()
lacks() { # DESCRIPTION STATUS ROW HINT [SETUP]
	# shellcheck disable=SC2016 # for the inner shell
	run unshare -m sh -c 'eval "$1" && shift && exec "$@"' sh "${5-:}" "${lacking[@]}" "$PROF" check
	is "$1: exit status" "$status" "$2"
	like "$1: the row" "$out" "(^|"$'\n'")$3"
	like "$1: what to do" "$out" "$4"
	lacking=()
}
over() { # FILE: puts it there, for as long as the namespace lives
	echo "mount --bind '$PWD/with' '$1'"
}

lacking=(setarch "$(uname -m)" --uname-2.6)
lacks "an old kernel" 1 'missing  kernel  *2\.6\.[^ ]* is too old: Linux 6\.1 or newer' \
	'boot a newer kernel'
lacks "no BTF" 1 'missing  btf  */sys/kernel/btf/vmlinux: No such file' \
	'boot a kernel with CONFIG_DEBUG_INFO_BTF=y' 'mount -t tmpfs none /sys/kernel/btf'
like "no BTF: waits are not blamed on prof" "$out" 'note     waits  *not tried without btf'
lacks "no /sys" 1 'missing  btf  */sys/kernel/btf/vmlinux: No such file' \
	'run: mount -t sysfs sysfs /sys' 'mount -t tmpfs none /sys'
# A kernel whose types are not those that a probe expects.
sed 's/btf_trace_sched_switch/btf_trace_sched_SWITCH/' /sys/kernel/btf/vmlinux >types
lacks "no context switches to attach to" 0 'note     waits  *not recorded: ' 'see the notes' \
	"mount --bind '$PWD/types' /sys/kernel/btf/vmlinux"
echo 'none integrity [confidentiality]' >with
lacks "a kernel that is locked down" 1 'missing  lockdown  *the kernel is locked down' \
	'boot with lockdown=integrity' \
	"mount -t tmpfs none /sys/kernel/security && : >/sys/kernel/security/lockdown &&
		$(over /sys/kernel/security/lockdown)"
deny=$built/cli/deny
echo 4 >with
lacking=("$deny" perf_event_open=EACCES --)
lacks "perf events for administrators alone" 1 \
	'missing  perf_event_paranoid  *4: above 2, CAP_PERFMON' \
	'run: sudo sysctl kernel.perf_event_paranoid=2' "$(over /proc/sys/kernel/perf_event_paranoid)"
seccomp='a seccomp filter blocks it: start the container with --security-opt seccomp=unconfined'
for error in "EPERM Operation not permitted" "ENOSYS Function not implemented"; do
	lacking=("$deny" "perf_event_open=${error%% *}" --)
	lacks "perf events that a filter refuses: ${error%% *}" 1 \
		"missing  perf_event  *perf_event_open: ${error#* }; $seccomp" 'prof cannot record here: perf_event'
	lacking=("$deny" "bpf=${error%% *}" --)
	lacks "BPF that a filter refuses: ${error%% *}" 1 \
		"missing  bpf  *loading a ring buffer: ${error#* }; $seccomp" 'prof cannot record here: bpf'
done
: >with
lacks "no perf events" 1 'missing  perf_event_paranoid  *the kernel has no perf events' \
	'CONFIG_PERF_EVENTS=y' "$(over /proc/sys/kernel/perf_event_paranoid)"
lacking=(prlimit --nofile=1000:1000)
lacks "few descriptors" 0 'note     open files  *at most 1000 open files: names may be missing' \
	'run: ulimit -Hn [0-9]+'
lacking=(unshare --pid --fork --mount-proc)
lacks "the pids of a container" 0 'note     processes  *only those of this container' '--pid=host.*hostPID: true'
sed 's/^[0-9a-f]*/0000000000000000/' /proc/kallsyms | head -1000 >with
cp with symbols
echo 2 >restrict
lacks "addresses that nobody is shown" 0 'note     kptr_restrict  *2: kernel functions have no names' \
	'run: sudo sysctl kernel.kptr_restrict=1' "mount --bind '$PWD/symbols' /proc/kallsyms &&
		mount --bind '$PWD/restrict' /proc/sys/kernel/kptr_restrict"
lacking=(setpriv --inh-caps=-syslog --bounding-set=-syslog)
lacks "addresses that are not for this process" 0 \
	'note     capabilities  *missing cap_syslog \(kernel functions have no names\)' \
	'with --cap-add for BPF, PERFMON' "mount --bind '$PWD/symbols' /proc/kallsyms"
lacking=(setpriv "--inh-caps=-bpf,-sys_admin" "--bounding-set=-bpf,-sys_admin")
lacks "a container without the capabilities" 1 'missing  capabilities  *not privileged: missing cap_bpf' \
	'in a container: start it with --privileged'
lacking=(setpriv "--inh-caps=-bpf,-perfmon,-checkpoint_restore"
	"--bounding-set=-bpf,-perfmon,-checkpoint_restore")
lacks "CAP_SYS_ADMIN alone, as before Linux 5.8" 0 'ok       capabilities' 'prof can record here'
lacking=(unshare -U -r)
lacks "root of a user namespace" 1 'missing  bpf  *loading a ring buffer: Operation not permitted' \
	'run prof as root of the machine, outside of the user namespace'

# A path that is longer than what helps.
mkdir -p "a path/$(printf 'x%.0s' {1..100})"
cp "$PROF" "a path/prof"
cp "$PROF" "a path/$(printf 'x%.0s' {1..100})/prof"
chmod -R a+rX "a path"
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
run "${nobody[@]}" "a path/prof" check
like "setcap is given the program's path" "$out" "sudo setcap [a-z_,]*\+ep '$PWD/a path/prof'"
run "${nobody[@]}" "a path/$(printf 'x%.0s' {1..100})/prof" check
like "setcap is not given a path that is longer than the rest" "$out" 'sudo setcap [a-z_,]*\+ep PROF'
chmod a+rx . && cp "$PROF" prof && chmod a+rx prof
run "${nobody[@]}" --no-new-privs ./prof check
like "no_new_privs: neither sudo nor setcap" "$out" 'no_new_privs is set, so neither sudo nor setcap helps'
unlike "no_new_privs: no word that it would ask sudo" "$out" 'which it runs itself'
run "${nobody[@]}" --no-new-privs ./prof record -- true
like "no_new_privs: a recording" "$err" \
	'^prof record: recording needs root, and sudo cannot provide it: no_new_privs is set.*; as root \(in a container: --user 0\) run: [^ ]*prof record -- true$'
run "$PROF" check
is "all this was for a namespace alone: prof records here" "$status" 0
done_testing
