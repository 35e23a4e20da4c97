#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --usdt: probes that programs and libraries declare.
#
# May run beside others.
# shellcheck disable=SC2016 # arguments of labels
. "$(dirname "$0")/lib.sh"

truth=$workloads/usdt
found='
import json
strings = p["shared"]["stringArray"]
found = []
for t in p["threads"]:
    m = t["markers"]
    for i in range(m["length"]):
        data = m["data"][i]
        if data and data["type"].startswith("usdt "):
            expect(m["phase"][i] == 0, "an interval")
            found.append((m["startTime"][i], strings[m["name"][i]], t, data))
found.sort(key=lambda row: row[0])
def stack(row):
    return [f["name"] for f in check_profile.stack_frames(p, row[3]["cause"]["stack"])]
stats = json.load(open(args[0]))["usdt"]
expect(stats["recorded"] == len(found) and stats["lost"] == 0, (stats, len(found)))
told = []
if len(args) > 1:
    for line in open(args[1]):
        pid, number, total, low, text = line.split(None, 4)
        told.append((pid, int(number), int(total), int(low), text.strip()))
'
# The command is known before it begins: nothing is missed.
record own 0 --usdt 'workload:step=Step %4$s: %d of %2$x' --usdt 'workload:*' -- "$truth" 20
echo "$out" >own.told
judge "all arguments of all probes, from the first on" own.json.gz own.stats own.told <<CODE
$found
steps = [row for row in found if row[1] == "Step"]
expect(len(told) == 20 and [row[1] for row in found] == ["Step", "workload:plain"] * 20,
       [row[1] for row in found])
for row, (pid, number, total, low, text) in zip(steps, told):
    data = row[3]
    expect(str(row[2]["pid"]) == pid, row[2]["pid"])
    got = data["arg1"], strings[data["arg2"]], data["arg3"], strings[data["arg4"]], data["arg5"]
    expect(got == (number, hex(total), low, text, 7), (got, number, total, low, text))
    expect("arg6" not in data, "a floating-point number")
    expect("main" in stack(row) and "pass_step" in stack(row), stack(row))
[schema] = [s for s in p["meta"]["markerSchema"] if s["name"] == "usdt workload:step"]
expect(schema["chartLabel"] == "Step {marker.data.arg4}: {marker.data.arg1} of {marker.data.arg2}",
       schema)
expect(stats["places"] == 2 and stats["failed"] == 0 and stats["left_out"] == 0, stats)
CODE
like "the summary counts them" "$err" 'usdt: 40, 0 lost'
ok "report lists them" sh -c "'$PROF' report --markers --format csv own.json.gz | grep -q 'Step.*step 3 of 20'"
run "$PROF" report --during 'Step*' own.json.gz
like "they are moments, which select nothing" "$err" 'have no duration'
ok "a sanitized profile has none of their texts" sh -c "
	'$PROF' convert --sanitize -o clean.json own.json.gz && ! grep -q 'step 3' clean.json && ! grep -q workload: clean.json"

# Pairs of probes are spans, nested ones too.
record pairs 0 --usdt 'shop:query__start=query %d' --usdt 'shop:*' -- "$truth" query 5
judge "probes before and after are a span" pairs.json.gz <<'CODE'
strings = p["shared"]["stringArray"]
spans = {}
for t in p["threads"]:
    m = t["markers"]
    for i in range(m["length"]):
        if m["data"][i] and m["data"][i]["type"] == "usdt shop:query__start":
            expect(m["phase"][i] == 1, m["phase"][i])
            spans[m["data"][i]["arg1"]] = (m["startTime"][i], m["endTime"][i])
