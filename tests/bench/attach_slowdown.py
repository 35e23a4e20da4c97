#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how much recording slows a program with many threads: prof attach and perf record -g.

    attach_slowdown.py [--pairs N] [--frequency HZ] [--pieces N] [THREADS...]   default 1000

The threads hand work on to each other, so that the CPUs change threads all the time. Each round
does the same work alone, under prof attach and under perf record -g -p, in turns; each recorder is
ready before the work begins. Printed are medians over the rounds: the CPU time and the time that
the work took, relative to doing it alone in the same round, and how many samples there were.
"""
import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile

from recorders import BUILD, end_prof, start_prof

PROGRAM = os.path.join(BUILD, "tests/workloads/busy_threads")
TARGET = "prof's not above perf's"


def work(target):
    """Nanoseconds of time and of CPU time."""
    target.stdin.write(b"\n")
    target.stdin.flush()
    return [int(word) for word in target.stdout.readline().split()]


def alone(target, _folder, _frequency):
    return (*work(target), 0)


def under_prof(target, folder, frequency):
    stats = os.path.join(folder, "stats")
    prof = start_prof("attach", "-F", str(frequency), "-p", str(target.pid), "-o", "/dev/null",
                      "--stats", stats)
    took = work(target)
    end_prof(prof)
    with open(stats, encoding="utf-8") as file:
        return (*took, json.load(file)["cpu_samples"])


def perf_once(target, folder, frequency):
    """Returns None if the tool failed by itself."""
    control, tell = os.pipe()
    hear, acknowledge = os.pipe()
    log = os.path.join(folder, "perf.log")
    with open(log, "w", encoding="utf-8") as out:
        perf = subprocess.Popen(["perf", "record", "-g", "-e", "cpu-clock", "-F", str(frequency),
                                 "-p", str(target.pid), "-o", os.path.join(folder, "perf.data"),
                                 "-D", "-1", "--control", f"fd:{control},{acknowledge}"],
                                pass_fds=[control, acknowledge], stdout=out, stderr=out)
    os.close(control)
    os.close(acknowledge)
    os.write(tell, b"enable\n")
    is_ready = os.read(hear, 16).startswith(b"ack")
    took = work(target) if is_ready else None
    if is_ready:
        perf.send_signal(signal.SIGINT)
    perf.wait()
    os.close(tell)
    os.close(hear)
    with open(log, encoding="utf-8", errors="replace") as file:
        samples = re.search(r"\((\d+) samples\)", file.read())
    return (*took, int(samples[1])) if is_ready and samples else None


def under_perf(target, folder, frequency):
    # It aborts now and then if other BPF programs come and go meanwhile.
    for _ in range(20):
        result = perf_once(target, folder, frequency)
        if result:
            return result
    with open(os.path.join(folder, "perf.log"), encoding="utf-8", errors="replace") as file:
        sys.exit(f"perf record: {file.read()}")


def measure(threads, arguments, folder):
    target = subprocess.Popen([PROGRAM, str(threads), str(arguments.pieces)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    if target.stdout.readline() != b"ready\n":
        sys.exit("busy_threads did not begin")
    order = [("alone", alone), ("prof attach", under_prof), ("perf -g -p", under_perf)]
    rounds = []
    for _ in range(arguments.pairs):
        order = order[1:] + order[:1]
        rounds.append({name: run(target, folder, arguments.frequency) for name, run in order})
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    target.stdin.close()
    target.kill()
    target.wait()
    return rounds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--frequency", type=int, default=999)
    parser.add_argument("--pieces", type=int, default=150000)
    parser.add_argument("threads", nargs="*", type=int, default=[1000])
    arguments = parser.parse_args()
    row = "{:>8} {:<12} {:>9} {:>9} {:>9}"
    print(row.format("threads", "under", "CPU time", "time", "samples"))
    with tempfile.TemporaryDirectory(prefix="prof-bench.") as folder:
        for threads in arguments.threads:
            rounds = measure(threads, arguments, folder)
            for name in ("prof attach", "perf -g -p"):
                cpu, took, samples = (statistics.median(column) for column in zip(
                    *((r[name][1] / r["alone"][1], r[name][0] / r["alone"][0], r[name][2])
                      for r in rounds)))
                print(row.format(threads, name, f"{cpu:.3f}", f"{took:.3f}", f"{samples:.0f}"))
            ratio = statistics.median(r["prof attach"][1] / r["perf -g -p"][1] for r in rounds)
            print(f"{threads:>8} prof / perf, CPU time in pairs: {ratio:.3f} ({TARGET})",
                  flush=True)


if __name__ == "__main__":
    main()
