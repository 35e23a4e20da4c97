#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --jank: long tasks of event loops, their stacks, and how long events have waited meanwhile.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

# Prints begin and end of each long task. Each call that waits finds an event at once, so no wait
# makes a context switch.
cat >loop.py <<'CODE'
import os, select, sys, time
r, w = os.pipe()
def by_epoll():
    epoll = select.epoll()
    epoll.register(r, select.EPOLLIN)
    return lambda: epoll.poll(1)
def by_poll():
    poll = select.poll()
    poll.register(r, select.POLLIN)
    return lambda: poll.poll(1000)
def by_select():
    return lambda: select.select([r], [], [], 1)
def burn(ms):
    end = time.thread_time() + ms / 1000
    while time.thread_time() < end:
        pass
def long_task():
    begin = time.monotonic_ns()
    burn(30)
    in_the_middle()
    burn(30)
    print(begin, time.monotonic_ns())
def in_the_middle():
    burn(140)
def short_task():
    burn(5)
wait = {"epoll": by_epoll, "poll": by_poll, "select": by_select}[sys.argv[1]]()
for i in range(40):
    os.write(w, b"x")
    wait()
    os.read(r, 1)
    long_task() if i % 10 == 9 else short_task()
wait = select.select([], [], [], 0)
CODE
cat >found.py <<'CODE'
strings = p["shared"]["stringArray"]
zero = p["meta"]["startTimeAsClockMonotonicNanosecondsSinceBoot"]
def found(t):
    m = t["markers"]
    return [(m["startTime"][i] * 1e6 + zero, m["endTime"][i] * 1e6 + zero, m["data"][i])
            for i in range(m["length"]) if strings[m["name"][i]] == "Long task"]
CODE
for way in epoll poll select; do
	record "$way" 0 --jank=100 -- /usr/bin/python3 loop.py "$way"
	echo "$out" >told
	judge "$way: tasks of 200 ms are long tasks, with the stack of their middle" "$way.json.gz" told \
		"$way" < <(cat found.py - <<'CODE'
told = [tuple(map(int, line.split())) for line in open(args[0])]
t = p["threads"][0]
rows = found(t)
expect(len(told) == 4, told)
middle = 0
for begin, end in told:
    around = [(a, b, data) for a, b, data in rows if a <= begin and end <= b]
    expect(len(around) == 1, f"{len(around)} around {begin}")
    for a, b, data in around:
        call = strings[data["call"]]
        expect(args[1] in call, call)
        frames = [f["name"] for f in check_profile.stack_frames(p, data["cause"]["stack"])]
        expect(any("long_task" in name for name in frames), frames)
        middle += any("in_the_middle" in name for name in frames)
# Time off the CPU may move the middle elsewhere, but not always.
expect(middle > 0, "no stack is from the middle")
expect(all(b - a >= 100e6 for a, b, _ in rows), rows)
# Samples have the time since the begin of their task, or nothing.
now, delays = 0, t["samples"]["eventDelay"]
expect(len(delays) == t["samples"]["length"], len(delays))
for delta, delay in zip(t["samples"]["timeDeltas"], delays):
    now += delta
    inside = [now * 1e6 + zero - a for a, b, _ in rows if a - 10 <= now * 1e6 + zero <= b + 10]
    wanted = max(inside[0], 0) / 1e6 if inside else 0
    expect(abs(delay - wanted) < 0.001, f"{delay} at {now}, not {wanted}")
expect(max(delays) >= 100, max(delays))
CODE
)
done
like "the summary counts them" "$err" 'jank: [0-9]+, 0 lost'
ok "report lists them" sh -c "'$PROF' report --markers --format csv epoll.json.gz | grep -q 'Long task.*epoll'"
ok "report selects by them" sh -c "'$PROF' report --during 'Long task' epoll.json.gz | grep -q python"
run "$PROF" convert epoll.json.gz -o again.json.gz
is "they are read" "$status:$err" "0:"
judge "and written again" again.json.gz epoll.json.gz <<'CODE'
import check_profile
one, two = (q["threads"][0]["samples"]["eventDelay"] for q in (p, check_profile.load(args[0])))
expect(max(one) == max(two), (max(one), max(two)))
CODE

# One that goes on when recording ends.
cat >endless.py <<'CODE'
import select, time
select.select([], [], [], 0)
while True:
    time.sleep(0.01)
CODE
record open 0 --jank -d 0.5 --kill -- /usr/bin/python3 endless.py
judge "a task that has not ended is as long as the recording" open.json.gz < <(cat found.py - <<'CODE'
rows = found(p["threads"][0])
expect(len(rows) == 1, rows)
for begin, end, data in rows:
    expect(strings[data["call"]] in ("select", "pselect6"), strings[data["call"]])
    expect(end - begin >= 50e6, end - begin)
CODE
)

record none 0 -- true
judge "without the option there are none" none.json.gz none.stats <<'CODE'
import json
expect("Long task" not in [s["name"] for s in p["meta"]["markerSchema"]], "a schema")
expect("eventDelay" not in p["threads"][0]["samples"], "delays")
expect("jank" not in json.load(open(args[0])), "statistics")
CODE
refuses "a length is a number" 2 "--jank" "$PROF" record --jank=none -- touch started
done_testing
