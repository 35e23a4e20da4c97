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
import signal
import subprocess
import sys

import recorders

PROGRAM = os.path.join(recorders.BUILD, "tests/workloads/ping_pong")
EMPTY = os.path.join(recorders.BUILD, "tests/workloads/empty_programs")
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
    return recorders.work(target, trips) / (2 * trips)


def beside_empty_programs(target, trips):
    programs = subprocess.Popen([EMPTY], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if programs.stdout.readline() != b"ready\n":
        sys.exit(f"empty_programs: status {programs.wait()}")
    took = work(target, trips)
    programs.communicate()
    return took


def under_prof(target, trips, pid, options):
    prof = recorders.start_prof("attach", *options, "-p", str(pid), "-o", "/dev/null")
    took = work(target, trips)
    recorders.end_prof(prof)
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


def print_results(tenth):
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
    names = [name for name, _other, _target in WINDOWS]

    def measure_one(name, target, other, folder):
        return measure(name, target, other, arguments.trips, folder)
    print_results(recorders.measure_windows(names, [PROGRAM, "0"], arguments.rounds, measure_one))


if __name__ == "__main__":
    main()
