#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Spans that programs tell of themselves in marker files, in several languages; --span-frames.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

truth=$root/tests/workloads/spans
mkdir own
# Markers are compared with the file that the program wrote; frames with the markers.
compare() { # NAME FILE...
	judge "$1: the spans that the program told, to the microsecond" "$1.json.gz" "${@:2}" <<'CODE'
strings = p["shared"]["stringArray"]
told, begun = [], {}
for path in args:
    for line in open(path):
        words = line.split()
        if words[0] == "i":
            told.append((int(words[1]), int(words[1]), line.split(" ", 2)[2].split(" #")[0].split(" @")[0].strip()))
        elif words[0] == "b":
            begun[words[2]] = int(words[1]), line.split(" ", 3)[3].strip()
        elif words[0] == "e":
            begin, name = begun.pop(words[2])
            told.append((begin, int(words[1]), name))
        else:
            told.append((int(words[0]), int(words[1]), line.split(" ", 2)[2].strip()))
expect(len([name for _, _, name in told if name == "request"]) == 5, "five requests")
expect(len([name for _, _, name in told if name == "half way"]) == 5, "five instants")
zero = p["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"]
found = []
for t in p["threads"]:
    m = t["markers"]
    for name, start, end, data in zip(m["name"], m["startTime"], m["endTime"], m["data"]):
        if data and data["type"].startswith("span"):
            expect(t["isMainThread"], t["name"])
            found.append((start, start if end is None else end, strings[name]))
            if strings[name] == "half way":
                expect(strings[data["step"]] in "01234", data)
expect(len(found) == len(told), f"{len(found)} of {len(told)} spans")
for (start, end, name), (begin, finish, wanted) in zip(sorted(found), sorted(told)):
    expect(name == wanted, f"{name}, not {wanted}")
    expect(abs(start * 1e6 + zero - begin) <= 1000, f"{name} begins {start}, not {begin - zero} ns")
    expect(abs(end * 1e6 + zero - finish) <= 1000, f"{name} ends {end}, not {finish - zero} ns")
# Each sample of the thread has just the spans at its root that were open.
own = [t for t in p["threads"] if any(data and data["type"].startswith("span")
                                      for data in t["markers"]["data"])]
expect(len(own) == 1, f"{len(own)} threads have spans")
seen = 0
for _, time, _, frames in samples(own[0]):
    open_at = [name for start, end, name in sorted(found, key=lambda s: (s[0], -s[1])) if start <= time < end]
    edges = min(abs(time - edge) for span in found for edge in span[:2])
    got = [f["name"] for f in frames[:2] if f["name"] in ("request", "parse input")]
    expect(got == open_at or edges < 0.002, f"at {time}: {got}, not {open_at}")
    seen += len(open_at) == 2
expect(seen >= 20, f"{seen} samples in both")
CODE
}
rustc -O -o rust "$truth/spans.rs"
languages=(
	"c $workloads/spans"
	"python /usr/bin/python3 $truth/spans.py"
	"node /usr/bin/node $truth/spans.js"
	"sh /bin/sh $truth/spans.sh"
	"rust $tmp/rust"
)
export PROF_MARKERS=$tmp/own
for language in "${languages[@]}"; do
	read -ra words <<<"$language"
	record "${words[0]}" 0 --span-frames -- "${words[@]:1}"
	files=$(grep -o '/.*/marker-[0-9]*\.txt' <<<"$out")
	at_exit+=("rm -f '$files'")
	compare "${words[0]}" "$files"
done
like "the summary says how many" "$err" 'spans: [0-9]+ in 1 marker file'
ok "report lists them" sh -c "'$PROF' report --markers --format csv c.json.gz | grep -q 'parse input'"
ok "report selects by them" sh -c "'$PROF' report --during 'parse *' c.json.gz | grep -q '^ran 0\.[01]'"

unset PROF_MARKERS
record silent 0 -- "$workloads/spans"
judge "a program to which nobody listens tells nothing" silent.json.gz silent.stats <<'CODE'
import json
expect("spans" not in json.load(open(args[0])), "statistics")
CODE

