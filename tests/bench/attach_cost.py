#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the cost of starting, by the target's threads and the machine's processes, and the CPU
time of the recorder.

    attach_cost.py [-d SECONDS] [--rounds N] [--only threads|scenes|share]
                   [THREADS...]

The first table: from the start of prof attach to --ready-file, and what prof has then: its memory,
its descriptors of perf events, and the kernel memory of its maps. Only the time and the memory may
grow with the threads, and little. The second one: from the start of prof record -a to its line on
--ready-fd while many processes have many mappings of few files or of many, besides what the machine
runs anyway; with the CPU time until then, which neighbours change less, and its memory. The third
one: the CPU time of prof record -a at 999 Hz while nothing runs and while every CPU is busy, after
it was ready and before it is told to end, in percent of a core for each busy CPU. The kernel's part
of sampling is not in it, since that is the target's: see compare.py. Medians of the rounds.
"""
import argparse
from contextlib import nullcontext
import glob
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from scene import Scene

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
PROF = os.path.abspath(os.environ.get("PROF", os.path.join(BUILD, "prof")))
WORKLOADS = os.path.join(BUILD, "tests/workloads")
ARMED_TARGET_MS = 1000
# Processes, mappings each, distinct files, target in ms.
SCENES = [(0, 0, 0, 100), (30, 20, 60, 100), (500, 40, 40, 1000), (500, 40, 2000, 1000)]
CPU_TARGET = 1.0
TICKS = os.sysconf("SC_CLK_TCK")


def begin(folder, *arguments):
    """prof once it is ready, and the milliseconds until then."""
    ready = os.path.join(folder, "ready")
    start = time.monotonic()
    prof = subprocess.Popen([PROF, *arguments, "-q", "--no-symbols", "-o", "/dev/null",
                             "--ready-file", ready])
    while not os.path.exists(ready):
        if prof.poll() is not None:
            sys.exit(f"prof {' '.join(arguments)}: status {prof.returncode}")
        time.sleep(0.001)
    took = (time.monotonic() - start) * 1000
    os.unlink(ready)
    return prof, took


def end(prof):
    prof.send_signal(signal.SIGINT)
    if prof.wait():
        sys.exit(f"prof: status {prof.returncode}")


def rss_mib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS")) / 1024


def event_count(pid):
    return sum(os.readlink(path) == "anon_inode:[perf_event]"
               for path in glob.glob(f"/proc/{pid}/fd/*"))


def map_mib(pid):
    total = 0
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        with open(path, encoding="utf-8") as file:
            info = dict(line.split(":", 1) for line in file if ":" in line)
        total += int(info.get("memlock", 0)) if "map_id" in info else 0
    return total / (1 << 20)


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def attach(folder, threads, rounds):
    target = subprocess.Popen([os.path.join(WORKLOADS, "many_threads"), str(threads)],
                              stdout=subprocess.PIPE)
    found = []
    try:
        if target.stdout.readline() != b"ready\n":
            sys.exit(f"many_threads {threads} did not begin")
        for _ in range(rounds):
            prof, took = begin(folder, "attach", "-p", str(target.pid))
            found.append((took, rss_mib(prof.pid), event_count(prof.pid), map_mib(prof.pid)))
            end(prof)
    finally:
        target.kill()
        target.wait()
    return [statistics.median(column) for column in zip(*found)]


def start_time(rounds):
    """Starts prof record -a; returns milliseconds, milliseconds of CPU time, MiB."""
    found = []
    for _ in range(rounds):
        ready, write = os.pipe()
        start = time.monotonic()
        prof = subprocess.Popen([PROF, "record", "-a", "-q", "--no-symbols", "-o", "/dev/null",
                                 "--ready-fd", str(write)], pass_fds=[write])
        os.close(write)
        if os.read(ready, 16) != b"ready\n":
            sys.exit(f"prof record -a: status {prof.wait()}")
        found.append(((time.monotonic() - start) * 1000, cpu_seconds(prof.pid) * 1000,
                      rss_mib(prof.pid)))
        os.close(ready)
        end(prof)
    return [statistics.median(column) for column in zip(*found)]


def print_scenes(folder, rounds):
    row = "{:>10} {:>9} {:>9} {:>9} {:>10} {:>7} {:>9}"
    print(row.format("processes", "mappings", "files", "armed ms", "target", "CPU ms", "RSS MiB"))
    for processes, each, files, target in SCENES:
        with Scene(WORKLOADS, folder, processes, each, files) if processes else nullcontext():
            took, cpu, rss = start_time(rounds)
        print(row.format(processes, processes * each, files, f"{took:.0f}", f"<= {target}",
                         f"{cpu:.0f}", f"{rss:.1f}"), flush=True)


def recorder_share(folder, seconds, rounds, busy):
    """Percent of a core, and the load that there was, in busy CPUs."""
    spins = [subprocess.Popen([os.path.join(WORKLOADS, "spin"), "die", "100000"],
                              stdout=subprocess.DEVNULL) for _ in range(busy)]
    found = []
    try:
        for _ in range(rounds):
            prof, _ = begin(folder, "record", "-a", "-F", "999")
            before, start = cpu_seconds(prof.pid), time.monotonic()
            idle = idle_seconds()
            time.sleep(seconds)
            took = time.monotonic() - start
            found.append((100 * (cpu_seconds(prof.pid) - before) / took,
                          os.cpu_count() - (idle_seconds() - idle) / took))
            end(prof)
    finally:
        for spin in spins:
            spin.kill()
            spin.wait()
    return [statistics.median(column) for column in zip(*found)]


def idle_seconds():
    with open("/proc/stat", encoding="utf-8") as file:
        fields = file.readline().split()
    return (int(fields[4]) + int(fields[5])) / TICKS


def print_threads(folder, counts, rounds):
    row = "{:>8} {:>9} {:>10} {:>9} {:>7} {:>9}"
    print(row.format("threads", "armed ms", "target", "RSS MiB", "events", "maps MiB"))
    for threads in counts:
        took, rss, events, maps = attach(folder, threads, rounds)
        print(row.format(threads, f"{took:.0f}", f"<= {ARMED_TARGET_MS}", f"{rss:.1f}",
                         f"{events:.0f}", f"{maps:.1f}"), flush=True)


def print_share(folder, seconds, rounds):
    row = "{:>8} {:>10} {:>11} {:>13} {:>9}"
    print(row.format("-a", "busy CPUs", "recorder %", "% a busy CPU", "target"))
    for name, busy in (("idle", 0), ("busy", os.cpu_count())):
        share, load = recorder_share(folder, seconds, rounds, busy)
        print(row.format(name, f"{load:.2f}", f"{share:.2f}",
                         f"{share / load:.2f}" if busy else "",
                         f"<= {CPU_TARGET:.1f}" if busy else ""), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", dest="seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["threads", "scenes", "share"])
    parser.add_argument("threads", nargs="*", type=int, default=[1, 1000, 10000])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="prof-bench.") as folder:
        if arguments.only in (None, "threads"):
            print_threads(folder, arguments.threads, arguments.rounds)
        if arguments.only in (None, "scenes"):
            print_scenes(folder, arguments.rounds)
        if arguments.only in (None, "share"):
            print_share(folder, arguments.seconds, arguments.rounds)


if __name__ == "__main__":
    main()
