#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what Python's functions in stacks cost.

usage: python_cost.py [--rounds N] [--seconds S] [--python PYTHON] [--depths N...]

Runs a program of known depth alone, under prof with and without --no-runtimes, and under py-spy if
that is in $PATH, in turns, at 999 Hz. Prints medians of the rounds: the CPU time of the program
beside that under --no-runtimes, that of the recorder beside --no-runtimes and py-spy, and from the
kernel's own count (kernel.bpf_stats_enabled) the time of a sample, and of a function in it. No
verdict: the machine may be busy.
"""
import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import unwind_cost

PROF = unwind_cost.PROF
DEPTHS = (5, 50)
TARGET_CPU, RECORDER_CPU, PYSPY_SHARE, FUNCTION_NS = 1.01, 1.3, 0.25, 300
# Leaves its CPU time in a file; nothing else may be on its output.
PROGRAM = """
import sys, time
def work():
    total = 0
    for i in range(40000):
        total += i
    return total
def down(left):
    return down(left - 1) if left else work()
for _ in range(int(sys.argv[2])):
    down(int(sys.argv[1]) - 3)
open(sys.argv[3], "w").write(str(time.process_time()))
"""


def rounds_for(program, seconds, folder):
    """Returns how often the program has to do its work to take so long."""
    few, many = (run_alone([*program, "5", count, os.path.join(folder, "cpu")], folder)["target"]
                 for count in ("100", "600"))
    return max(1, int(500 * seconds / max(many - few, 0.01)))


def read_target(folder):
    with open(os.path.join(folder, "cpu"), encoding="utf-8") as file:
        return float(file.read())


def run_alone(command, folder):
    subprocess.run(command, check=True)
    return {"target": read_target(folder)}


def run_prof(options, command, folder):
    stats = os.path.join(folder, "stats")
    prof = subprocess.Popen([PROF, "record", "-q", "--no-off-cpu", *options, "--stats", stats, "-o",
                             os.path.join(folder, "profile.json.gz"), "--", *command])
    sample = None
    while prof.poll() is None:
        time.sleep(0.1)
        sample = unwind_cost.sampler_ns(prof.pid) or sample
    if prof.returncode or not sample:
        sys.exit(f"{PROF}: no figure, status {prof.returncode}")
    with open(stats, encoding="utf-8") as file:
        s = json.load(file)
    # The kernel's mean is that of all runs, of which those for others take next to nothing.
    ticks = s["bpf_programs"]["on_tick"]["runs"]
    return {"target": read_target(folder), "recorder": s["recorder_cpu_ms"] / 1000,
            "sample": sample * ticks / s["samples"]}


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run_pyspy(command, folder):
    before = children_cpu()
    subprocess.run(["py-spy", "record", "-r", "999", "-o", os.path.join(folder, "flames.svg"), "--",
                    *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    target = read_target(folder)
    return {"target": target, "recorder": children_cpu() - before - target}


def measure(program, depth, options, folder, peers):
    """program: a command; arguments follow: the depth, how often, and the file for its CPU time."""
    command = [*program, str(depth), str(rounds_for(program, options.seconds, folder)),
               os.path.join(folder, "cpu")]
    runs = [("alone", lambda: run_alone(command, folder)),
            ("native", lambda: run_prof(["--no-runtimes"], command, folder)),
            ("prof", lambda: run_prof([], command, folder))]
    for name, run in peers.items():
        runs.append((name, lambda run=run: run(command, folder)))
    found = []
    for _ in range(options.rounds):
        runs = runs[1:] + runs[:1]
        found.append({name: run() for name, run in runs})
    return found


def ratio(found, name, other, key):
    return statistics.median(row[name][key] / row[other][key] for row in found)


def median(found, name, key):
    return statistics.median(row[name][key] for row in found)


def report(depth, found):
    native, managed = (median(found, name, "sample") for name in ("native", "prof"))
    added = (managed - native) * 999 / 1e9
    print(f"target_cpu_{depth} {ratio(found, 'prof', 'native', 'target'):.3f} ratio of --no-runtimes "
          f"(target: at most {TARGET_CPU}); by the kernel's count {1 + added:.4f}; "
          f"{ratio(found, 'prof', 'alone', 'target'):.3f} of alone")
    print(f"recorder_cpu_{depth} {median(found, 'prof', 'recorder') * 1000:.0f} ms, "
          f"{ratio(found, 'prof', 'native', 'recorder'):.2f} ratio of --no-runtimes "
          f"(target: at most {RECORDER_CPU})")
    if "py-spy" in found[0]:
        print(f"recorder_to_pyspy_{depth} {ratio(found, 'prof', 'py-spy', 'recorder'):.3f} ratio "
              f"(target: at most {PYSPY_SHARE}), of {median(found, 'py-spy', 'recorder'):.2f} s; "
              f"its target takes {ratio(found, 'py-spy', 'alone', 'target'):.3f} of alone")
    wanted = f" (target: at most {FUNCTION_NS})" if depth >= 50 else ""
    print(f"sample_{depth} {managed:.0f} ns, native {native:.0f} ns; "
          f"a function {(managed - native) / depth:.0f} ns{wanted}")


def print_costs(programs, options, peers):
    """programs: by name, commands as measure() takes them."""
    with open(unwind_cost.STATS, encoding="utf-8") as file:
        before = file.read()
    try:
        with open(unwind_cost.STATS, "w", encoding="utf-8") as file:
            file.write("1")
        with tempfile.TemporaryDirectory(prefix="prof-bench.") as folder:
            for name, program in programs.items():
                for depth in options.depths:
                    if name:
                        print(f"-- {name}")
                    report(depth, measure(program, depth, options, folder, peers))
    finally:
        with open(unwind_cost.STATS, "w", encoding="utf-8") as file:
            file.write(before)


def parse_options(parser):
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--depths", type=int, nargs="+", default=DEPTHS)
    return parser.parse_args()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", default=sys.executable)
    options = parse_options(parser)
    peers = {"py-spy": run_pyspy} if shutil.which("py-spy") else {}
    print_costs({"": [options.python, "-c", PROGRAM]}, options, peers)


if __name__ == "__main__":
    main()
