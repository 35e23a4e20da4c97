#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures whether a recording costs more the longer it takes: growth of memory and CPU time.

    growth.py [-d SECONDS] [--rate N] [long|lives]   default: both, a minute each, 100 a second

long: a C++ program that always runs, with ever new stacks (the compiler, on templates), at 999 Hz.
lives: so many processes a second are forked, execute a program and end. For each sixth of the time:
the recorder's memory at its end, what that grew by for a sample or for a process that had its life
meanwhile, and the recorder's CPU time for each of them, which must not grow. Then the memory while
the profile is made, how long that takes, and the file.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from programs import programs
from recorders import BUILD, start_prof

WORKLOADS = os.path.join(BUILD, "tests/workloads")
TICKS = os.sysconf("SC_CLK_TCK")
PARTS = 6
ROW = "{:>6} {:>9} {:>9} {:>12} {:>12}"


def memory_kib(pid, key):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(key + ":"))


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def begin(folder, arguments):
    """prof, once it is armed."""
    return start_prof(arguments[0], "-F", "999", "-o", os.path.join(folder, "profile.json.gz"),
                      "--stats", os.path.join(folder, "stats"), *arguments[1:],
                      stdout=subprocess.DEVNULL)


def ended(prof, folder):
    """Its statistics, and the most memory that it had."""
    peak = 0
    while prof.poll() is None:
        try:
            peak = memory_kib(prof.pid, "VmHWM")
        except (OSError, StopIteration):
            pass
        time.sleep(0.005)
    if prof.returncode:
        sys.exit(f"prof: status {prof.returncode}")
    with open(os.path.join(folder, "stats"), encoding="utf-8") as file:
        return json.load(file), peak


def watch(prof, seconds, count, unit):
    """`count` says how many there have been so far."""
    print(ROW.format("s", "RSS MiB", unit + "s", f"B/{unit}", f"us/{unit}"))
    start = time.monotonic()
    before = (memory_kib(prof.pid, "VmRSS"), cpu_seconds(prof.pid), count())
    for part in range(1, PARTS + 1):
        time.sleep(max(0, start + seconds * part / PARTS - time.monotonic()))
        now = (memory_kib(prof.pid, "VmRSS"), cpu_seconds(prof.pid), count())
        grown, cpu, more = (b - a for a, b in zip(before, now))
        print(ROW.format(f"{time.monotonic() - start:.0f}", f"{now[0] / 1024:.1f}", f"{more:.0f}",
                         f"{grown * 1024 / max(more, 1):.0f}", f"{cpu * 1e6 / max(more, 1):.1f}"),
              flush=True)
        before = now


def report(stats, peak):
    print(f"{stats['samples']} samples, {stats['processes']} processes, {stats['lost']} lost; at most "
          f"{peak / 1024:.1f} MiB; finished after {stats['finish_ms']:.0f} ms, "
          f"{stats['file_bytes'] / 1e6:.2f} MB\n", flush=True)


def long(folder, seconds, _rate):
    source = programs.write(folder, "source.cc", programs.CXX)
    compiler = programs.cc1plus(source)
    if not compiler:
        sys.exit("there is no g++")
    # Some minutes are not always enough.
    target = subprocess.Popen(programs.forever(" ".join(compiler)), start_new_session=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        prof = begin(folder, ["attach", "-p", str(target.pid)])
        # A sample for each ms of CPU time.
        watch(prof, seconds, lambda: tree_cpu_seconds(target.pid) * 999, "sample")
        prof.send_signal(signal.SIGINT)
        report(*ended(prof, folder))
    finally:
        os.killpg(target.pid, signal.SIGKILL)
        target.wait()


def tree_cpu_seconds(pid):
    """CPU seconds of a process, its children, and those that it has waited for."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    total = sum(int(field) for field in fields[11:15]) / TICKS
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        children = file.read().split()
    for child in children:
        try:
            total += tree_cpu_seconds(child)
        except OSError:
            pass
    return total


def lives(folder, seconds, rate):
    log = os.path.join(folder, "pids")
    count = int(seconds * rate)
    prof = begin(folder, ["record", "--", "/bin/sh", "-c",
                          f"exec stdbuf -oL {WORKLOADS}/many_processes {count} {rate} /bin/true >{log}"])

    def lines():
        try:
            with open(log, "rb") as file:
                return file.read().count(b"\n")
        except FileNotFoundError:
            return 0

    watch(prof, seconds, lines, "process")
    report(*ended(prof, folder))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", dest="seconds", type=float, default=60)
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("what", nargs="*", default=["long", "lives"])
    arguments = parser.parse_args()
    for what in arguments.what:
        print(f"-- {what}")
        with tempfile.TemporaryDirectory(prefix="prof-bench.") as folder:
            {"long": long, "lives": lives}[what](folder, arguments.seconds, arguments.rate)


if __name__ == "__main__":
    main()
