#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares prof with `perf record -g` and `perf script`, and with samply, on the same programs.

    compare.py [--rounds N] [--frequency HZ] [--readme] [WORKLOAD...]

WORKLOAD: c, python, make, node, threads, switches; default all that this machine can run. Each
round runs the program alone and under each tool, in random order, so that a change of the machine's
speed affects all alike; samply takes part if it is in $PATH. Everything that prof does by default
is on. Prints a table, of 10th percentiles over the rounds; behind ± is the distance to the median:

    program     CPU time of the program, relative to that alone
    recorder    CPU time of the recorder, s; prof names and writes the profile in it, perf does
                not: behind + is the naming, by `perf script`
    finish      from the program's end to the finished file, s; + as before
    kB          of the file
    whole       stacks of user code that reach the program's entry
    named       frames with a function's name; samply names them when its file is looked at

--readme writes the medians over the workloads into README.md. No verdict: other programs run on the
machine, too.
"""

import argparse
import json
import math
import os
import pathlib
import random
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
TOOLS = ("prof", "perf", "samply")
HEADER = ("workload", "tool", "program", "recorder s", "finish s", "kB", "whole", "named")
# Rows of README's table: label, figure, form of its value. The program's is relative to it alone.
README_ROWS = (
    ("CPU time added to the program", "program", lambda value: f"{100 * value - 100:.1f} %"),
    ("CPU time of the recorder, with naming", "recorder", lambda value: f"{value:.2f} s"),
    ("from the program's end to a file with names", "finish", lambda value: f"{value:.2f} s"),
    ("stacks that reach the program's entry", "whole", lambda value: f"{100 * value:.1f} %"),
    ("frames with a function's name", "named", lambda value: f"{100 * value:.1f} %"),
)
PYTHON_LOOP = """
import json
data = [{"key": str(i), "value": list(range(60))} for i in range(2000)]
for _ in range(25):
    json.loads(json.dumps(data))
"""
NODE_LOOP = """
const data = Array.from({length: 2000}, (_, i) => ({key: String(i), value: [...Array(60).keys()]}));
for (let i = 0; i < 60; i++) JSON.parse(JSON.stringify(data));
"""
FILES = 150
# The outermost functions of whole stacks, and code that names none.
ROOTS = re.compile(r"^(_start|__libc_start_main.*|__libc_start_call_main|_dl_start|start_thread"
                   r"|(__)?clone3?|__GI___clone.*|(__)?fork|vfork|entry_.*|asm_.*|ret_from_fork.*)$")


def prepare_make(folder):
    with open(os.path.join(folder, "Makefile"), "w", encoding="utf-8") as file:
        file.write(f"all: $(patsubst %,f%.o,$(shell seq {FILES}))\n")
    for i in range(1, FILES + 1):
        with open(os.path.join(folder, f"f{i}.c"), "w", encoding="utf-8") as file:
            file.write(f"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
                       f"int f{i}(char *s) {{ return printf(\"%zu\", strlen(s)) + atoi(s); }}\n")


def workloads(folder):
    """Commands by name. They are the same for all tools and end by themselves."""
    prepare_make(folder)
    # A cache would answer instead of the compilers that are to be recorded.
    os.environ["CCACHE_DISABLE"] = "1"
    programs = os.path.join(BUILD, "tests/workloads")
    commands = {
        "c": [os.path.join(programs, "fixed_work"), "400"],
        "python": ["/usr/bin/python3", "-c", PYTHON_LOOP],
        "make": ["make", "-s", "-B", "-j2", "-C", folder],
        "threads": ["sh", "-c", f"echo | {programs}/busy_threads 16 50000"],
        "switches": ["sh", "-c", f"echo 200000 | {programs}/ping_pong 0"],
    }
    if shutil.which("node"):
        commands["node"] = [shutil.which("node"), "-e", NODE_LOOP]
    return commands


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
    return {"program": read_cpu(cpu)}


def reported_names(profile):
    """Share of all samples' frames that have a name."""
    out = subprocess.run([PROF, "report", "--format", "json", profile], capture_output=True,
                         check=True).stdout
    return json.loads(out)["summary"]["named"]


def run_prof(command, folder, frequency):
    cpu, stats = os.path.join(folder, "cpu"), os.path.join(folder, "stats")
    profile = os.path.join(folder, "profile.json.gz")
    total, _ = run([PROF, "record", "-q", "-F", frequency, "--stats", stats, "-o", profile, "--",
                    *timed(command, cpu)], os.path.join(folder, "log"))
    with open(stats, encoding="utf-8") as file:
        s = json.load(file)
    target = read_cpu(cpu)
    can_be_whole = s["whole"] + s["truncated"] + s["broken"] + s["unknown"]
    return {"program": target, "recorder": total - target, "finish": s["finish_ms"] / 1000,
            "kB": os.path.getsize(profile) / 1000, "whole": s["whole"] / max(can_be_whole, 1),
            "named": reported_names(profile)}


def judge_script(path):
    """Shares of whole stacks and of named frames in what perf script has printed."""
    stacks = whole = frames = named = 0
    with open(path, encoding="utf-8", errors="replace") as file:
        for block in file.read().split("\n\n"):
            names = [line.split()[1].split("+")[0] for line in block.splitlines()
                     if re.match(r"\s+[0-9a-f]+ \S", line)]
            if names:
                stacks += 1
                frames += len(names)
                whole += bool(ROOTS.match(names[-1]))
                named += sum(name != "[unknown]" for name in names)
    return whole / max(stacks, 1), named / max(frames, 1)


