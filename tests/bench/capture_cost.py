#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what captures cost: bytes a tick, the recorder's CPU time, the wait for the profile, and
the time to convert a short recording and an hour.

    capture_cost.py [--seconds S] [--pairs N] [--ticks N]        default: 5 s, 6 pairs, an hour's

Each pair records the same program with a spool and without, in turns. CPU time is that of the
recorder's threads in a window in the middle, as the scheduler counts it. Bytes are compared with
`perf record -g -z` at the same rate, whose stacks are cut without frame pointers; waits, which perf
does not record, are left out there. A short recording, of a compiler, is converted with what earlier
conversions have kept and with --no-cache, in turns. The hour is a short recording, repeated until it has that many ticks.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
PROF = os.path.abspath(os.environ.get("PROF", os.path.join(BUILD, "prof")))
RATE = 999
HOUR_TICKS = 3600 * RATE * 2  # two busy CPUs
# They end by themselves, if nobody ends them.
STEADY = "import signal\nsignal.alarm(60)\nwhile 1: pass"
PYTHON = ("import json, signal\nsignal.alarm(60)\ndef work(n):\n return json.loads(json.dumps({'a': [n] * 20})) if n < 3 else"
          " [work(n - 1), work(n // 2)]\nwhile 1: work(9)")
MAKE = """all: $(patsubst %,o%.o,$(shell seq 1 2000))
o%.o:
	@echo '#include <stdio.h>' >s$*.c; echo '#include <stdlib.h>' >>s$*.c
	@echo 'int f$*(int a) { printf("%d", a); return atoi("$*") * a; }' >>s$*.c
	@cc -O2 -c s$*.c -o $@
"""


def cpu_ns(pid):
    """CPU time of the first thread, and of all others."""
    first = others = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as file:
            used = int(file.read().split()[0])
        if int(tid) == pid:
            first += used
        else:
            others += used
    return first, others


