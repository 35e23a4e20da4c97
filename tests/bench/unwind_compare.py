#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks frames: bench_unwind_compare over many programs, as one table.

    unwind_compare.py [-d SECONDS] [-F HZ] [-v] [PROGRAM...]

Each sample's stack is walked by our walker and by libdw, and compared frame by frame. With -v, the
classes of what is not equal are printed as well. README.md in this folder explains them.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests/bench/programs"))
import programs  # noqa: E402

BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
COMPARE = os.path.join(BUILD, "tests/bench/bench_unwind_compare")
VERDICTS = ("equal", "shorter", "longer", "different", "other_kind")
TARGET = 99.9


def compare(name, command, arguments):
    done = subprocess.run(
        [COMPARE, "-d", str(arguments.seconds), "-F", str(arguments.frequency), "-n", "40",
         *command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, text=True)
    figures = {key: float(value) for key, value in
               re.findall(r"^unwind_compare_([a-z_]+)_\S+ ([0-9.]+)", done.stdout, re.M)}
    if arguments.verbose:
        sys.stdout.write("".join(f"{line}\n" for line in done.stdout.splitlines()
                                 if line.startswith("#")))
    if "samples" not in figures:
        print(f"{name}: no figures, status {done.returncode}")
    return figures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-d", dest="seconds", type=float, default=8)
    parser.add_argument("-F", dest="frequency", type=int, default=499)
    parser.add_argument("-v", dest="verbose", action="store_true")
    parser.add_argument("programs", nargs="*")
    arguments = parser.parse_args()
    row = "{:<17} {:>8} {:>9} " + "{:>10} " * len(VERDICTS) + "{:>9} {:>8} {:>8} {:>8}"
    print(row.format("program", "samples", "frames", *VERDICTS, "frames =", "guessed", "whole",
                     "libdw"))
    equal = frames = 0
    with tempfile.TemporaryDirectory(prefix="prof-bench.") as folder:
        table = {**programs.distribution(folder), **programs.languages(folder)}
        for name in arguments.programs or table:
            f = compare(name, table[name], arguments)
            if "samples" not in f:
                continue
            print(row.format(name, int(f["samples"]), int(f["frames"]),
                             *(int(f[verdict]) for verdict in VERDICTS),
                             f"{f['equal_frames']:.3f} %", f"{f['guessed_frames']:.2f} %",
                             f"{f['whole']:.2f} %", f"{f['libdw_whole']:.2f} %"), flush=True)
            frames += f["frames"]
            equal += f["frames"] * f["equal_frames"] / 100
    print(f"unwind_compare_equal_frames {100 * equal / max(frames, 1):.3f} %"
          f" (target: at least {TARGET})")


if __name__ == "__main__":
    main()
