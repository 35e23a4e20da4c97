#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares prof report with an independent reading of the same profiles; speaks TAP.

    check_report.py PROF FILE...
"""

import collections
import concurrent.futures
import json
import math
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "readers"))

import show  # noqa: E402
import stacks as reading  # noqa: E402

FIELDS = {"function": ("name", "lib", "file"), "module": ("lib",), "category": ("category",),
          "line": ("name", "lib", "file", "line")}
KEYS = {"function": ("function", "module", "file"), "module": ("module",), "file": ("file", "module"),
        "category": ("category",), "line": ("function", "module", "file", "line"),
        "address": ("address", "function", "module", "file", "line")}


def key_of(frame, by):
    if by == "file":
        return (frame.file, None if frame.file else frame.lib)
    if by == "address":
        return (frame.address, frame.name, frame.lib, frame.file, frame.line)
    return tuple(getattr(frame, field) for field in FIELDS[by])


def squares(samples, interval):
    """A tick is a sample of its own. So is each interval of a wait whose rows stand for no more than
    its own length; a wait that stands for others is one, however long."""
    total, start = 0, None
    for sample in samples:
        weight, wait = sample.weight, (id(sample.thread), sample.frames)
        if not sample.frames or \
                sample.frames[-1].category.partition(":")[0] not in reading.WAITS:
            total += weight
        elif weight == 1:
            start = (wait, sample.time)
            total += 1
        else:
            known = ((sample.time - start[1]) / (interval * 1e6) + 1) / (weight + 1) \
                if interval and start and start[0] == wait else 0
            total += weight * (1 + (weight - 1) * (1 - min(known, 1)))
    return total


def error(weight, total, squared, z=1.959963984540054):
    share, count = weight / total, total ** 2 / squared
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / 4 / count ** 2)
    return (half / (1 + z * z / count) + abs(middle - share)) * total


def table(samples, by):
    """{key: [self, total]}, and the weight of all."""
    rows, total = collections.defaultdict(lambda: [0, 0]), 0
    for sample in samples:
        keys = [key_of(frame, by) for frame in sample.frames] or [(None,) * len(KEYS[by])]
        rows[keys[-1]][0] += sample.weight
        for key in set(keys):
            rows[key][1] += sample.weight
        total += sample.weight
    return rows, total


def tree(samples, inverted):
    rows = collections.Counter()
    for sample in samples:
        path = [key_of(frame, "function") for frame in sample.frames]
        path = path[::-1] if inverted else path
        for depth in range(1, len(path) + 1):
            rows[tuple(path[:depth])] += sample.weight
    return rows


def paths(nodes, above=()):
    for node in nodes:
        path = above + ((node["function"], node["module"], node["file"]),)
        yield path, node["total"]
        yield from paths(node["children"], path)


def run(prof, path, *options):
    done = subprocess.run([prof, "report", "--format", "json", *options, path], text=True,
                          capture_output=True, check=False)
    if done.returncode == 125 and "no matching samples" in done.stderr:
        return {"summary": {"weight": 0}, "rows": [], "tree": []}
    if done.returncode:
        raise ValueError(f"{options}: {done.stderr}")
    return json.loads(done.stdout)


def key_of_row(row, by):
    key = tuple(row[k] for k in KEYS[by])
    if by != "address" or key[0] is None:
        return key
    return (int(key[0], 16), *key[1:])


def compare_table(prof, path, samples, by, *options):
    got = run(prof, path, "--by", by, *options)
    wanted, total = table(samples, by)
    rows = {key_of_row(r, by): [r["self"], r["total"]] for r in got["rows"]}
    if rows != wanted or len(rows) != len(got["rows"]) or got["summary"]["weight"] != total:
        raise ValueError(f"by {by} {options}: {rows}, and read here {dict(wanted)}")
    squared = squares(samples, got["summary"].get("interval_ms"))
    for row in got["rows"]:
        for which in ("self", "total"):
            if not math.isclose(row[which + "_error"], error(row[which], total, squared),
                                rel_tol=1e-6):
                raise ValueError(f"by {by}: error of {which}: {row}")


def compare_tree(prof, path, samples, *options):
    got = run(prof, path, *options, "--min", "0")
    rows, wanted = dict(paths(got["tree"])), tree(samples, "--inverted" in options)
    if rows != wanted:
        raise ValueError(f"{options}: {rows}, and read here {dict(wanted)}")


def threads(prof, path, samples):
    wanted, processes = collections.Counter(), collections.Counter()
    for thread, _, weight, _, _ in samples:
        pid = ".".join(p for p in show.process_id(thread["pid"]) if p != "0")
        tid = show.process_id(thread["tid"])[0]
        wanted[show.thread_name(thread), pid, tid] += weight
        processes[pid] += weight
    got = {(r["thread"], r["pid"], str(r["tid"])): r["total"]
           for r in run(prof, path, "--by", "thread")["rows"]}
    if got != wanted:
        raise ValueError(f"by thread: {got}, and read here {dict(wanted)}")
    got = {r["pid"]: r["total"] for r in run(prof, path, "--by", "pid")["rows"]}
    if got != processes:
        raise ValueError(f"by pid: {got}, and read here {dict(processes)}")
    programs = run(prof, path, "--by", "process")["rows"]
    names = [r["process"] for r in programs]
    got = sum(r["processes"] for r in programs), sum(r["total"] for r in programs)
    if got != (len(processes), sum(processes.values())) or len(set(names)) != len(names):
        raise ValueError(f"by process: {programs}, and read here {dict(processes)}")


def markers(prof, path, reader, samples):
    """The list of markers; and what was sampled during those that last."""
    rows = run(prof, path, "--markers")["markers"]
    got = sorted((r["marker"], round(r["start"] * 1e9), round((r["start"] + r["duration"]) * 1e9))
                 for r in rows)
    wanted = sorted(reader.marks())
    if got != wanted:
        raise ValueError(f"markers: {got}, and read here {wanted}")
    lasting = {name for name, start, end in wanted if end > start and not set(name) & set("*?[\\")}
    for name in lasting:
        during = [s for s in samples if any(start <= s.time < end for other, start, end in wanted
                                            if other == name)]
        compare_table(prof, path, during, "function", "--during", name)


def annotate(prof, path, samples, name):
    got = run(prof, path, "--annotate", name)
    wanted = collections.defaultdict(lambda: [0, 0])
    for key, weights in table(samples, "line")[0].items():
        if key[0] == name:
            wanted[key[1:]] = weights
    rows = {(r["module"], r["file"], r["line"]): [r["self"], r["total"]] for r in got["lines"]}
    if rows != wanted:
        raise ValueError(f"--annotate {name}: {rows}, and read here {dict(wanted)}")


def printable(prof, path, leaf):
    """No text of a file steers a terminal, in any format."""
    for name in ("text", "json", "csv", "markdown"):
        kinds = ((), ("--tree",), ("--by", "thread"), ("--markers",), ("--annotate", leaf))
        for options in kinds if name == "text" else ((), ("--markers",)):
            done = subprocess.run([prof, "report", "--format", name, *options, path],
                                  capture_output=True, check=False)
            text = done.stdout.decode()
            if re.search("[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\u202a-\\u202e]", text):
                raise ValueError(f"--format {name} {options}: {text!r}")


def filtered(prof, path, samples, leaf):
    name = "^" + "".join("[" + c + "]" if c.isalnum() else "." for c in leaf) + "$"
    having = [s for s in samples if any(f.name == leaf for f in s.frames)]
    compare_table(prof, path, having, "function", "--focus", name)
    compare_table(prof, path, [s for s in samples if s not in having], "function", "--ignore", name)
    compare_table(prof, path, [without(s, lambda f: f.name == leaf) for s in samples],
                  "function", "--hide", name)
    compare_table(prof, path, [s for s in samples if s.time >= 2000000], "function",
                  "--time", "0.002..")
    compare_table(prof, path, [without(s, lambda f: f.category.startswith("Kernel"))
                               for s in samples], "function", "--no-kernel")
    compare_table(prof, path, [folded(s) for s in samples], "function", "--fold-recursion")
    category = next((s.frames[-1].category for s in samples if s.frames), None)
    if category and not set(category) & set("*?[\\"):
        compare_table(prof, path, [s for s in samples if s.frames and
                                   s.frames[-1].category == category],
                      "function", "--category", category)


def folded(sample):
    kept = []
    for frame in sample.frames:
        if not kept or frame[:3] != kept[-1][:3]:
            kept.append(frame)
    return sample._replace(frames=tuple(kept))


def without(sample, hidden):
    return sample._replace(frames=tuple(f for f in sample.frames if not hidden(f)))


def compare(prof, path):
    reader = reading.Reader(path)
    samples = list(reader.clock())
    leaf = next((s.frames[-1].name for s in samples if s.frames), "-")
    printable(prof, path, leaf)
    markers(prof, path, reader, samples)
    if not samples:
        # Then those of another event count.
        return
    for by in KEYS:
        compare_table(prof, path, samples, by)
    compare_table(prof, path, list(reader.clock(waits=True)), "function", "--include-idle")
    threads(prof, path, samples)
    compare_tree(prof, path, samples, "--tree")
    compare_tree(prof, path, samples, "--inverted")
    if leaf != "-":
        annotate(prof, path, samples, leaf)
        filtered(prof, path, samples, leaf)


def judge(prof, path):
    try:
        compare(prof, path)
        return path, None
    except ValueError as e:
        return path, str(e)


def main(prof, files):
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for number, (path, why) in enumerate(pool.map(lambda p: judge(prof, p), files), 1):
            if why:
                failed += 1
                print(f"# {why}"[:4000].replace("\n", "\n# "))
            print(f"{'not ' if why else ''}ok {number} - report of {path}")
    print(f"1..{len(files)}")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
