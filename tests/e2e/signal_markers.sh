#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --signals: the numbers of signals, their senders and the interrupted functions are known.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

record some 0 --signals -- "$workloads/signals"
judge "each signal is a marker: count, sender, origin, interrupted function" some.json.gz \
	some.stats "$out" <<'CODE'
import json
main, child = map(int, args[1].split())
strings = p["shared"]["stringArray"]
own = threads_of(main)[0]
# name: sender, pid, origin, function
wanted = {
    "SIGUSR1": (5, "signals", child, "user", "get_killed"),
    "SIGCHLD": (1, "signals", child, "child", "wait_for_child"),
    "SIGUSR2": (3, "signals", main, "thread", "raise_them"),
    "SIGSEGV": (1, "kernel", 0, "fault", "touch_nothing"),
    "SIGALRM": (4, "kernel", 0, "timer", "await_timer"),
}
found = {}
for t in p["threads"]:
    for name, data in zip(t["markers"]["name"], t["markers"]["data"]):
        if data and data["type"] == "signal":
            expect(t is own, f"{strings[name]} of {t['name']} {t['pid']}")
            found.setdefault(strings[name], []).append(data)
expect(set(found) == set(wanted), sorted(found))
for name, (count, sender, pid, origin, function) in wanted.items():
    rows = found.get(name, [])
    expect(len(rows) == count, f"{len(rows)} {name}")
    for data in rows:
        said = strings[data["sender"]], int(data.get("pid", 0)), strings[data["origin"]]
        expect(said == (sender, pid, origin), f"{name}: {said}")
        frames = [f["name"] for f in check_profile.stack_frames(p, data["cause"]["stack"])]
        expect("main" in frames and function in frames, f"{name}: {frames}")
        expect("stack" not in data, "the stack of the cause is said twice")
        if name == "SIGSEGV":
            expect(frames[-1] == function, f"{name}: {frames}")
stats = json.load(open(args[0]))
expect(stats["signals"] == {"delivered": 14, "lost": 0}, stats["signals"])
CODE
like "the summary says how many" "$err" 'signals: 14, 0 lost'

record fatal 143 --signals -- sh -c 'kill -TERM $$'
judge "a signal that ends the process has its own name" fatal.json.gz <<'CODE'
strings = p["shared"]["stringArray"]
found = [(strings[name], strings[data["sender"]]) for t in p["threads"]
         for name, data in zip(t["markers"]["name"], t["markers"]["data"])
         if data and data["type"] == "signal"]
expect(found == [("SIGTERM", "sh")], found)
CODE

record none 0 -- "$workloads/signals"
judge "without the option there are none" none.json.gz none.stats <<'CODE'
import json
expect("signal" not in [s["name"] for s in p["meta"]["markerSchema"]], "a schema")
expect("signals" not in json.load(open(args[0])), "statistics")
CODE
done_testing