def record(folder, command, seconds, arguments):
    """Returns the CPU time of the recorder's threads as shares of a core, and the statistics."""
    stats = os.path.join(folder, "stats")
    ready, write = os.pipe()
    prof = subprocess.Popen([PROF, "record", "-q", "-F", str(RATE), "--kill", "-d", str(seconds + 2),
                             "--ready-fd", str(write), *arguments, "--", *command], cwd=folder,
                            pass_fds=[write], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(write)
    if os.read(ready, 16) != b"ready\n":
        sys.exit(f"prof: status {prof.wait()}")
    os.close(ready)
    time.sleep(1)
    begin, before = time.monotonic(), cpu_ns(prof.pid)
    time.sleep(seconds)
    used, passed = cpu_ns(prof.pid), time.monotonic() - begin
    prof.wait()
    shares = [(b - a) / passed / 1e9 for a, b in zip(before, used)]
    if not os.path.exists(stats):
        return shares, None
    with open(stats, encoding="utf-8") as file:
        return shares, json.load(file)


def weight(path):
    out = subprocess.run([PROF, "report", "--format", "json", path], stdout=subprocess.PIPE,
                         check=True).stdout
    return json.loads(out)["summary"]["weight"]


def perf_size(folder, command, seconds):
    """Bytes of the file, and its samples."""
    path = os.path.join(folder, "perf.data")
    subprocess.run(["perf", "record", "-q", "-B", "--no-bpf-event", "-e", "cpu-clock", "-F", str(RATE),
                    "-g", "-z", "-o", path, "--", "timeout", str(seconds), *command], cwd=folder,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    out = subprocess.run(["perf", "report", "--stats", "-i", path], stdout=subprocess.PIPE, text=True,
                         stderr=subprocess.DEVNULL, check=False).stdout
    return os.path.getsize(path), int(re.search(r"SAMPLE events: *(\d+)", out).group(1))


def prof_size(folder, command, seconds, arguments):
    path = os.path.join(folder, "raw.prof")
    record(folder, command, seconds, ["--raw", path, *arguments])
    return os.path.getsize(path), weight(path)


def growth(measure, seconds):
    """Bytes a sample, without what a file begins with: by recordings of two lengths."""
    short, long = measure(seconds), measure(3 * seconds)
    return (long[0] - short[0]) / max(1, long[1] - short[1])


def print_size(name, folder, command, seconds):
    bare, full = (growth(lambda time: prof_size(folder, command, time, arguments), seconds)
                  for arguments in (["--no-off-cpu"], []))
    perf = growth(lambda time: perf_size(folder, command, time + 2), seconds)
    print(f"{name:>8} {bare:10.1f} {full:12.1f} {perf:10.1f} {bare / perf:8.2f}", flush=True)


def print_pairs(name, folder, command, seconds, pairs):
    rows = {"spool": [], "none": []}
    for i in range(pairs):
        for kind in ("spool", "none") if i % 2 else ("none", "spool"):
            arguments = ["-o", "p.json.gz", "--stats", "stats"]
            shares, stats = record(folder, command, seconds,
                                   arguments + (["--no-spool"] if kind == "none" else []))
            rows[kind].append((*shares, stats["finish_ms"]))
    first = [100 * (a[0] - b[0]) for a, b in zip(rows["spool"], rows["none"])]
    thread = [100 * a[1] for a in rows["spool"]]
    wait = [sorted(row[2] for row in rows[kind])[len(rows[kind]) // 4] for kind in rows]
    print(f"{name:>8} {statistics.median(thread):10.3f} {statistics.median(first):+12.3f}"
          f" {wait[0]:12.0f} {wait[1]:12.0f}", flush=True)


def cpu_ms(command):
    """CPU time of a command, ms."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command[0]}: status {process.returncode}")
    return 1000 * (used.ru_utime + used.ru_stime)


def print_names(name, folder, command, pairs):
    path, out = os.path.join(folder, "names.prof"), os.path.join(folder, "names.json.gz")
    subprocess.run([PROF, "record", "-q", "--raw", path, "--", *command], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    kinds = {"kept": [], "--no-cache": ["--no-cache"], "--no-symbols": ["--no-symbols"]}
    found = {kind: [] for kind in kinds}
    for _ in range(pairs + 1):
        for kind, arguments in kinds.items():
            found[kind].append(cpu_ms([PROF, "convert", "-q", *arguments, path, "-o", out]))
    # The first round fills the cache.
    tenth = [sorted(values[1:])[pairs // 10] for values in found.values()]
    print(f"{name:>8}" + "".join(f"{value:13.1f}" for value in tenth), flush=True)


def timed(command):
    begin = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - begin


def perf_script(folder, command, seconds):
    """Seconds that it takes, and samples."""
    path = os.path.join(folder, "script.data")
    subprocess.run(["perf", "record", "-q", "-B", "--no-bpf-event", "-e", "cpu-clock", "-F", str(RATE),
                    "-g", "-o", path, "--", "timeout", str(seconds), *command], cwd=folder,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    out = os.path.join(folder, "script.txt")
    begin = time.monotonic()
    with open(out, "wb") as file:
        subprocess.run(["perf", "script", "-F", "comm,tid,time,ip,sym", "-i", path], stdout=file,
                       stderr=subprocess.DEVNULL, check=True)
    taken = time.monotonic() - begin
    with open(out, "rb") as file:
        return taken, sum(line == b"\n" for line in file)


def print_hour(folder, name, command, seconds, ticks):
    """An hour of a program on each of two CPUs, made of some seconds; perf's is extrapolated."""
    path, hour = os.path.join(folder, "short.prof"), os.path.join(folder, "hour.prof")
    out = os.path.join(folder, "hour.json.gz")
    script = growth(lambda time: perf_script(folder, command, time), seconds) * ticks
    for kind, arguments in (("", ["--no-off-cpu"]), (" and waits", [])):
        record(folder, command, 3 * seconds, ["--raw", path, *arguments])
        count = int(subprocess.run([os.path.join(BUILD, "tests/bench/bench_capture_repeat"), path, hour,
                                    str(ticks)], stdout=subprocess.PIPE, check=True).stdout)
        size = os.path.getsize(hour) / 1e6
        named = timed([PROF, "convert", "-q", hour, "-o", out])
        bare = timed([PROF, "convert", "-q", "--no-symbols", hour, "-o", out])
        os.unlink(hour)
        print(f"{name}: {count} ticks{kind}, {size:.0f} MB: {named:.1f} s with names, {bare:.1f} s "
              f"without (target: 10); perf script: {script:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--ticks", type=int, default=HOUR_TICKS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="prof-bench.") as folder:
        with open(os.path.join(folder, "Makefile"), "w", encoding="ascii") as file:
            file.write(MAKE)
        make = ["make", "-s", "-B", "-j2"]
        two = ["sh", "-c", f"python3 -c '{STEADY}' & python3 -c '{STEADY}'"]
        cases = (("steady", ["python3", "-c", STEADY]), ("python", ["python3", "-c", PYTHON]),
                 ("make", make))
        print("bytes a tick; targets: 10 for a steady program, 1.3 times perf's elsewhere")
        print(f"{'':>8} {'no waits':>10} {'with waits':>12} {'perf -g -z':>10} {'ratio':>8}")
        for name, command in cases:
            print_size(name, folder, command, options.seconds)
        print("% of a core, of the writing thread and more of the first one with a spool (target: 0.3 "
              "together);\nms until the profile, lowest quarter, with a spool and without")
        print(f"{'':>8} {'thread':>10} {'first':>12} {'with':>12} {'without':>12}")
        for name, command in (("steady x2", two), ("make", make)):
            print_pairs(name, folder, command, options.seconds, options.pairs)
        print(f"CPU ms of converting a short recording, lowest tenth\n{'':>8}"
              + "".join(f"{kind:>13}" for kind in ("kept", "--no-cache", "--no-symbols")))
        with open(os.path.join(folder, "a.c"), "w", encoding="ascii") as file:
            file.write("#include <stdio.h>\nint main(void) { return puts(\"\"); }\n")
        print_names("gcc", folder, ["gcc", "-O2", "-c", "a.c"], 2 * options.pairs)
        for name, command in cases[1:]:
            print_hour(folder, name, command, options.seconds, options.ticks)


if __name__ == "__main__":
    main()