# Maps its file, then does with it what the test says.
cat >hostile.py <<'CODE'
import mmap, os, sys, time
path = f"{os.getcwd()}/own/marker-{os.getpid()}.txt"
now = time.monotonic_ns
file = open(path, "w+b", buffering=0)
file.write(b"i %d begin\n" % now())
mapping = mmap.mmap(file.fileno(), 1, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
def span(name):
    file.write(b"%d %d %s\n" % (now() - 1000000, now(), name))
# Until the recorder has read what was written, or for seconds on file systems that do not keep such
# times. It first looks at the file as at any that is mapped, so only the third time counts.
def wait():
    for _ in range(3):
        file.write(b"i %d wait\n" % now())
        for _ in range(200):
            if os.stat(path).st_atime_ns > os.stat(path).st_mtime_ns:
                break
            time.sleep(0.01)
what = sys.argv[1]
if what == "truncated":
    span(b"before"), wait()
    file.truncate(0), file.seek(0)
    span(b"after"), wait()
    file.truncate(0)
elif what == "replaced":
    span(b"before"), wait()
    os.unlink(path)
    other = open(path, "w")
    other.write("%d %d stranger\n" % (now() - 1000, now()))
    span(b"after")
elif what == "fifo":
    span(b"before"), wait()
    os.unlink(path)
    os.mkfifo(path)
    span(b"after")
elif what == "binary":
    file.write(bytes(range(256)) * 5000)
    file.write(b"\n")
    span(b"after")
elif what == "wrong":
    t = now()
    for line in (b"", b"x", b"1 2", b"%d %d backwards" % (t, t - 1), b"e %d none" % t, b"b %d" % t,
                 b"99999999999999999999 1 much", b"i %d" % t, b"%d %d " % (t, t), b"q" * 600000):
        file.write(line + b"\n")
    file.write(b"%d 18446744073709551615 future\n" % (now() - 1000000))
    file.write(b"1 2 past\n")
    file.write(b"%d %d no end of line" % (now() - 1000, now()))
elif what == "huge":
    t = now()
    lines = b"".join(b"%d %d many\n" % (t - i, t) for i in range(60000))
    for i in range(5):
        file.write(lines)
    file.write(b"%d %d long\n" % (t - 1000000000, t))
elif what == "sparse":
    span(b"before"), wait()
    file.truncate(1 << 40)
elif what == "open":
    file.write(b"b %d 1 never closed\nb %d 2 again\nb %d 2 twice\ne %d 2\n" % (now(), now(), now(), now()))
    os.execv("/bin/true", ["true"])
CODE
hostile() { # NAME DESCRIPTION
	record "$1" 0 -- /usr/bin/python3 hostile.py "$1"
	judge "$2" "$1.json.gz" "$1.stats"
}
names='
import json
strings = p["shared"]["stringArray"]
spans = [(strings[m["name"][i]], m["startTime"][i], m["endTime"][i]) for t in p["threads"]
         for m in [t["markers"]] for i in range(m["length"])
         if m["data"][i] and m["data"][i]["type"].startswith("span")]
names = [name for name, _, _ in spans if name != "wait"]
stats = json.load(open(args[0]))["spans"]
'
hostile truncated "a file that begins anew is read anew" <<<"$names
expect(names == ['begin', 'before', 'after'], names)"
hostile replaced "the mapped file counts, not what has its name now" <<<"$names
expect(names == ['begin', 'before', 'after'], names)"
hostile fifo "a FIFO in its place holds nobody up" <<<"$names
expect(names == ['begin', 'before', 'after'], names)"
hostile binary "bytes that are no lines are counted" <<<"$names
expect(names == ['begin', 'after'] and stats['malformed'], (names, stats))"
hostile wrong "so are lines that make no sense; times cannot be later than they were told" <<<"$names
expect(sorted(names) == ['begin', 'future', 'no end of line'], names)
expect(stats['malformed'] == 10, stats)
expect(all(0 <= a and (b or a) <= p['meta']['profilingEndTime'] for _, a, b in spans), spans)"
like "and are told" "$err" '10 lines of marker files are malformed'
hostile huge "of too many the shortest are left out" <<<"$names
left = [m['data'][i]['count'] for t in p['threads'] for m in [t['markers']]
        for i in range(m['length']) if strings[m['name'][i]] == 'markers left out']
# Others are as long as the longest: waits on a busy machine. Changes of the CPU have no length.
expect(19900 < len(names) <= 20000 and 'long' in names, len(names))
expect(len(left) == 1 and 0 <= left[0] - 280002 < 1000, left)
expect(json.load(open(args[0]))['left_out_markers'] == sum(left), 'stats')"
hostile sparse "a file of a terabyte that takes no disk holds nobody up" <<<"$names
expect(names == ['begin', 'before'] and stats['cut'] == 1, (names, stats))"
# The one user's file has more than one user may write; the other's is read all the same.
chmod 777 own
record two 0 -- sh -c 'setpriv --reuid=4001 --regid=4001 --clear-groups /usr/bin/python3 hostile.py sparse
/usr/bin/python3 hostile.py truncated'
judge "no user takes the room of others" two.json.gz two.stats <<<"$names
expect(names == ['begin', 'before', 'begin', 'before', 'after'] and stats['cut'] == 1, (names, stats))"
like "and who took too much is said" "$err" 'too much was written by user 4001'
hostile open "a span ends with its program, or with the next one of its name" <<<"$names
expect(sorted(names) == ['again', 'begin', 'never closed', 'twice'], names)
closed = {name: end for name, _, end in spans}
execs = [m['startTime'][i] for t in p['threads'] for m in [t['markers']]
         for i in range(m['length']) if strings[m['name'][i]] == 'exec']
expect(closed['again'] <= closed['twice'] <= closed['never closed'], closed)
expect(abs(closed['never closed'] - max(execs)) < 50, (closed, execs))"
rm -f own/*
done_testing
