#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares prof report with an independent reading of the same profiles; speaks TAP.

    check_report.py PROF FILE...
"""

import collections
import json
import math
import re
import subprocess
import sys

import check_profile

FIELDS = {"function": ("name", "lib", "file"), "module": ("lib",), "category": ("category",),
          "line": ("name", "lib", "file", "line")}
KEYS = {"function": ("function", "module", "file"), "module": ("module",),
        "category": ("category",), "line": ("function", "module", "file", "line")}


def label(profile, frame):
    rows = {c["name"]: c for c in profile["meta"]["categories"]}
    if len(rows[frame["category"]]["subcategories"]) < 2:
        return frame["category"]
    return f"{frame['category']}: {frame['subcategory']}"


def stacks_of(profile):
    """(thread, time, weight, frames from the outermost on) of each sample of the clock."""
    for thread, time, weight, frames in check_profile.samples(profile):
        if check_profile.view(thread) in ("cpu", "event") or not weight:
            continue
        yield thread, time, weight, [{**f, "category": label(profile, f)} for f in frames]


def error(weight, total, z=1.959963984540054):
    share = weight / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / 4 / total ** 2)
    return (half / (1 + z * z / total) + abs(middle - share)) * total


def table(stacks, by):
    """{key: [self, total]}, and the weight of all."""
    rows, total = collections.defaultdict(lambda: [0, 0]), 0
    for _, _, weight, frames in stacks:
        keys = [tuple(f[field] or None for field in FIELDS[by]) for f in frames]
        keys = keys or [(None,) * len(FIELDS[by])]
        rows[keys[-1]][0] += weight
        for key in set(keys):
            rows[key][1] += weight
        total += weight
    return rows, total


def tree(stacks, inverted):
    rows = collections.Counter()
    for _, _, weight, frames in stacks:
        path = [(f["name"], f["lib"] or None, f["file"] or None) for f in frames]
        path = path[::-1] if inverted else path
        for depth in range(1, len(path) + 1):
            rows[tuple(path[:depth])] += weight
    return rows


def paths(nodes, above=()):
    for node in nodes:
        path = above + ((node["function"], node["module"], node["file"]),)
        yield path, node["total"]
        yield from paths(node["children"], path)


def run(prof, path, *options):
    done = subprocess.run([prof, "report", "--format", "json", *options, path], text=True,
                          capture_output=True, check=False)
    if done.returncode == 125 and "no sample that counts" in done.stderr:
        return {"summary": {"weight": 0}, "rows": [], "tree": []}
    if done.returncode:
        raise ValueError(f"{options}: {done.stderr}")
    return json.loads(done.stdout)


def compare_table(prof, path, stacks, by, *options):
    got = run(prof, path, "--by", by, *options)
    wanted, total = table(stacks, by)
    rows = {tuple(r[k] for k in KEYS[by]): [r["self"], r["total"]] for r in got["rows"]}
    if rows != wanted or len(rows) != len(got["rows"]) or got["summary"]["weight"] != total:
        raise ValueError(f"by {by} {options}: {rows}, and read here {dict(wanted)}")
    for row in got["rows"]:
        for which in ("self", "total"):
            if not math.isclose(row[which + "_error"], error(row[which], total), rel_tol=1e-6):
                raise ValueError(f"by {by}: error of {which}: {row}")


def compare_tree(prof, path, stacks, *options):
    got = run(prof, path, *options, "--min", "0")
    rows, wanted = dict(paths(got["tree"])), tree(stacks, "--inverted" in options)
    if rows != wanted:
        raise ValueError(f"{options}: {rows}, and read here {dict(wanted)}")


def threads(prof, path, stacks):
    wanted = collections.Counter()
    for thread, _, weight, _ in stacks:
        wanted[thread["name"], str(thread["pid"]), str(thread["tid"]).partition(".")[0]] += weight
    got = {(r["thread"], r["pid"], str(r["tid"])): r["total"]
           for r in run(prof, path, "--by", "thread")["rows"]}
    if got != wanted:
        raise ValueError(f"by thread: {got}, and read here {dict(wanted)}")


def printable(prof, path):
    """No text of a file steers a terminal, in any format."""
    for name in ("text", "json", "csv", "markdown"):
        for options in ((), ("--tree",), ("--by", "thread")):
            done = subprocess.run([prof, "report", "--format", name, *options, path],
                                  capture_output=True, check=False)
            text = done.stdout.decode()
            if re.search("[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\u202a-\\u202e]", text):
                raise ValueError(f"--format {name} {options}: {text!r}")


def compare(prof, path):
    printable(prof, path)
    stacks = list(stacks_of(check_profile.load(path)))
    if not stacks:
        # Then those of another event count.
        return
    for by in FIELDS:
        compare_table(prof, path, stacks, by)
    threads(prof, path, stacks)
    compare_tree(prof, path, stacks, "--tree")
    compare_tree(prof, path, stacks, "--inverted")
    leaf = next((f[-1]["name"] for _, _, _, f in stacks if f), "-")
    name = "^" + "".join("[" + c + "]" if c.isalnum() else "." for c in leaf) + "$"
    having = [s for s in stacks if any(f["name"] == leaf for f in s[3])]
    compare_table(prof, path, having, "function", "--focus", name)
    compare_table(prof, path, [s for s in stacks if s not in having], "function", "--ignore", name)
    compare_table(prof, path, [(*s[:3], [f for f in s[3] if f["name"] != leaf]) for s in stacks],
                  "function", "--hide", name)
    compare_table(prof, path, [s for s in stacks if s[1] >= 2], "function", "--time", "0.002..")
    compare_table(prof, path, [(*s[:3], [f for f in s[3] if not f["category"].startswith("Kernel")])
                               for s in stacks], "function", "--no-kernel")


def main(prof, files):
    failed = 0
    for number, path in enumerate(files, 1):
        try:
            compare(prof, path)
            print(f"ok {number} - report of {path}")
        except ValueError as e:
            failed += 1
            print(f"# {e}"[:4000].replace("\n", "\n# "))
            print(f"not ok {number} - report of {path}")
    print(f"1..{len(files)}")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