def run_perf(command, folder, frequency):
    cpu, data = os.path.join(folder, "cpu"), os.path.join(folder, "perf.data")
    log, script = os.path.join(folder, "log"), os.path.join(folder, "script")
    # It aborts now and then if other BPF programs come and go meanwhile.
    begin = time.time()
    total = run_often(["perf", "record", "-F", frequency, "-g", "-o", data, "--",
                       *timed(command, cpu)], log, -signal.SIGABRT)
    finish = max(time.time() - max(begin, os.stat(cpu).st_mtime), 0)
    script_cpu, script_wall = run(["perf", "script", "-F", "ip,sym", "-i", data], script)
    whole, named = judge_script(script)
    target = read_cpu(cpu)
    return {"program": target, "recorder": total - target, "finish": finish,
            "kB": os.path.getsize(data) / 1000, "whole": whole, "named": named,
            "+recorder": script_cpu, "+finish": script_wall}


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
    target = read_cpu(cpu)
    return {"program": target, "recorder": total - target, "finish": finish,
            "kB": os.path.getsize(os.path.join(folder, "samply.json.gz")) / 1000,
            "whole": math.nan, "named": 0.0}


def measure(command, folder, rounds, frequency):
    """Figures by tool and name, one for each round."""
    run_tool = {"alone": lambda: run_alone(command, folder),
                "prof": lambda: run_prof(command, folder, frequency),
                "perf": lambda: run_perf(command, folder, frequency),
                "samply": lambda: run_samply(command, folder, frequency)}
    tools = [tool for tool in run_tool if tool in ("alone", "prof") or shutil.which(tool)]
    found = {tool: {} for tool in tools}
    for number in range(rounds + 1):
        for tool in random.sample(tools, len(tools)):
            figures = run_tool[tool]()
            # The first round warms caches.
            for name, value in figures.items() if number else ():
                found[tool].setdefault(name, []).append(value)
        print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def tenth(values):
    return sorted(values)[len(values) // 10]


def cell(figures, name, digits, unit=1):
    low = tenth(figures[name]) / unit
    if math.isnan(low):
        return "?"
    text = f"{low:.{digits}f} ±{statistics.median(figures[name]) / unit - low:.{digits}f}"
    more = figures.get("+" + name)
    return f"{text} +{tenth(more):.{digits}f}" if more else text


def rows(workload, found):
    alone = tenth(found["alone"]["program"])
    for tool in TOOLS:
        if tool in found:
            figures = found[tool]
            yield (workload, tool, cell(figures, "program", 3, alone), cell(figures, "recorder", 3),
                   cell(figures, "finish", 3), f"{statistics.median(figures['kB']):.0f}",
                   *(f"{100 * statistics.median(figures[name]):.1f} %"
                     if not math.isnan(figures[name][0]) else "?" for name in ("whole", "named")))


def summarize(found):
    """One value for each tool and figure of a workload; naming is part of its costs."""
    alone = tenth(found["alone"]["program"])
    return {tool: {
        "program": tenth(found[tool]["program"]) / alone,
        **{name: tenth(found[tool][name]) + tenth(found[tool].get("+" + name, [0.0]))
           for name in ("recorder", "finish")},
        **{name: statistics.median(found[tool][name]) for name in ("whole", "named")},
    } for tool in TOOLS if tool in found}


def readme_table(summaries):
    """Lines of README's table: the medians over the workloads, by figure and tool."""
    lines = ["| | " + " | ".join(TOOLS) + " |", "|" + "---|" * (1 + len(TOOLS))]
    for label, name, form in README_ROWS:
        cells = []
        for tool in TOOLS:
            values = [summary[tool][name] for summary in summaries if tool in summary]
            is_known = values and not any(map(math.isnan, values))
            cells.append(form(statistics.median(values)) if is_known else "?")
        lines.append("| " + " | ".join([label, *cells]) + " |")
    return lines


def write_readme(lines):
    """Puts the table between the two comments that stand around it."""
    path = os.path.join(ROOT, "README.md")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    begin, end = "<!-- compare.py -->\n", "<!-- end -->"
    head, rest = text.split(begin, 1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + begin + "\n".join(lines) + "\n" + end + rest.split(end, 1)[1])


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--frequency", default="999")
    parser.add_argument("--readme", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    summaries = []
    widths = (9, 7, 14, 21, 21, 6, 8, 8)
    with tempfile.TemporaryDirectory(prefix="prof-bench.") as folder:
        known = workloads(folder)
        wrong = set(arguments.names) - set(known)
        if wrong:
            sys.exit(f"compare.py: {', '.join(sorted(wrong))}: must be of {', '.join(known)}")
        print("".join(name.ljust(width) for name, width in zip(HEADER, widths)))
        for name in arguments.names or known:
            found = measure(known[name], folder, arguments.rounds, arguments.frequency)
            summaries.append(summarize(found))
            for row in rows(name, found):
                print("".join(text.ljust(width) for text, width in zip(row, widths)), flush=True)
    if arguments.readme:
        write_readme(readme_table(summaries))


if __name__ == "__main__":
    main()
