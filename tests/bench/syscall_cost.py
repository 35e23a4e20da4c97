#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what recording system calls costs each of them.

    syscall_cost.py [--rounds N] [--calls N]

A program reads a byte of /dev/zero, again and again. Windows of that, in random order in each
round: alone; under prof attach, also with --syscalls; beside a prof that records the system calls of
another process; under `strace -c` and `perf trace -s`. Each recorder is ready before its window
begins. Printed is the 10th percentile over the rounds of the time that a call takes, what that is
above the program alone, and how many times as much strace adds as prof.
"""
import argparse
import os
import shutil
import signal
import subprocess
import time

import recorders

PROGRAM = os.path.join(recorders.BUILD, "tests/workloads/read_loop")
ALONE, PLAIN, CALLS, OTHER = "alone", "prof", "prof --syscalls", "prof --syscalls of another"
STRACE, PERF = "strace -c", "perf trace -s"
WINDOWS = (ALONE, PLAIN, CALLS, OTHER, STRACE, PERF)


def work(target, calls):
    """Returns ns a call."""
    return recorders.work(target, calls) / calls


def under_prof(target, calls, pid, options):
    prof = recorders.start_prof("attach", "--no-off-cpu", *options, "-p", str(pid), "-o",
                                "/dev/null")
    took = work(target, calls)
    recorders.end_prof(prof)
    return took


def is_traced(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return "TracerPid:\t0\n" not in file.read()


def under_strace(target, calls):
    strace = subprocess.Popen(["strace", "-c", "-o", "/dev/null", "-p", str(target.pid)],
                              stderr=subprocess.DEVNULL)
    while not is_traced(target.pid) and strace.poll() is None:
        time.sleep(0.01)
    took = work(target, calls) if strace.poll() is None else None
    strace.send_signal(signal.SIGINT)
    strace.wait()
    return took


def under_perf(target, calls, folder):
    log = os.path.join(folder, "perf")
    perf = subprocess.Popen(["perf", "trace", "-s", "-o", log, "-p", str(target.pid)],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # It does not tell when it has begun.
    time.sleep(1)
    took = work(target, calls) if perf.poll() is None else None
    perf.send_signal(signal.SIGINT)
    perf.wait()
    return took


def measure(name, target, other, calls, folder):
    if name == ALONE:
        return work(target, calls)
    if name == STRACE:
        # A hundredth as many take as long.
        return under_strace(target, calls // 100) if shutil.which("strace") else None
    if name == PERF:
        return under_perf(target, calls // 10, folder) if shutil.which("perf") else None
    pid = other.pid if name == OTHER else target.pid
    return under_prof(target, calls, pid, [] if name == PLAIN else ["--syscalls"])


def print_results(tenth):
    for name in WINDOWS:
        if name not in tenth:
            print(f"{name:28} no window succeeded")
            continue
        added = tenth[name] - tenth[ALONE]
        line = f"{name:28} {tenth[name]:8.0f} ns a call"
        if name != ALONE:
            line += f", {added:+8.0f}"
        if name in (STRACE, PERF):
            own = tenth[CALLS] - tenth[ALONE]
            line += f": {added / own:.1f} times what prof --syscalls adds"
            line += "  at least 10" if name == STRACE else ""
        print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--calls", type=int, default=500000)
    arguments = parser.parse_args()

    def measure_one(name, target, other, folder):
        return measure(name, target, other, arguments.calls, folder)
    print_results(recorders.measure_windows(WINDOWS, [PROGRAM], arguments.rounds, measure_one))


if __name__ == "__main__":
    main()
