#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the time from the end of a recording to names with inlined functions: prof and perf script.

    perf_script.py [--frequency HZ] [--rounds N] [-- COMMAND...]

Without a COMMAND, a C++ program with debug information is built and run for some seconds. Both
record it at HZ (997). prof says itself how long it took from the command's end to the finished file,
with functions, inlined ones, files and lines. `perf script` prints the samples of a recording with
--call-graph=dwarf, for which alone it knows inlined functions; beside that stands what it takes
without them, which is mostly the unwinding that prof has done by then. Medians of N (1) rounds.
Targets: 50 times as fast as all of `perf script`, and as what the inlined functions alone take.
"""

import argparse
import json
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
PROF = os.path.abspath(os.environ.get("PROF", os.path.join(BUILD, "prof")))
FIELDS = "comm,tid,time,ip,sym,dso"
ATTEMPTS = 20


def build(folder):
    program = os.path.join(folder, "patterns")
    subprocess.run(["g++", "-std=c++17", "-O2", "-g", "-o", program,
                    os.path.join(HERE, "programs", "patterns.cc")], check=True)
    return [program, "500"]


def cpu_of_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_prof(command, folder, frequency):
    stats = os.path.join(folder, "stats")
    subprocess.run([PROF, "record", "-q", "--no-off-cpu", "-F", str(frequency), "-o",
                    os.path.join(folder, "p.json.gz"), "--stats", stats, "--", *command],
                   check=True, stdout=subprocess.DEVNULL)
    with open(stats, encoding="utf-8") as file:
        found = json.load(file)
    return found["samples"], found["frames"], found["finish_ms"] / 1000


def script(data, *more):
    """Samples, inlined frames, seconds, CPU seconds; None where perf aborts."""
    start, cpu = time.monotonic(), cpu_of_children()
    out = subprocess.run(["perf", "script", "-F", FIELDS, "-i", data, *more], capture_output=True,
                         check=False)
    seconds, cpu = time.monotonic() - start, cpu_of_children() - cpu
    if out.returncode == -signal.SIGABRT:
        return None
    out.check_returncode()
    text = out.stdout.decode(errors="replace")
    return len(re.findall(r"^\S", text, re.M)), text.count("(inlined)"), seconds, cpu


def run_perf(command, folder, frequency):
    """perf 6.1 aborts if other BPF programs exist meanwhile."""
    data = os.path.join(folder, "perf.data")
    for _ in range(ATTEMPTS):
        done = subprocess.run(["perf", "record", "-q", "-B", "-N", "--no-bpf-event", "-F",
                               str(frequency), "--call-graph=dwarf", "-o", data, "--", *command],
                              check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        plain = None if done.returncode == -signal.SIGABRT else script(data, "--no-inline")
        if plain:
            return script(data, "--inline"), plain
    return sys.exit("perf aborted each time: are BPF programs loaded?")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--frequency", type=int, default=997)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("command", nargs="*")
    args = parser.parse_args()
    ours, inlined, plain = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        command = args.command or build(folder)
        for _ in range(args.rounds):
            ours.append(run_prof(command, folder, args.frequency))
            for rows, row in zip((inlined, plain), run_perf(command, folder, args.frequency)):
                rows.append(row)
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    finish = statistics.median(row[2] for row in ours)
    all_of_it = statistics.median(row[2] for row in inlined)
    without = statistics.median(row[2] for row in plain)
    print(f"prof: {ours[-1][0]} samples, {ours[-1][1]} frames, finish {finish:.3f} s")
    print(f"perf script: {inlined[-1][0]} samples, {inlined[-1][1]} inlined frames, "
          f"{all_of_it:.1f} s; without inlined functions {without:.1f} s")
    print(f"ratio {all_of_it / finish:.0f}, of the inlined functions alone "
          f"{(all_of_it - without) / finish:.0f} (targets: 50)")


main()
