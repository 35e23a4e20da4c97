#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs whose true profile is known.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

record shares 0 -- "$workloads/shares" 2
judge "shares: 60, 30 and 10 % within the error of a sample" shares.json.gz <<'CODE'
t = thread("shares")
counts = {name: within(name, t) for name in ("sixty", "thirty", "ten")}
total = sum(counts.values())
for name, share in (("sixty", 0.6), ("thirty", 0.3), ("ten", 0.1)):
    near(counts[name], total, share)
expect(total > 0.98 * len(samples(t)), f"{total} of {len(samples(t))} in the three")
CODE
judge "shares: a sample a timer tick" shares.json.gz <<<'spent(2000, "main", thread("shares"))'
judge "shares: CPU time is the CPU time" shares.json.gz <<'CODE'
expect(1950 < cpu_ms(thread("shares")) < 2060, cpu_ms(thread("shares")))
CODE
judge "shares: main and the way to it are on every stack, in order" shares.json.gz <<'CODE'
bad = [[f["name"] for f in frames] for _, _, _, frames in samples()
       if any(f["name"] == "sixty" for f in frames)
       and [f["name"] for f in frames if f["name"] in ("main", "sixty")] != ["main", "sixty"]]
expect(len(bad) <= 0.01 * len(samples()), bad[:3])
CODE

record threads 0 -- "$workloads/threads" 1.5
judge "threads: names, and each with its own work" threads.json.gz <<'CODE'
expect(len(p["threads"]) == 3, check_profile.thread_names(p))
total = len(samples())
for name, function, share in (("threads", "main_work", 0.1), ("worker-a", "work_a", 0.3),
                              ("worker-b", "work_b", 0.6)):
    t = thread(name)
    count = within(function, t)
    near(count, total, share)
    spent(1500 * share, function, t)
    # The program starts in the main thread, and makes the others.
    start = 10 if name == "threads" else 0
    expect(count > 0.97 * len(samples(t)) - start,
           f"{name}: {count} of {len(samples(t))} in {function}")
    expect(t["processName"] == "threads", t["processName"])
    expect(0.96 < cpu_ms(t) / (1500 * share) < 1.04 + start / (1500 * share),
           f"{name}: {cpu_ms(t)} ms of CPU time")
expect([t["isMainThread"] for t in p["threads"]] == [True, False, False], "main thread first")
CODE

source=$root/tests/workloads/inlines.c
line() { # MARK
	grep -n "/\* $1 \*/" "$source" | cut -d: -f1
}
record inlines 0 -- "$workloads/inlines"
judge "inlines: functions, files and lines" inlines.json.gz "$(line 'inner: first')" \
	"$(line 'inner: last')" "$(line 'middle: call')" "$(line 'outer: call')" <<'CODE'
first, last, middle, outer = map(int, args)
found = [s for s in samples(thread("inlines"))
         if s[3][-1]["category"] != "Kernel" and any(f["name"] == "outer" for f in s[3])]
right = 0
for _, _, _, frames in found:
    tail = [(f["name"], f["line"], f["inlineDepth"]) for f in frames[-3:]]
    if [name for name, _, _ in tail] == ["outer", "middle", "inner"]:
        right += (tail[0][1:] == (outer, 0) and tail[1][1:] == (middle, 1)
                  and first <= tail[2][1] <= last and tail[2][2] == 2
                  and all(f["file"].endswith("tests/workloads/inlines.c") for f in frames[-3:]))
expect(len(found) > 350, f"{len(found)} samples")
expect(right > 0.97 * len(found), f"{right} of {len(found)}: {[tuple(f.values()) for f in found[9][3][-3:]]}")
CODE

record syscalls 0 -- "$workloads/syscalls"
judge "syscalls: kernel code, named, called from user code" syscalls.json.gz <<'CODE'
found = samples(thread("syscalls"))
inside = [frames for _, _, _, frames in found if frames and frames[-1]["category"] == "Kernel"]
expect(len(inside) > 0.9 * len(found), f"{len(inside)} of {len(found)} in the kernel")
named = sum(not frames[-1]["name"].startswith("0x") for frames in inside)
expect(named > 0.98 * len(inside), f"{named} of {len(inside)} named")
called = sum(any(f["name"] == "read_zeros" for f in frames) for frames in inside)
expect(called > 0.9 * len(inside), f"{called} of {len(inside)} from read_zeros")
CODE

record recursion 0 -- "$workloads/recursion" 60
judge "recursion: every level of it" recursion.json.gz <<'CODE'
found = samples(thread("recursion"))
whole = sum(sum(f["name"] == "recurse" for f in frames) == 60
            and any(f["name"] == "bottom" for f in frames)
            and any(f["name"] == "main" for f in frames) for _, _, _, frames in found)
expect(len(found) > 250 and whole > 0.97 * len(found), f"{whole} of {len(found)}")
CODE

record deep 0 -- "$workloads/recursion" 5000
judge "deeper than anything: still a profile of its innermost part" deep.json.gz <<'CODE'
found = samples(thread("recursion"))
expect(len(found) > 250, len(found))
below = sum(any(f["name"] == "bottom" for f in frames) for _, _, _, frames in found)
expect(below > 0.95 * len(found), f"{below} of {len(found)} with bottom()")
CODE

done_testing
