#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what --alloc costs the program: malloc() and free() in a loop, and a run of the compiler.

    alloc_cost.py [--rounds N] [loop] [compiler]

Each round runs the program alone, with prof-alloc.so to which nobody listens, recorded without and
with --alloc, and under heaptrack and with perf's probe of malloc() if these are there, in turns.
heaptrack's own process counts with the compiler, as it compresses what the program sends. Prints for the loop the time of a
pair of calls, ns, and for the compiler its CPU time relative to that alone: 10th percentiles over
the rounds, ± the distance to the median. No verdict: a machine has neighbours.
"""

import argparse
import atexit
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
PROF = os.path.abspath(os.environ.get("PROF", os.path.join(BUILD, "prof")))
SHIM = os.path.join(os.path.dirname(PROF), "prof-alloc.so")
PAIRS = os.path.abspath(os.path.join(BUILD, "tests/workloads/allocs"))
SOURCE = """
#include <algorithm>
#include <iostream>
#include <map>
#include <regex>
#include <string>
#include <vector>
int main() { std::map<std::string, std::vector<int>> m; std::regex r("a.*b");
for (auto &x : m) std::sort(x.second.begin(), x.second.end()); return std::regex_match("ab", r); }
"""


PROBE = "probe_libc:malloc"


def has_probe():
    """Tells whether perf can probe malloc(): it adds the probe, which has to be removed."""
    libc = subprocess.run(["gcc", "-print-file-name=libc.so.6"], stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()
    return shutil.which("perf") and subprocess.run(
        ["perf", "probe", "-q", "-x", os.path.realpath(libc), "malloc"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def tools(folder, with_probe):
    """Lists what each puts before the program."""
    quiet = [PROF, "record", "-q", "-o", os.path.join(folder, "p.json.gz")]
    found = {
        "alone": [],
        "silent": ["env", f"LD_PRELOAD={SHIM}"],
        "record": quiet + ["--"],
        "--alloc": quiet + ["--alloc", "--"],
    }
    if shutil.which("heaptrack"):
        found["heaptrack"] = ["heaptrack", "-r", "-o", os.path.join(folder, "heap")]
    if with_probe:
        found["perf"] = ["perf", "record", "-q", "-B", "-N", "-e", PROBE, "-o", os.path.join(folder, "perf")]
    return found


def loop(command):
    """The least of many passes: others take the CPU for a while, but never give it."""
    out = subprocess.run([*command, PAIRS, "pairs", "20000"], stdout=subprocess.PIPE, text=True,
                         check=True).stdout
    return float(next(word for word in reversed(out.split()) if word.replace(".", "").isdigit()))


def compiler(command, folder):
    """CPU time of the compiler alone, as its shell knows it."""
    source = os.path.join(folder, "source.cc")
    with open(source, "w", encoding="utf-8") as file:
        file.write(SOURCE)
    times = os.path.join(folder, "times")
    # prof does not count with what it records, as it is the shell's parent.
    inner = command if command and command[0] in ("heaptrack", "perf") else []
    wrapper = f"-wrapper {','.join(inner)}" if inner else ""
    script = f"g++ {wrapper} -O1 -S -o {folder}/source.s {source} && times >{times}"
    subprocess.run([*([] if inner else command), "bash", "-c", script], stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL, check=True)
    with open(times, encoding="utf-8") as file:
        of_children = file.read().split("\n")[1].split()
    return sum(int(m) * 60 + float(s) for m, s in
               (word.rstrip("s").split("m") for word in of_children))


def show(figures, unit, relative):
    base = statistics.quantiles(figures["alone"], n=10)[0] if relative else 1
    for tool, values in figures.items():
        low, median = statistics.quantiles(values, n=10)[0], statistics.median(values)
        print(f"  {tool:10} {low / base:8.3f} ±{(median - low) / base:.3f} {unit}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("what", nargs="*", default=["loop", "compiler"])
    options = parser.parse_args()
    if os.geteuid():
        sys.exit("alloc_cost.py: recording needs root")
    with_probe = has_probe()
    if with_probe:
        atexit.register(subprocess.run, ["perf", "probe", "-q", "-d", PROBE], check=False)
    with tempfile.TemporaryDirectory() as folder:
        for what in options.what:
            figures = {}
            for _ in range(options.rounds):
                for tool, command in tools(folder, with_probe).items():
                    value = loop(command) if what == "loop" else compiler(command, folder)
                    figures.setdefault(tool, []).append(value)
            print(what)
            show(figures, "ns a pair" if what == "loop" else "of the run alone", what != "loop")


if __name__ == "__main__":
    main()
