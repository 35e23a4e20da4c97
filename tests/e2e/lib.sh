# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034 # what it sets is for those who source it
#
# Sourced by the scripts of this folder: TAP, and running prof. Changes into a new folder, $tmp,
# which is removed at the end.
set -u
export PYTHONDONTWRITEBYTECODE=1 LC_ALL=C TERM=xterm
# Variables that change how recorded programs behave.
unset PROF_OPTIONS PYTHONUNBUFFERED PYTHONPATH PYTHONHOME NODE_OPTIONS GODEBUG GOFLAGS DEBUGINFOD_URLS COLUMNS LINES
# Root is the recording user here even under sudo, unless a script says otherwise.
unset SUDO_UID SUDO_GID SUDO_USER SUDO_COMMAND
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root" || exit 1
PROF=$(realpath "${PROF:-build/prof}")
built=$(realpath "${BUILD:-build}")/tests
workloads=$built/workloads
golden=$built/golden/profiles
tmp=$(mktemp -d /tmp/prof-e2e.XXXXXX)
# Other users must be able to reach files that a test makes for them.
chmod 755 "$tmp"
cd "$tmp" || exit 1
# Spools without a place beside the output.
XDG_STATE_HOME=$(mktemp -d /tmp/prof-state.XXXXXX)
export XDG_STATE_HOME
# Defaults of whoever runs the tests.
export XDG_CONFIG_HOME=$XDG_STATE_HOME

at_exit=() # commands, in order
cleanup() {
	local command
	for command in "${at_exit[@]}"; do
		eval "$command"
	done
	cd /
	rm -rf "$tmp" "$XDG_STATE_HOME"
}
trap cleanup EXIT

. "$root/tests/e2e/rates"
# For a script that changes the rate itself.
change_rates() {
	keep_rates
	at_exit=("$restore_rates" "${at_exit[@]}")
	echo 25 >$rates_share
}
# Alone, without tests/e2e/run.
if [ "$(<$rates_share)" -lt 100 ]; then
	keep_rates
	at_exit=("$restore_rates" "${at_exit[@]}")
fi

test_count=0
diagnose() {
	local text=$1
	[ -z "$text" ] || printf '# %s\n' "${text//$'\n'/$'\n'# }"
}
pass() { # DESCRIPTION
	test_count=$((test_count + 1))
	echo "ok $test_count - $1"
}
fail() { # DESCRIPTION [DETAILS]
	test_count=$((test_count + 1))
	diagnose "${2-}"
	echo "not ok $test_count - $1"
}
ok() { # DESCRIPTION COMMAND...
	local description=$1 output
	shift
	if output=$("$@" 2>&1); then
		pass "$description"
	else
		fail "$description" "$output"$'\n'"failed: $*"
	fi
}
is() { # DESCRIPTION GOT WANTED
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1" "got:    $2"$'\n'"wanted: $3"
	fi
}
like() { # DESCRIPTION GOT REGEX
	if [[ $2 =~ $3 ]]; then
		pass "$1"
	else
		fail "$1" "got:    $2"$'\n'"wanted: $3"
	fi
}
unlike() { # DESCRIPTION GOT REGEX
	if [[ $2 =~ $3 ]]; then
		fail "$1" "got:    $2"$'\n'"unwanted: $3"
	else
		pass "$1"
	fi
}
done_testing() {
	echo "1..$test_count"
}

