#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the cost of a recording besides its samples: until it is armed, and in total.

    start_cost.py [--rounds N] [--seconds S] [PROF...]

For each prof that is named (default: the one that was built), in turns, so that a change of the
machine's speed meets all alike: recording a C program that computes for some seconds, attaching to
30 processes at once, and recording the whole machine. Medians of:

    armed ms      from the start of prof to --ready-file, by the clock
    armed CPU     CPU time that prof has taken by then, ms
    CPU           of the whole recording, ms: names and writing included
    finish ms     from the program's end, or from the signal, to the finished file

and, where more than one prof is named, each as a ratio of the first one's.
"""
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
PROF = os.path.abspath(os.environ.get("PROF", os.path.join(BUILD, "prof")))
WORKLOADS = os.path.join(BUILD, "tests/workloads")
PROCESSES = 30
# Several programs, each with its own libraries.
IDLERS = (["sleep", "1000"], ["/usr/bin/python3", "-c", "import time; time.sleep(1000)"],
          ["perl", "-e", "sleep 1000"], ["bash", "-c", "read"], ["tail", "-f", "/dev/null"])
COLUMNS = ("armed ms", "armed CPU", "CPU", "finish ms")
TARGETS = {"record": (100, None, 130, None), "attach": (100, None, None, None),
           "all": (None, None, None, None)}


def process_cpu_clock(pid):
    """The clock that counts another process's CPU time, as clock_getcpuclockid(3) makes it."""
    return (~pid << 3) | 2


def measure(prof, arguments, command, folder):
    ready, stats = os.path.join(folder, "ready"), os.path.join(folder, "stats")
    start = time.monotonic()
    process = subprocess.Popen([prof, *arguments, "-q", "--stats", stats, "--ready-file", ready,
                                "-o", os.path.join(folder, "profile.json.gz"), *command],
                               stdout=subprocess.DEVNULL)
    while not os.path.exists(ready):
        if process.poll() is not None:
            sys.exit(f"{prof} {' '.join(arguments)}: status {process.returncode}")
        time.sleep(0.0002)
    armed = (time.monotonic() - start) * 1000
    armed_cpu = time.clock_gettime(process_cpu_clock(process.pid)) * 1000
    os.unlink(ready)
    if not command:
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
    if process.wait():
        sys.exit(f"{prof} {' '.join(arguments)}: status {process.returncode}")
    with open(stats, encoding="utf-8") as file:
        written = json.load(file)
    return armed, armed_cpu, written["recorder_cpu_ms"], written["finish_ms"]


def cases(seconds, targets):
    """By name: the arguments of prof, and the command that is recorded."""
    pids = [word for target in targets for word in ("-p", str(target.pid))]
    burn = [os.path.join(WORKLOADS, "spin"), "die", str(seconds)]
    return {"record": (["record"], ["--", *burn]),
            "attach": (["attach", *pids], []),
            "all": (["record", "-a"], [])}


def print_case(name, profs, found):
    medians = [[statistics.median(column) for column in zip(*found[prof])] for prof in profs]
    for prof, row in zip(profs, medians):
        print(f"{name:8}" + "".join(f"{value:12.1f}" for value in row) + f"  {prof}")
        if row is not medians[0]:
            print(f"{'':8}" + "".join(f"{value / first:11.2f}x"
                                      for value, first in zip(row, medians[0])))
    if any(TARGETS[name]):
        print(f"{'':8}" + "".join(f"{f'<= {target}' if target else '':>12}"
                                  for target in TARGETS[name]) + "  target")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("profs", nargs="*", default=[PROF])
    arguments = parser.parse_args()
    targets = [subprocess.Popen(IDLERS[i % len(IDLERS)], stdin=subprocess.PIPE)
               for i in range(PROCESSES)]
    try:
        with tempfile.TemporaryDirectory(prefix="prof-bench.") as folder:
            print(f"{'':8}" + "".join(f"{column:>12}" for column in COLUMNS))
            for name, (options, command) in cases(arguments.seconds, targets).items():
                found = {prof: [] for prof in arguments.profs}
                for _ in range(arguments.rounds):
                    for prof, row in found.items():
                        row.append(measure(prof, options, command, folder))
                print_case(name, arguments.profs, found)
    finally:
        for target in targets:
            target.kill()
            target.wait()


if __name__ == "__main__":
    main()