expect(sorted(spans) == sorted([10 * i for i in range(1, 6)] + [10 * i + 1 for i in range(1, 6)]), spans)
for number, (start, end) in spans.items():
    expect(end - start >= (10 if number % 10 == 0 else 5), (number, end - start))
    inner = spans[number // 10 * 10 + 1]
    expect(spans[number // 10 * 10][0] < inner[0] < inner[1] < spans[number // 10 * 10][1], number)
CODE
ok "report selects by them" "$PROF" report --include-idle --during query pairs.json.gz

record silent 0 -- "$truth" 3
judge "without the option nothing is attached" silent.json.gz silent.stats <<'CODE'
import json
expect("usdt" not in json.load(open(args[0])), "statistics")
expect(not [s for s in p["meta"]["markerSchema"] if s["name"].startswith("usdt")], "a schema")
CODE

# A process whose first thread is another one than that which was attached to.
record exec 0 --usdt 'workload:step=%4$s' -- "$truth" exec 5
echo "$out" >exec.told
of_process="
expect(len(told) == 5, told)
expect([(str(row[2]['pid']), row[3]['arg1'], strings[row[3]['arg4']]) for row in found] ==
       [(pid, number, text) for pid, number, _, _, text in told], (found, told))
"
judge "a program that another thread executes" exec.json.gz exec.stats exec.told <<<"$found$of_process"

# Attaching ends with one more link of prof's, or several.
links() {
	find "/proc/$recorder/fd" -lname '*bpf*link*' 2>/dev/null | wc -l
}
has_more_links() { # NUMBER
	[ "$(links)" -gt "$1" ]
}
"$PROF" record --usdt 'workload:step=%4$s' -o fork.json.gz --stats fork.stats --ready-file begun \
	-- "$truth" fork 5 >fork.told 2>fork.err &
recorder=$!
wait_until test -e begun
before=$(links)
touch fork
wait_until has_more_links "$before"
touch go
wait "$recorder"
judge "a process that is forked" fork.json.gz fork.stats fork.told <<<"$found$of_process"

# Reads the counter of tracers in the memory of a process.
cat >counter.py <<'CODE'
import sys
with open(f"/proc/{sys.argv[1]}/mem", "rb") as f:
    f.seek(int(sys.argv[2]))
    print(int.from_bytes(f.read(2), "little"))
CODE
counter_is() { # NUMBER
	[ "$(python3 counter.py "$pid" "$address")" = "$1" ]
}
# Its file is gone before anybody asks.
cp "$truth" gone
./gone wait 600 >waiting &
at_exit+=("kill $!")
wait_until test -s waiting
rm gone
read -t 120 -r pid address <>waiting
is "a program starts without tracers" "$(python3 counter.py "$pid" "$address")" 0
attached_while() { # DESCRIPTION COMMAND...
	local description=$1
	shift
	"$PROF" "$@" --usdt 'workload:*' -o attached.json.gz --ready-file ready 2>attached.err &
	recorder=$!
	wait_until test -e ready
	is "$description" "$(python3 counter.py "$pid" "$address")" 1
	kill -INT "$recorder"
	wait "$recorder"
	rm -f ready
	is "$description: nothing is left attached" "$(python3 counter.py "$pid" "$address")" 0
}
attached_while "a running process is attached to when recording begins" attach -p "$pid"
attached_while "as one of all processes it is attached to, too" record -a

# Killed, the kernel detaches.
"$PROF" attach -p "$pid" --usdt 'workload:*' -o attached.json.gz --ready-file ready2 2>attached.err &
recorder=$!
wait_until test -e ready2
kill -KILL "$recorder"
ok "also if prof is killed" wait_until counter_is 0

# A program of the distribution: its interpreter. Not all versions have probes of functions.
cat >imports.py <<'CODE'
for i in range(30):
    try:
        __import__(f"module_{i}")
    except ImportError:
        pass
CODE
record python 0 --usdt 'python:import__find__load__done=import of %s: %d' -- /usr/bin/python3 imports.py
judge "imports of Python" python.json.gz python.stats <<CODE
$found
imports = [row for row in found if strings[row[3]["arg1"]].startswith("module_")]
expect([strings[row[3]["arg1"]] for row in imports] == [f"module_{i}" for i in range(30)], imports)
for row in imports:
    expect(row[1] == "import of" and row[3]["arg2"] == 0, row[3])
CODE

# A library that is loaded late, by a process that was there before.
cat >library.py <<'CODE'
import ctypes, sys
print("begun", flush=True)
sys.stdin.readline()
library = ctypes.CDLL("libstdc++.so.6")
print("loaded", flush=True)
sys.stdin.readline()
library.__cxa_allocate_exception.restype = ctypes.c_void_p
library.__cxa_allocate_exception.argtypes = [ctypes.c_size_t]
library.__cxa_throw.argtypes = [ctypes.c_void_p] * 3
# Nobody catches it.
library.__cxa_throw(library.__cxa_allocate_exception(8),
                    ctypes.addressof(ctypes.c_void_p.in_dll(library, "_ZTIi")), None)
CODE
mkfifo input
(ulimit -c 0 && exec /usr/bin/python3 library.py) <input >library.told 2>&1 &
program=$!
exec {talk}>input
wait_until grep -q begun library.told
"$PROF" attach -p "$program" --usdt 'libstdcxx:throw' -o library.json.gz --stats library.stats \
	--ready-file ready3 2>library.err &
recorder=$!
wait_until test -e ready3
before=$(links)
echo >&"$talk"
wait_until grep -q loaded library.told
wait_until has_more_links "$before"
echo >&"$talk"
wait "$program"
wait "$recorder"
judge "a library that is loaded while recording" library.json.gz library.stats <<CODE
$found
expect([row[1] for row in found] == ["libstdcxx:throw"], found)
expect("__cxa_throw" in stack(found[0]) and "<module>" in stack(found[0]), stack(found[0]))
CODE

# A user's program with thousands of probes leaves room for those of others.
python3 - >many.c <<'CODE'
print("#include <unistd.h>\nint main(void) { write(1, \"begun\\n\", 6); pause();")
for i in range(6000):
    print(f"""__asm__ volatile("990: nop\\n.pushsection .note.stapsdt,\\"\\",\\"note\\"\\n.balign 4\\n"
".4byte 992f-991f,994f-993f,3\\n991: .asciz \\"stapsdt\\"\\n992: .balign 4\\n993: .8byte 990b,0,0\\n"
".asciz \\"many\\"\\n.asciz \\"p{i}\\"\\n.asciz \\"8@%rdi\\"\\n994: .balign 4\\n.popsection");""")
print("}")
CODE
gcc -o many many.c
chown 4001 many
start setpriv --reuid 4001 --regid 4001 --clear-groups "$PWD/many" >many.told
wait_until test -s many.told
record shares 0 -a --usdt 'many:*' --usdt 'workload:*' -- "$truth" 3
judge "beside thousands of probes of another user" shares.json.gz shares.stats <<'CODE'
import json
strings = p["shared"]["stringArray"]
steps = [data for t in p["threads"] for data in t["markers"]["data"] if data and data["type"] == "usdt workload:step"]
expect(len(steps) == 3, steps)
stats = json.load(open(args[0]))["usdt"]
expect(stats["left_out"] >= 6000 - 1024, stats)
CODE
like "whose probes are missing" "$err" 'USDT probes are missing: too many of user 4001, in [0-9]+ process files'
kill "$started"

record absent 0 --usdt 'nobody:nothing' -- true
like "a probe that no file has is told of" "$err" \
	'no probe nobody:nothing was found in the files that the recorded processes mapped'
refuses "what names no probe" 2 "--usdt: must be PROVIDER:NAME\[=LABEL\], not 'nonsense'" \
	"$PROF" record --usdt nonsense -- touch started
refuses "a label that is none" 2 "'%u' is not one of" \
	"$PROF" record --usdt 'a:b=%u' -- touch started
done_testing
