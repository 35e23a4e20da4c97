#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the cost of a sample in the kernel, by depth of the stack.

usage: unwind_cost.py [--rounds N]

Runs the recursion workload at several depths, recorded by prof with CFI unwinding (built without
frame pointers) and with the kernel's own frame pointer walk (built with them), and asks the kernel
for the time that the sampler took (kernel.bpf_stats_enabled). Prints the median of the rounds, the
cost of a further frame, and the ratio of the two. No verdict: the machine may be busy.
"""
import argparse
import os
import statistics
import subprocess
import sys
import time

BUILD = os.environ.get("BUILD", "build")
PROF = os.environ.get("PROF", os.path.join(BUILD, "prof"))
PERF_EVENT_PROGRAM = "7"  # BPF_PROG_TYPE_PERF_EVENT
STATS = "/proc/sys/kernel/bpf_stats_enabled"
DEPTHS = (20, 60, 120)
# The kernel's walk stops at perf_event_max_stack, 127 by default: deeper ones do not compare.
WORKLOADS = {
    "cfi": os.path.join(BUILD, "tests/workloads/nofp/recursion"),
    "fp": os.path.join(BUILD, "tests/workloads/recursion"),
}


SAMPLE_TARGET, RATIO_TARGET, FURTHER_FRAME_TARGET = 1700, 1.6, 70


def target(has_one, value):
    return f" (target: at most {value})" if has_one else ""


def sampler_ns(pid):
    """Mean run time of the sampler that this process has loaded, or None before it has run."""
    folder = f"/proc/{pid}/fdinfo"
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    for name in names:
        try:
            with open(os.path.join(folder, name)) as file:
                info = dict(line.split(":", 1) for line in file if ":" in line)
        except OSError:
            continue
        if info.get("prog_type", "").strip() != PERF_EVENT_PROGRAM:
            continue
        count = int(info.get("run_cnt", "0"))
        if count > 500:
            return int(info["run_time_ns"]) / count
    return None


def measure(method, depth):
    command = [PROF, "record", "-q", "--no-off-cpu", "-F", "4999", "--unwind", method, "-o",
               "/dev/null", "--", WORKLOADS[method], str(depth), "2000"]
    prof = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    result = None
    while prof.poll() is None:
        time.sleep(0.2)
        result = sampler_ns(prof.pid) or result
    if prof.returncode or result is None:
        sys.exit(f"{' '.join(command)}: no figure, status {prof.returncode}")
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    with open(STATS) as file:
        before = file.read()
    figures = {}
    try:
        with open(STATS, "w") as file:
            file.write("1")
        for _ in range(rounds):
            for depth in DEPTHS:
                for method in WORKLOADS:
                    figures.setdefault((method, depth), []).append(measure(method, depth))
    finally:
        with open(STATS, "w") as file:
            file.write(before)
    median = {key: statistics.median(values) for key, values in figures.items()}
    for depth in DEPTHS:
        cfi, fp = median["cfi", depth], median["fp", depth]
        print(f"sample_cfi_{depth} {cfi:.0f} ns" + target(depth == 20, SAMPLE_TARGET))
        print(f"sample_fp_{depth} {fp:.0f} ns")
        print(f"sample_cfi_to_fp_{depth} {cfi / fp:.2f} ratio" + target(True, RATIO_TARGET))
    for method in WORKLOADS:
        span = DEPTHS[-1] - DEPTHS[0]
        further = (median[method, DEPTHS[-1]] - median[method, DEPTHS[0]]) / span
        print(f"further_frame_{method} {further:.1f} ns" +
              target(method == "cfi", FURTHER_FRAME_TARGET))


if __name__ == "__main__":
    main()
