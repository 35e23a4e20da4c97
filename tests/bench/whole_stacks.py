#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the stacks that reach the root, and the bytes per sample on the way to user space.

    whole_stacks.py [-d SECONDS] [-F HZ] [PROGRAM...]

Records each program and reads --stats. Of the samples that can have a whole user stack (no kernel
threads, no address space that is being torn down), how many have: long-lived programs of the
distribution are to reach 99.9 %, short-lived ones 99.5 %; other languages have no target, since
Go switches stacks by itself. The other columns say what the rest is, in samples; guessed and
finished later count within whole.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/bench/programs"))
import programs  # noqa: E402

BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
PROF = os.path.abspath(os.environ.get("PROF", os.path.join(BUILD, "prof")))
COLUMNS = ("guessed", "finished_later", "truncated", "broken", "unknown", "kernel_only", "exiting",
           "lost")
CAN_BE_WHOLE = ("whole", "truncated", "broken", "unknown")
BYTES_TARGETS = {"python3": 64, "cc1plus": 200}


def record(command, arguments, folder):
    stats = os.path.join(folder, "stats")
    done = subprocess.run(
        [PROF, "record", "-q", "-F", str(arguments.frequency), "-d", str(arguments.seconds),
         "--kill", "-o", os.path.join(folder, "profile.json"), "--stats", stats, "--", *command],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, text=True)
    if done.returncode:
        print(done.stderr)
        return None
    with open(stats, encoding="utf-8") as file:
        return json.load(file)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", dest="seconds", type=float, default=10)
    parser.add_argument("-F", dest="frequency", type=int, default=999)
    parser.add_argument("programs", nargs="*")
    arguments = parser.parse_args()
    row = "{:<17} {:>8} {:>9} {:>8} " + "{:>9} " * len(COLUMNS) + "{:>9} {:>7}"
    print(row.format("program", "samples", "whole", "target",
                     *(name.replace("finished_", "") for name in COLUMNS), "B/sample", "target"))
    with tempfile.TemporaryDirectory(prefix="prof-bench.") as folder:
        distribution = programs.distribution(folder)
        short_lived = programs.short_lived(folder)
        targets = {**dict.fromkeys(distribution, ">= 99.9"),
                   **dict.fromkeys(short_lived, ">= 99.5")}
        table = {**distribution, **programs.languages(folder), **short_lived}
        for name in arguments.programs or table:
            stats = record(table[name], arguments, folder)
            if not stats:
                continue
            of = max(sum(stats[key] for key in CAN_BE_WHOLE), 1)
            print(row.format(name, stats["samples"], f"{100 * stats['whole'] / of:.2f} %",
                             targets.get(name, ""),
                             *(stats[key] for key in COLUMNS),
                             f"{stats['ring_bytes'] / max(stats['samples'], 1):.1f}",
                             f"<= {BYTES_TARGETS[name]}" if name in BYTES_TARGETS else ""),
                  flush=True)


if __name__ == "__main__":
    main()
