#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what recording waits costs a context switch.

    switch_cost.py [--rounds N] [--trips N]

Two threads wake each other on one CPU. Windows of that, in random order in each round: alone; with
two BPF programs that do nothing, at switches and wake-ups; under prof attach without and with waits,
also with --wakers, and with the waits of another process; under perf record of sched:sched_switch
without stacks. Each recorder is ready before its window begins. Printed is the
10th percentile over the rounds of the CPU time a switch takes, and what that is above the window it
is compared with: as time, and as a share of a CPU at 100,000 switches a second.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
PROF = os.path.abspath(os.environ.get("PROF", os.path.join(BUILD, "prof")))
PROGRAM = os.path.join(BUILD, "tests/workloads/ping_pong")
EMPTY = os.path.join(BUILD, "tests/workloads/empty_programs")
RATE = 100000
# Name, the window it is compared with, target.
WINDOWS = (("alone", None, ""),
           ("two empty programs", "alone", ""),
           ("prof, no waits", "alone", ""),
           ("prof, waits", "prof, no waits", "at most 6 % and half of perf's"),
           ("prof, waits and wakers", "prof, no waits", ""),
           ("prof, waits of another", "prof, no waits", ""),
           ("perf sched_switch", "alone", ""))


def work(target, trips):
    """Returns ns of CPU time a switch."""
    target.stdin.write(f"{trips}\n".encode())
    target.stdin.flush()
    return int(target.stdout.readline()) / (2 * trips)


def beside_empty_programs(target, trips):
    programs = subprocess.Popen([EMPTY], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if programs.stdout.readline() != b"ready\n":
        sys.exit(f"empty_programs: status {programs.wait()}")
    took = work(target, trips)
    programs.communicate()
    return took


def under_prof(target, trips, pid, options):
    ready, write = os.pipe()
    prof = subprocess.Popen([PROF, "attach", "-q", "--no-symbols", *options, "-p", str(pid), "-o",
                             "/dev/null", "--ready-fd", str(write)], pass_fds=[write])
    os.close(write)
    if os.read(ready, 16) != b"ready\n":
        sys.exit(f"prof attach: status {prof.wait()}")
    os.close(ready)
    took = work(target, trips)
    prof.send_signal(signal.SIGINT)
    if prof.wait():
        sys.exit(f"prof attach: status {prof.returncode}")
    return took


def under_perf(target, trips, folder):
    control, tell = os.pipe()
    hear, acknowledge = os.pipe()
    perf = subprocess.Popen(["perf", "record", "-a", "-e", "sched:sched_switch", "-D", "-1", "-o",
                             os.path.join(folder, "perf.data"), "--control",
                             f"fd:{control},{acknowledge}"], pass_fds=[control, acknowledge],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(control)
    os.close(acknowledge)
    os.write(tell, b"enable\n")
    is_ready = os.read(hear, 16).startswith(b"ack")
    took = work(target, trips) if is_ready else None
    perf.send_signal(signal.SIGINT)
    perf.wait()
    os.close(tell)
    os.close(hear)
    return took


def measure(name, target, other, trips, folder):
    if name == "alone":
        return work(target, trips)
    if name == "two empty programs":
        return beside_empty_programs(target, trips)
    if name == "perf sched_switch":
        return under_perf(target, trips, folder)
    pid = other.pid if name == "prof, waits of another" else target.pid
    options = ["--no-off-cpu"] if name == "prof, no waits" else ["--off-cpu=2000"]
    if name == "prof, waits and wakers":
        options.append("--wakers")
    return under_prof(target, trips, pid, options)


def print_results(found):
    tenth = {name: sorted(took)[len(took) // 10] for name, took in found.items() if took}
    for name, other, target in WINDOWS:
        if name not in tenth:
            print(f"{name:24} no window succeeded")
        elif other is None:
            print(f"{name:24} {tenth[name]:7.0f} ns a switch")
        else:
            added = tenth[name] - tenth[other]
            print(f"{name:24} {tenth[name]:7.0f} ns a switch, {added:+6.0f} to {other}: "
                  f"{added * RATE / 1e7:5.1f} % of a CPU  {target}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--trips", type=int, default=30000)
    arguments = parser.parse_args()
    found = {name: [] for name, _other, _target in WINDOWS}
    target = subprocess.Popen([PROGRAM, "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    other = subprocess.Popen(["sleep", "1000"])
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.rounds):
            for name, _other, _target in random.sample(WINDOWS, len(WINDOWS)):
                took = measure(name, target, other, arguments.trips, folder)
                if took is not None:
                    found[name].append(took)
    target.stdin.close()
    target.wait()
    other.kill()
    other.wait()
    print_results(found)


if __name__ == "__main__":
    main()
