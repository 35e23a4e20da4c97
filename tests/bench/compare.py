#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares prof with `perf record -g` and `perf script`, and with samply, on the same programs.

    compare.py [--pairs N] [--frequency HZ] [WORKLOAD...]   WORKLOAD: c, python, make; default all

Each round runs the program alone and under each tool, in turns, so that a change of the machine's
speed affects all alike; samply takes part if it is in $PATH. Prints medians over the rounds:

    target CPU    CPU time of the program, relative to running alone in the same round
    tool CPU      CPU time of the recorder itself; prof names and writes the profile in it,
                  "perf" is `perf record`, "+script" the naming by `perf script`
    B/sample      bytes that the kernel hands over for a sample
    finish        from the program's end to named results; samply's have no names yet
    lost          samples

No verdict: a machine has neighbours.
"""

import argparse
import gzip
import json
import math
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
PROF = os.path.abspath(os.environ.get("PROF", os.path.join(BUILD, "prof")))
PYTHON_LOOP = """
import json
data = [{"key": str(i), "value": list(range(60))} for i in range(2000)]
for _ in range(60):
    json.loads(json.dumps(data))
"""


def prepare_make(folder):
    with open(os.path.join(folder, "Makefile"), "w", encoding="utf-8") as file:
        file.write("all: $(patsubst %,f%.o,$(shell seq 60))\n")
    for i in range(1, 61):
        with open(os.path.join(folder, f"f{i}.c"), "w", encoding="utf-8") as file:
            file.write(f"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
                       f"int f{i}(char *s) {{ return printf(\"%zu\", strlen(s)) + atoi(s); }}\n")


def workloads(folder):
    prepare_make(folder)
    return {
        "c": [os.path.join(BUILD, "tests/workloads/fixed_work")],
        "python": ["/usr/bin/python3", "-c", PYTHON_LOOP],
        "make": ["make", "-s", "-B", "-j2", "-C", folder],
    }


def run(command, log, failures=()):
    """CPU and wall seconds of a command and its children; (None, None) if it failed in that way."""
    start = time.monotonic()
    with open(log, "w", encoding="utf-8") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out, cwd=os.path.dirname(log))
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode in failures:
        return None, None
    if process.returncode != 0:
        with open(log, encoding="utf-8", errors="replace") as file:
            sys.exit(f"{command[0]}: exit status {process.returncode}\n{file.read()}")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - start


def run_often(command, log, failure):
    """The same for a tool that fails without a reason of its own; CPU seconds."""
    for attempt in range(60):
        total, _ = run(command, log, (failure,) if attempt < 59 else ())
        if total is not None:
            break
    return total


def timed(command, file):
    """The same command, which leaves its CPU time in a file."""
    return ["bash", "-c", 'TIMEFORMAT="%U %S"; { time "$@" 2>&3; } 3>&2 2>' + file, "sh", *command]


def read_cpu(file):
    with open(file, encoding="utf-8") as times:
        return sum(float(word) for word in times.read().split()[-2:])


def run_alone(command, folder):
    cpu = os.path.join(folder, "cpu")
    run(timed(command, cpu), os.path.join(folder, "log"))
    return {"target": read_cpu(cpu)}


def run_prof(command, folder, frequency):
    cpu, stats = os.path.join(folder, "cpu"), os.path.join(folder, "stats")
    # The others record no waits.
    total, _ = run([PROF, "record", "-q", "--no-off-cpu", "-F", frequency, "--stats", stats, "-o",
                    os.path.join(folder, "profile.json.gz"), "--", *timed(command, cpu)],
                   os.path.join(folder, "log"))
    with open(stats, encoding="utf-8") as file:
        s = json.load(file)
    target = read_cpu(cpu)
    return {"target": target, "tool": total - target, "samples": s["samples"], "lost": s["lost"],
            "bytes": s["ring_bytes"] / max(s["samples"], 1), "finish": s["finish_ms"] / 1000,
            "own": s["recorder_cpu_ms"] / 1000}


def run_perf(command, folder, frequency):
    cpu, data = os.path.join(folder, "cpu"), os.path.join(folder, "perf.data")
    log = os.path.join(folder, "log")
    # It aborts now and then if other BPF programs come and go meanwhile.
    total = run_often(["perf", "record", "-F", frequency, "-g", "-o", data, "--",
                       *timed(command, cpu)], log, -signal.SIGABRT)
    with open(log, encoding="utf-8", errors="replace") as file:
        text = file.read()
    captured = re.search(r"\((\d+) samples\)", text)
    samples = int(captured[1]) if captured else 0
    lost = sum(int(n) for n in re.findall(r"lost (\d+)", text))
    target = read_cpu(cpu)
    script_cpu, script_wall = run(["perf", "script", "-i", data], os.path.join(folder, "script"))
    return {"target": target, "tool": total - target, "samples": samples, "lost": lost,
            "bytes": os.stat(data).st_size / max(samples, 1), "finish": script_wall,
            "script": script_cpu}


def run_samply(command, folder, frequency):
    """The program prints the time of its end."""
    cpu, ended = os.path.join(folder, "cpu"), os.path.join(folder, "ended")
    program = [*timed(command, cpu)]
    program[2] += '; date +%s.%N >"$0"'
    program[3] = ended
    # It panics now and then over a mapping with a build id.
    total = run_often(["samply", "record", "-s", "-n", "-r", frequency, "-o",
                       os.path.join(folder, "samply.json.gz"), "--", *program],
                      os.path.join(folder, "log"), 101)
    finish = time.time() - float(pathlib.Path(ended).read_text(encoding="utf-8"))
    with gzip.open(os.path.join(folder, "samply.json.gz")) as file:
        samples = sum(t["samples"]["length"] for t in json.load(file)["threads"])
    target = read_cpu(cpu)
    return {"target": target, "tool": total - target, "samples": samples, "lost": math.nan,
            "bytes": math.nan, "finish": finish}


def measure(command, folder, pairs, frequency):
    rounds = []
    order = [("alone", run_alone, ()), ("prof", run_prof, (frequency,)),
             ("perf", run_perf, (frequency,))]
    if shutil.which("samply"):
        order.append(("samply", run_samply, (frequency,)))
    for _ in range(pairs):
        order = order[1:] + order[:1]
        rounds.append({name: function(command, folder, *more) for name, function, more in order})
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return rounds


def median(rounds, tool, key):
    return statistics.median(r[tool][key] for r in rounds)


def report(name, rounds):
    for tool in ("prof", "perf", "samply"):
        if tool not in rounds[0]:
            continue
        ratios = [r[tool]["target"] / r["alone"]["target"] for r in rounds]
        extra = f" +script {median(rounds, tool, 'script'):.2f}" if tool == "perf" else ""
        print(f"{name:8}{tool:6}{statistics.median(ratios):10.3f}"
              f"  {min(ratios):.3f}-{max(ratios):.3f}{median(rounds, tool, 'tool'):10.3f}"
              f"{median(rounds, tool, 'samples'):10.0f}{median(rounds, tool, 'bytes'):10.1f}"
              f"{median(rounds, tool, 'finish'):10.3f}{median(rounds, tool, 'lost'):7.0f}{extra}")
    paired = statistics.median(r["prof"]["target"] / r["perf"]["target"] for r in rounds)
    print(f"{name:8}prof/perf {paired:6.3f}  target CPU, paired (target: at most 1.02); "
          f"recorder_cpu_ms says {median(rounds, 'prof', 'own'):.3f} s of tool CPU")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--frequency", default="999")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if not shutil.which("perf"):
        sys.exit("compare.py: perf is not here (Debian: apt-get install linux-perf)")
    folder = tempfile.mkdtemp(prefix="prof-bench.")
    try:
        known = workloads(folder)
        print(f"{'':8}{'':6}{'target CPU':>10}  {'min-max':11}{'tool CPU s':>10}{'samples':>10}"
              f"{'B/sample':>10}{'finish s':>10}{'lost':>7}")
        for name in arguments.names or known:
            report(name, measure(known[name], folder, arguments.pairs, arguments.frequency))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
