#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Recording within a control group's memory limit: everything is smaller, the recording ends before
# the kernel would end it, or is refused.
. "$(dirname "$0")/lib.sh"

# Rings and the programs' own maps have a part for each CPU.
cpus=$(getconf _NPROCESSORS_ONLN)
mb=$((62 + cpus))
if grep -q __asan_init "$PROF"; then
	mb=$((240 + cpus))
	export ASAN_OPTIONS=${ASAN_OPTIONS-}:quarantine_size_mb=1
fi
memory_group prof-small-$$
# shellcheck disable=SC2016 # the inner shell's
enter=(sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group")

# Limits of version 1 can be lowered only.
# Takes memory until less than 7 MB are left, and waits until prof has seen that.
cat >hungry.py <<'CODE'
import sys, time
group, version1, told = sys.argv[1], sys.argv[2] == "1", sys.argv[3]
def number(name):
    with open(f"{group}/{name}") as file:
        return int(file.read())
def left():
    with open(group + "/memory.stat") as file:
        stat = dict(line.split() for line in file)
    prefix = "total_" if version1 else ""
    cached = sum(int(stat[prefix + key]) for key in ("inactive_file", "active_file"))
    return (number("memory.limit_in_bytes" if version1 else "memory.max") + cached -
            number("memory.usage_in_bytes" if version1 else "memory.current"))
taken = []
while "is near" not in open(told).read():
    if left() > 7 << 20:
        taken.append(bytearray(b"x" * (1 << 20)))
    else:
        time.sleep(0.01)
CODE
[ -n "$group_version1" ] && version=1 || version=2
limit_memory $((2 * mb << 20))
"${enter[@]}" "$PROF" record -F 99 -o near.json.gz --stats near.stats -- \
	sh -c "echo 1000 >/proc/self/oom_score_adj; exec python3 hungry.py '$group' $version near.err" 2>near.err
is "a limit that comes near: exit status" $? 0
like "it says why it ends" "$(<near.err)" 'memory limit of the control group is near: the recording ends'
judge "there is what was recorded until then" near.json.gz <<'CODE'
expect(any("python" in t["processName"] for t in p["threads"]), [t["processName"] for t in p["threads"]])
CODE
gone() { [ ! -s "$group/cgroup.procs" ]; }
wait_until gone

limit_memory $((mb << 20))
"${enter[@]}" "$PROF" record -a -d 1 -o machine.json.gz --stats machine.stats 2>machine.err
is "the whole machine within $mb MB: exit status" $? 0
like "it says what it does" "$(<machine.err)" \
	'memory limit of [0-9]+ MB: a ring of [0-9.]+ [kM]B for each CPU, unwind tables of up to [0-9.]+ MB'
judge "samples of programs beside it" machine.json.gz <<'CODE'
expect(any(t["samples"]["length"] for t in p["threads"]), "no samples")
CODE

limit_memory $((32 << 20))
run "${enter[@]}" "$PROF" record -a -d 1 -o never.json.gz
is "too little for the whole machine: exit status" "$status" 125
like "refused before anything is recorded" "$err" \
	"memory limit of 34 MB leaves [0-9]+ MB.*raise the limit, or record single programs"
ok "no file is left" test ! -e never.json.gz
done_testing
