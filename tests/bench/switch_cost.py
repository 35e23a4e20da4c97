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


def measure(name, target, other, trips, folder):
    def work():
        return recorders.work(target, trips) / (2 * trips)  # ns of CPU time a switch
    if name == "alone":
        return work()
    if name == "two empty programs":
        return recorders.beside(EMPTY, work)
    if name == "perf sched_switch":
        return recorders.under_perf(["-a", "-e", "sched:sched_switch"], folder, work)
    pid = other.pid if name == "prof, waits of another" else target.pid
    options = ["--no-off-cpu"] if name == "prof, no waits" else ["--off-cpu=2000"]
    if name == "prof, waits and wakers":
        options.append("--wakers")
    return recorders.under_prof([*options, "-p", str(pid)], work)


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
