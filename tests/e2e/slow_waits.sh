#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Markers of long waits, from the waits alone.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

reads=$root/tests/workloads/python/reads.py
record reads 0 --off-cpu=all -- /usr/bin/python3 "$reads"
echo "$out" >reads.told
judge "a hundred reads of a pipe are a hundred slow calls of the same length" reads.json.gz reads.told <<'CODE'
strings = p["shared"]["stringArray"]
zero = p["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"]
told = [tuple(map(int, line.split())) for line in open(args[0])]
reader = [t for t in p["threads"] if t["isMainThread"]][0]
m = reader["markers"]
found = [(m["startTime"][i] * 1e6 + zero, m["endTime"][i] * 1e6 + zero, m["data"][i])
         for i in range(m["length"])
         if strings[m["name"][i]] == "Slow call" and strings[m["data"][i]["call"]] == "read"]
# On a busy machine, the writer may run late, and the reader may wait for a CPU before its call.
long = [row for row in told if row[2] - row[1] >= 11e6]
expect(len(told) == 100 and len(long) >= 50, f"{len(long)} of {len(told)} reads were long")
late = 0
for fd, begin, written, end in long:
    inside = [(a, b, data) for a, b, data in found if begin <= a and b <= end]
    late += not inside
    expect(len(inside) <= 1, f"{len(inside)} in a read of {(end - begin) / 1e6} ms")
    for a, b, data in inside:
        expect(b - a >= 10e6, f"{(b - a) / 1e6} of {(end - begin) / 1e6} ms")
        late += b < written
        expect(data["fd"] == fd, data)
        frames = [f["name"] for f in check_profile.stack_frames(p, data["cause"]["stack"])]
        expect(frames[-1] == "[read]", frames)
expect(late <= 5, f"{late} of {len(long)} reads are not one slow call")
blocked = sum(b - a for a, b, _ in found)
expect(blocked >= 0.9 * sum(written - begin for _, begin, written, _ in long), "in all")
# The writer only sleeps.
others = [strings[name] for t in p["threads"] if t is not reader for name in t["markers"]["name"]]
expect("Slow call" not in others, others)
CODE
ok "report lists them" sh -c "[ \$('$PROF' report --markers --format csv reads.json.gz | grep -c 'Slow call.*Call: read') -ge 20 ]"
ok "report selects by them" sh -c "'$PROF' report --during 'Slow call' --include-idle reads.json.gz | grep -q read"

if [ -e "$workloads/compat" ]; then
	# The arguments of its calls are in other registers.
	# shellcheck disable=SC2016 # the shell below expands it
	record compat 0 --off-cpu=all -- bash -c \
		'for i in 1 2 3; do sleep 0.05; printf x; done | "$0" 0 37 37<&0' "$workloads/compat"
	judge "descriptors of a 32-bit program's calls" compat.json.gz <<'CODE'
strings = p["shared"]["stringArray"]
reads = [data for t in p["threads"] if t["processName"].startswith("compat")
         for data in t["markers"]["data"]
         if data["type"] == "Slow call" and strings[data["call"]] == "read"]
expect(len(reads) >= 3, reads)
expect({data.get("fd") for data in reads} == {37}, reads)
CODE
fi

like "report tells that waits are left out" "$("$PROF" report --by function reads.json.gz)" \
	$'\nwaits are left out; --include-idle adds them$'
unlike "and when they are not" "$("$PROF" report --include-idle reads.json.gz)" 'waits are not'
refuses "report by a wait's label without waits" 125 \
	'no sample with the function \[read\]; --include-idle counts waits, too' \
	"$PROF" report --callers '[read]' reads.json.gz

record none 0 --off-cpu=all --slow 0 -- /usr/bin/python3 "$reads"
judge "--slow 0 leaves them out" none.json.gz <<'CODE'
expect("Slow call" not in [s["name"] for s in p["meta"]["markerSchema"]], "a schema")
CODE
refuses "a length is a number" 2 "--slow" "$PROF" record --slow none -- touch started
done_testing