# Waits for COMMAND to succeed. Only a lasting failure takes two minutes.
wait_until() { # COMMAND...
	local i
	for ((i = 0; i < 6000; i++)); do
		if "$@" 2>/dev/null; then
			return 0
		fi
		sleep 0.02
	done
	echo "# waited in vain for: $*"
	return 1
}
# Prints the CPU time of all threads of a process, in the kernel's ticks of some 10 ms.
cpu_ticks() { # PID
	local text
	text=$(<"/proc/$1/stat") || return
	# shellcheck disable=SC2086 # words
	set -- ${text##*) }
	echo $((${12} + ${13}))
}
has_used() { # PID TICKS
	[ "$(cpu_ticks "$1")" -ge "$2" ]
}
# Waits until a process has used this much more CPU time.
work_on() { # PID MS
	wait_until has_used "$1" $(($(cpu_ticks "$1") + $2 * $(getconf CLK_TCK) / 1000))
}
is_gone() { # PID
	# A zombie has ended.
	! grep -q '^State:[[:space:]]*[^Z[:space:]]' "/proc/$1/status" 2>/dev/null
}

# Makes $group, a control group with the controller of memory, of whichever version has it.
memory_group() { # NAME
	local version2
	group_version1=$(awk '$3 == "cgroup" && $4 ~ /(^|,)memory(,|$)/ { print $2; exit }' /proc/mounts)
	version2=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$group_version1" ] || echo +memory >"$version2/cgroup.subtree_control"
	group=${group_version1:-$version2}/$1
	at_exit+=("rmdir $group 2>/dev/null")
	mkdir "$group"
}
# The group cannot swap beyond that, either.
limit_memory() { # BYTES
	if [ -n "$group_version1" ]; then
		echo "$1" >"$group/memory.limit_in_bytes"
		echo "$1" 2>/dev/null >"$group/memory.memsw.limit_in_bytes" || :
	else
		echo "$1" >"$group/memory.max"
		echo 0 2>/dev/null >"$group/memory.swap.max" || :
	fi
}

# Runs a command; sets $status, $out and $err.
run() { # COMMAND...
	"$@" >"$tmp/.out" 2>"$tmp/.err"
	status=$?
	out=$(<"$tmp/.out")
	err=$(<"$tmp/.err")
}
sanitizers_are_silent() {
	! grep -E 'Sanitizer|runtime error:' "$tmp/.err"
}

# Time in ms in which CPUs had work but ran nothing of this machine, or served interrupts: the
# kernel's accounts of steal, irq and softirq.
taken_ms() {
	awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { print ($7 + $8 + $9) * 1000 / hz }' /proc/stat
}

# Sets $disk to a file that is to be read past the cache: on a file system that is on a disk.
find_disk() { # NAME
	local folder
	for folder in "$tmp" "$(realpath "$root/${BUILD:-build}")" /var/tmp; do
		disk=$folder/$1
		at_exit+=("rm -f $disk")
		# Newer kernels accept O_DIRECT on a tmpfs, where nothing waits.
		[ "$(stat -f -c %T "$folder")" != tmpfs ] || continue
		if dd if=/dev/zero of="$disk" bs=65536 count=1 oflag=direct 2>/dev/null; then
			return
		fi
	done
}

# Records into NAME.json.gz, with NAME.stats, and the time taken from CPUs in NAME.taken. Is a test
# itself: prof exits with STATUS and leaves a valid profile, with each tick in its place.
record() { # NAME STATUS ARGUMENT...
	local name=$1 wanted=$2 problems taken
	shift 2
	taken=$(taken_ms)
	run "$PROF" record -o "$name.json.gz" --stats "$name.stats" "$@"
	echo "$(taken_ms) - $taken" >"$name.taken"
	problems=$(python3 "$root/tests/e2e/tick_stats.py" "$name.stats" "$name.json.gz" 2>&1)
	if [ "$status" = "$wanted" ] && [ "$problems" = "$name.json.gz: ok" ] &&
		sanitizers_are_silent >/dev/null; then
		pass "$name: recorded, exit status $wanted"
	else
		fail "$name: recorded, exit status $wanted" "exit status $status"$'\n'"$err"$'\n'"$problems"
	fi
}
stat_of() { # NAME KEY
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' \
		"$1.stats" "$2"
}

# Runs Python from stdin on a profile; judge.py tells which names it has.
judge() { # DESCRIPTION FILE [ARGUMENT...]
	ok "$1" python3 "$root/tests/e2e/judge.py" "${@:2}"
}

# Judges NAME, pages of a program that has printed the KB that were resident when fillHeap() had
# filled its heap: that has allocated at least PART of them.
judge_heap() { # NAME PART
	echo "$out" >"$1.told"
	judge "$1: its heap is allocated by who fills it" "$1.json.gz" "$1.told" "$2" <<'CODE'
resident = int(open(args[0]).read().split()[0]) * 1024
total = filled = 0
for t in p["threads"]:
    table = t.get("nativeAllocations") or {"weight": [], "stack": []}
    for weight, stack in zip(table["weight"], table["stack"]):
        frames = [] if stack is None else check_profile.stack_frames(p, stack)
        total += max(weight, 0)
        filled += max(weight, 0) if any("fillHeap" in f["name"] for f in frames) else 0
# Some may have been given back before the program looked.
expect(0.85 < total / resident < 1.6, (total, resident))
expect(filled > float(args[1]) * total, (filled, total))
CODE
}

# Records a program whose structures pretend to be a runtime's, and lie: it has to be taken for one,
# and each lie has to be bounded. DEPTH: the most frames of a stack. Rules on stdin, about `stacks`
# and `stats`, are judged as well.
judge_lies() { # PROGRAM CATEGORY FILE DEPTH
	local way rules
	rules=$(cat)
	record honest 0 -- "$1" honest 0.5
	judge "the program is taken for $2" honest.json.gz "$2" "$3" <<'CODE'
chains = [[(f["name"].split("::")[-1], f["file"], f["line"]) for f in frames if f["category"] == args[0]]
          for _, _, _, frames in samples()]
found = sum(chain[-1:] == [("honest", args[1], 7)] for chain in chains)
expect(found > 0.8 * len(chains) and found > 100, chains[:3])
CODE
	for way in cycle long lengths wild changing; do
		record $way 0 -- "$1" $way 0.5
		{
			cat <<'CODE'
import json
stats = json.load(open(args[0]))
stacks = [frames for _, _, _, frames in samples() if frames]
expect(len(stacks) > 150, f"{len(stacks)} samples")
expect(stats["lost"] == 0, stats["lost"])
expect(max(map(len, stacks)) <= int(args[1]), max(map(len, stacks)))
expect(all(len(f["name"]) <= 16384 for frames in stacks for f in frames), "names")
CODE
			echo "$rules"
		} >lies.py
		judge "$way: bounded, and each stack is counted" $way.json.gz $way.stats "$4" <lies.py
	done
}

# Expects a refusal: this status, one to three lines on stderr, one of which matches; nothing was
# started or written. The command to record must be `touch started`.
refuses() { # DESCRIPTION STATUS REGEX COMMAND...
	local description=$1 wanted=$2 regex=$3 lines why='' before
	shift 3
	before=$(find . -mindepth 1 -not -name '.out' -not -name '.err' | sort)
	run "$@"
	lines=$(wc -l <"$tmp/.err")
	[ "$status" = "$wanted" ] || why+="exit status $status, not $wanted"$'\n'
	[ "$lines" -ge 1 ] && [ "$lines" -le 3 ] || why+="$lines lines on stderr"$'\n'
	[[ $err =~ $regex ]] || why+="does not say $regex"$'\n'
	[ -z "$out" ] || why+="on stdout: $out"$'\n'
	[ ! -e started ] || why+="the command was started"$'\n'
	[ "$(find . -mindepth 1 -not -name '.out' -not -name '.err' | sort)" = "$before" ] ||
		why+="left behind: $(find . -mindepth 1 | tr '\n' ' ')"$'\n'
	rm -f started
	if [ -z "$why" ]; then
		pass "$description"
	else
		fail "$description" "$why$err"
	fi
}
# Lists temporary files in FOLDER that were neither renamed nor removed.
leftovers() { # FOLDER...
	find "$@" -maxdepth 1 -name '.?*.??????'
}

# Runs a command in the background that ends with the script; $started is its pid.
start() { # COMMAND...
	# The shell's default for background commands would be /dev/null.
	"$@" <&0 &
	started=$!
	at_exit+=("kill $started 2>/dev/null")
}
# Begins a recording in the background with that command of prof, into NAME.json.gz. Returns when it
# has begun; $recorder is prof.
begin() { # NAME COMMAND ARGUMENT...
	local name=$1 command=$2
	shift 2
	rm -f "$name.ready"
	"$PROF" "$command" -o "$name.json.gz" --stats "$name.stats" --ready-file "$name.ready" "$@" \
		2>"$name.err" &
	recorder=$!
	wait_until test -e "$name.ready" || diagnose "$(<"$name.err")"
}
# Waits for the end of a recording; a test like record().
finish() { # NAME STATUS
	local problems
	wait "$recorder"
	status=$?
	problems=$(python3 "$root/tests/e2e/tick_stats.py" "$1.stats" "$1.json.gz" 2>&1)
	if [ "$status" = "$2" ] && [ "$problems" = "$1.json.gz: ok" ]; then
		pass "$1: recorded, exit status $2"
	else
		fail "$1: recorded, exit status $2" "exit status $status"$'\n'"$(<"$1.err")"$'\n'"$problems"
	fi
}

# Records a running process until it has used this much more CPU time, however long that takes. A
# test like record().
attach_for() { # NAME PID MS [ARGUMENT...]
	begin "$1" attach -p "$2" "${@:4}"
	work_on "$2" "$3"
	kill -INT "$recorder"
	finish "$1" 0
}

# Makes a control group, in the version that has the controller: $group and $version; $enter puts a
# shell into it, before a command.
make_group() { # CONTROLLER
	local folder
	version=1
	folder=$(awk -v name="$1" '$3 == "cgroup" && "," $4 "," ~ "," name "," { print $2; exit }' \
		/proc/mounts)
	if [ -z "$folder" ]; then
		version=2
		folder=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
		echo "+$1" >"$folder/cgroup.subtree_control"
	fi
	group=$folder/prof-e2e-$1.$$
	ok "a control group with the controller $1" mkdir "$group"
	at_exit+=("rmdir $group")
	enter="echo \$\$ >$group/cgroup.procs && exec"
}
set_quota() { # MS OF_MS
	if [ "$version" = 1 ]; then
		echo $(($1 * 1000)) >"$group/cpu.cfs_quota_us"
		echo $(($2 * 1000)) >"$group/cpu.cfs_period_us"
	else
		echo $(($1 * 1000)) $(($2 * 1000)) >"$group/cpu.max"
	fi
}
