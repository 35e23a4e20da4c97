#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what a recording costs threads, programs and mappings that come and go.

    task_cost.py [--rounds N] [--frequency HZ]

A program makes four threads at once, or a process that executes a program, or an executable
mapping, one after the other. Short windows of each, in random order in each round: alone; beside a recorder that opens
prof's perf events and does nothing; under prof attach with and without waits; under perf record -g
-p. Each recorder is ready before its window begins. Printed are the 10th percentile and the median
over the rounds of the CPU time that one takes, its children's included, and both as ratios of the
program's alone.
"""
import argparse
import os

import recorders

PROGRAM = os.path.join(recorders.BUILD, "tests/workloads/task_loops")
EMPTY = os.path.join(recorders.BUILD, "tests/workloads/empty_recorder")
NAMES = ("alone", "empty recorder", "prof", "prof, no waits", "perf record -g")
# Name of the loop, rounds in a window, prof's target.
LOOPS = (("threads", 1500, "at most 1.18 and less than perf's"),
         ("programs", 150, "at most 1.05, or the empty recorder's"),
         ("mappings", 20000, ""))


def measure(name, target, count, frequency, folder):
    def work():
        return recorders.work(target, count) / count
    pid = str(target.pid)
    if name == "alone":
        return work()
    if name == "empty recorder":
        return recorders.beside(EMPTY, work)
    if name == "perf record -g":
        return recorders.under_perf(["-g", "-e", "cpu-clock", "-F", frequency, "-p", pid], folder,
                                    work)
    options = ["--no-off-cpu"] if name == "prof, no waits" else []
    return recorders.under_prof([*options, "-F", frequency, "-p", pid], work)


def print_results(loop, target, found):
    alone = [recorders.percentile(found["alone"], part) for part in (10, 50)]
    for name in NAMES:
        if name not in found:
            print(f"{loop:9} {name:16} no window succeeded")
            continue
        taken = [recorders.percentile(found[name], part) for part in (10, 50)]
        print(f"{loop:9} {name:16} {taken[0] / 1000:8.2f} {taken[1] / 1000:8.2f} us"
              f"  {taken[0] / alone[0]:5.2f} {taken[1] / alone[1]:5.2f}"
              f"  {target if name == 'prof' else ''}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--frequency", default="999")
    arguments = parser.parse_args()
    for loop, count, target in LOOPS:
        def measure_one(name, process, _other, folder, count=count):
            return measure(name, process, count, arguments.frequency, folder)
        print_results(loop, target, recorders.take_windows(NAMES, [PROGRAM, loop],
                                                           arguments.rounds, measure_one))


if __name__ == "__main__":
    main()
