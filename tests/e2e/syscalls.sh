#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --syscalls: each system call of some length is a marker with what it was about and who made it.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

cat >found.py <<'CODE'
def found(p, name=None):
    """(name, start, end in ns, data with texts, frames of the cause) of each call; the thread."""
    strings = p["shared"]["stringArray"]
    zero = p["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"]
    rows = []
    for t in p["threads"]:
        m = t["markers"]
        for i in range(m["length"]):
            data = m["data"][i]
            if not data or data["type"] != "syscall" or name not in (None, strings[m["name"][i]]):
                continue
            texts = {key: strings[data[key]] if key in ("path", "error", "state") else data[key]
                     for key in data if key not in ("type", "cause")}
            stack = data.get("cause", {}).get("stack")
            frames = [] if stack is None else [f["name"] for f in
                                               check_profile.stack_frames(p, stack)]
            rows.append((strings[m["name"][i]], m["startTime"][i] * 1e6 + zero,
                         m["endTime"][i] * 1e6 + zero, texts, frames, t))
    return rows
CODE
calls() { # DESCRIPTION FILE [ARGUMENT...]
	cat found.py - >.judged
	judge "$@" <.judged
}

# Sleeps ten times behind its reads.
reads=("$root/tests/workloads/python/reads.py" 10)
record reads 0 --syscalls=0 -- /usr/bin/python3 "${reads[@]}"
echo "$out" >reads.told
calls "a hundred reads of a pipe are a hundred markers of their length" reads.json.gz reads.told <<'CODE'
told = [tuple(map(int, line.split())) for line in open(args[0])]
fd = told[0][0]
reads = [row for row in found(p, "read") if row[3].get("fd") == fd and row[1] >= told[0][1]
         and row[2] <= told[-1][3]]
expect(len(told) == 100 and len(reads) == 100, f"{len(reads)} of {len(told)} reads")
for (_, begin, _, end), (_, start, stop, data, frames, t) in zip(told, sorted(reads, key=lambda r: r[1])):
    expect(begin <= start <= stop <= end, f"{start} to {stop} in {begin} to {end}")
    expect(data["result"] == 20 and "error" not in data, data)
    expect(t["isMainThread"] and frames, frames)
# Until the unwind tables of the program are ready, not all stacks can be found.
whole = [frames for *_, frames, _ in reads if "main" in " ".join(frames) and "read" in frames[-3:]]
expect(len(whole) >= 10, f"{len(whole)} stacks are whole")
half = sorted(stop - start for _, start, stop, *_ in reads)[50]
expect(10e6 <= half <= 60e6, f"half of them take {half / 1e6} ms")
CODE
calls "the statistics count them" reads.json.gz reads.stats <<'CODE'
import json
stats = json.load(open(args[0]))["syscalls"]
expect(stats["recorded"] == len(found(p)), (stats, len(found(p))))
CODE
like "so does the summary" "$err" 'syscalls: [0-9]+, [0-9]+ lost'
ok "report lists them" sh -c "'$PROF' report --markers --format csv reads.json.gz | grep -q 'read.*File descriptor: [0-9]*, Returned: 20'"
ok "report selects by them" sh -c "'$PROF' report --during read --include-idle reads.json.gz | grep -q read"
ok "info knows them" sh -c "'$PROF' info reads.json.gz | grep -q syscall"

record long 0 --syscalls=15 -- /usr/bin/python3 "${reads[@]}"
calls "a length leaves shorter ones out, and no longer one" long.json.gz <<'CODE'
rows = found(p)
expect(all(end - start >= 15e6 for _, start, end, *_ in rows), "a short one")
# Python sleeps until a time: a call that begins late is shorter.
sleeps = [row for row in rows if row[0] == "clock_nanosleep" and row[5]["isMainThread"]
          and row[5]["pid"] == p["threads"][0]["pid"]]
expect(len(sleeps) == 10, f"{len(sleeps)} sleeps")
CODE

cat >execs.py <<'CODE'
import os
for path in "/nowhere/program", "/nowhere/" + 300 * "x":
    try:
        os.execv(path, ["program"])
    except OSError:
        pass
try:
    open("/nowhere/file with blanks")
except OSError:
    pass
os.execv("/bin/true", ["true"])
CODE
record execs 0 --syscalls=0 -- /usr/bin/python3 execs.py
calls "an exec has its path, and the stack that it replaces" execs.json.gz <<'CODE'
execs = sorted(found(p, "execve"), key=lambda r: r[1])
said = [(data["path"], data.get("error", data.get("result"))) for _, _, _, data, _, _ in execs]
long = ("/nowhere/" + 300 * "x")[:255]
expect(said == [("/nowhere/program", "ENOENT"), (long, "ENAMETOOLONG"), ("/bin/true", 0)]
       or said[1] == (long, "ENOENT") and len(said) == 3, said)
for row in execs:
    expect(any("execv" in name for name in row[4]), row[4])
opened = [data for _, _, _, data, _, _ in found(p, "openat")
          if data.get("path") == "/nowhere/file with blanks"]
expect([data.get("error") for data in opened] == ["ENOENT"], opened)
CODE

record open 0 --syscalls -d 0.5 --kill -- sleep 100
calls "a call that has not returned says so" open.json.gz <<'CODE'
rows = [row for row in found(p) if "state" in row[3]]
expect([row[0] for row in rows] == ["clock_nanosleep"], rows)
for _, start, end, data, frames, _ in rows:
    expect(data["state"] == "has not returned" and "result" not in data, data)
    expect(end - start >= 100e6, f"{(end - start) / 1e6} ms")
CODE

start sleep 100
sleeper=$started
begin before attach --syscalls=0 -p "$sleeper"
kill "$sleeper"
finish before 0
calls "one that began before recording does begins with it" before.json.gz <<'CODE'
rows = [row for row in found(p) if row[0] == "clock_nanosleep"]
expect(len(rows) == 1, rows)
for _, start, _, data, _, _ in rows:
    expect(start == p["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"], start)
    expect(data["error"].startswith("ERESTART"), data)
CODE

if [ "$(uname -m)" = x86_64 ]; then
	record compat 0 --syscalls=0 -- "$workloads/compat" 40
	calls "those of 32-bit programs have the names of their table" compat.json.gz <<'CODE'
from collections import Counter
counts = Counter(name for name, *_ in found(p))
expect(set(counts) == {"sigaction", "clock_gettime", "getpid", "kill", "sigreturn"}, counts)
expect(counts["sigaction"] == 1 and counts["getpid"] == counts["kill"] == 2, counts)
CODE
fi

record none 0 -- true
judge "without the option there are none" none.json.gz none.stats <<'CODE'
import json
expect("syscall" not in [s["name"] for s in p["meta"]["markerSchema"]], "a schema")
expect("syscalls" not in json.load(open(args[0])), "statistics")
CODE
refuses "a length is a number" 2 "--syscalls" "$PROF" record --syscalls=none -- touch started
done_testing
