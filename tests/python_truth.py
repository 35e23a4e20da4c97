#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares a profile of tests/workloads/python/tree.py with the program's own tree of calls.

    python_truth.py TREE TIMES PROFILE [--at-least N] [--only PREFIX] [--trampolines] [--say]

TREE is what tree.py --tree wrote, TIMES what it printed when it was recorded. Each sample's chain of
Python functions must be a path of the tree, by name, file and line of each call; the leaf's line one
that has code; native frames between two of them must be those that the call goes through. So must
that of each wait. The scenes' shares of samples are those of their CPU time. Prints figures as JSON,
then violations.
"""

import argparse
import collections
import json
import linecache
import math
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import check_profile  # noqa: E402

# Native functions, by symbol, that only stand on the way to certain Python functions: what the
# interpreter calls C, or the callee's own name, tells them.
MARKS = [
    (r"list_sort|binarysort", lambda between, callee: between in ("sorted", "list.sort")),
    (r"pattern_subx", lambda between, callee: (between or "").endswith("sub")),
    (r"functools_reduce", lambda between, callee: between == "reduce"),
    (r"min_max", lambda between, callee: between == "max"),
    (r"slot_tp_finalize", lambda between, callee: callee.endswith("__del__")),
    (r"slot_tp_hash", lambda between, callee: callee.endswith("__hash__")),
    (r"slot_tp_init", lambda between, callee: callee.endswith("__init__")),
    (r"slot_tp_getattr_hook",
     lambda between, callee: callee.endswith(("__getattr__", "size"))),
    (r"property_descr_get",
     lambda between, callee: callee.endswith(("size", "daemon", "name", "ident", "disable"))),
    (r"closure_fcn", lambda between, callee: callee == "compare"),
    (r"lru_cache_wrapper", lambda between, callee: callee == "cached"),
    (r"map_next", lambda between, callee: callee == "add" or callee.endswith("<lambda>")),
    (r"filter_next", lambda between, callee: callee.endswith("<lambda>")),
]
# Calls without native code between, from Python 3.11 on.
DIRECT = ("spin", "odd", "even")
# Functions that are in the tree only by their names.
HELPERS = ("finish_child", "adopt_child")
# Chains that belong to no scene: how Python begins and ends.
OUTSIDE_ROOTS = ("<module>", "begin")


class Tree:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            tree = json.load(file)
        self.version = tuple(tree["version"])
        self.file = tree["file"]
        self.lines = {key: set(lines) for key, lines in tree["lines"].items()}
        self.makers = tree["makers"]
        # {parent: {(name, file): {line of the call: [(row, functions between)]}}}
        self.children = collections.defaultdict(lambda: collections.defaultdict(dict))
        known, rows = {}, {-1: -1}
        for at, (parent, line, name, file, first, between) in enumerate(tree["nodes"]):
            key = (rows[parent], line, name, file, first)
            rows[at] = known.setdefault(key, at)
            calls = self.children[rows[parent]][(name, file)].setdefault(line, {})
            calls.setdefault((rows[at], first), set()).add(between)


def is_python(frame):
    return frame["category"] == "Python"


def split(frames):
    """[(Python frame, native frames between it and the next)], without the outermost native ones."""
    chain = []
    for frame in frames:
        if is_python(frame):
            chain.append((frame, []))
        elif chain:
            chain[-1][1].append(frame)
    return chain


class Truth:
    def __init__(self, tree, says, has_trampolines):
        self.tree = tree
        self.has_trampolines = has_trampolines
        self.says = says
        self.violations = collections.Counter()
        self.examples = {}
        self.counts = collections.Counter()
        self.scenes = collections.Counter()

    def violate(self, what, chain):
        self.violations[what] += 1
        self.examples.setdefault(what, chain)

    def judge(self, frames, weight):
        chain = split(frames)
        self.counts["samples"] += weight
        if any(frame["name"].startswith("py::") for frame in frames):
            self.violate("a trampoline of -X perf beside its function", chain)
        if not chain:
            self.counts["without Python"] += weight
            return
        names = [frame["name"] for frame, _ in chain]
        if self.is_outside(chain):
            self.counts["outside"] += weight
            if self.says:
                print("outside:", " ".join(names), file=sys.stderr)
            return
        self.counts["judged"] += weight
        self.scenes[self.scene_of(chain)] += weight
        self.walk(chain)

    def judge_wait(self, frames):
        chain = split(frames)
        if not chain or self.is_outside(chain):
            return
        self.counts["waits"] += 1
        self.walk(chain)

    def is_outside(self, chain):
        """Python's own functions, before the first and after the last of the program's."""
        own = [frame["name"] for frame, _ in chain if frame["file"] == self.tree.file]
        return not own or own[0] in OUTSIDE_ROOTS and "main" not in own

    def scene_of(self, chain):
        own = [frame["name"] for frame, _ in chain if frame["file"] == self.tree.file]
        if "main" in own:
            return own[4] if len(own) > 4 and own[3] == "run" else None
        return "threads" if chain[0][0]["name"].endswith("_bootstrap") else "greenlets"

    def walk(self, chain):
        """Follows all rows of the tree that the chain can be: the line of a call is the caller's."""
        if self.has_trampolines and any(frame["line"] is None for frame, _ in chain):
            # Named by a trampoline alone: the function is about to return, or is a greenlet's caller.
            self.counts["without lines"] += 1
            return
        line, rows = 0, [(-1, None)]
        for depth, (frame, _) in enumerate(chain):
            key = (frame["name"], frame["file"])
            found = []
            for row, _ in rows:
                calls = self.tree.children[row].get(key, {})
                for (child, first), between in calls.get(line, {}).items():
                    found.append((child, (first, between)))
            if not found:
                self.miss(chain, depth, line)
                return
            if depth:
                between = set().union(*(b for _, (_, b) in found))
                # The call that makes a generator is no call of the tree's, nor native.
                if all(frame["line"] == first for _, (first, _) in found):
                    between.add(None)
                self.judge_native(chain, depth, line, between)
            rows, line = found, frame["line"] or 0
        name, file = chain[-1][0]["name"], chain[-1][0]["file"]
        if not any(line in self.tree.lines[f"{file}:{first}:{name}"]
                   for _, (first, _) in rows):
            self.violate(f"line {line} of {name} has no code", chain)

    def miss(self, chain, depth, line):
        name, file = chain[depth][0]["name"], chain[depth][0]["file"]
        caller = chain[depth - 1][0]["name"] if depth else "nothing"
        frame = chain[depth][0]
        if name in HELPERS or (depth == len(chain) - 1 and
                               f"{frame['file']}:{frame['line']}:{name}" in self.tree.makers):
            return
        self.violate(f"{caller}:{line} does not call {name} ({file})", chain)

    def judge_native(self, chain, depth, line, between):
        caller, native = chain[depth - 1]
        callee = chain[depth][0]["name"]
        names = [re.split(r"[.@]", frame["name"])[0] for frame in native]
        if between == {None} and self.is_direct(caller, line, callee):
            if native and self.tree.version >= (3, 11) and not self.has_trampolines:
                self.violate(f"native frames between {caller['name']} and {callee}", chain)
        elif None not in between and not native:
            self.violate(f"no native frame between {caller['name']} and {callee}", chain)
        for name in names:
            for pattern, holds in MARKS:
                if re.match(pattern, name) and not any(holds(b, callee) for b in between):
                    self.violate(f"{name} between {caller['name']} and {callee}", chain)
                elif re.match(pattern, name):
                    self.counts["marks"] += 1

    def is_direct(self, caller, line, callee):
        text = linecache.getline(self.tree.file, line) if caller["file"] == self.tree.file else ""
        return callee in DIRECT and re.search(rf"(?<![\w.]){callee}\(", text) is not None

    def judge_shares(self, spent):
        # A child spends much on its beginning and end, where no function runs.
        spent = {scene: ms for scene, ms in spent.items() if scene != "fork"}
        total = sum(spent.values())
        count = sum(n for scene, n in self.scenes.items() if scene in spent)
        worst = 0
        for scene, ms in spent.items():
            share = ms / total
            sigma = math.sqrt(max(count * share * (1 - share), 1))
            worst = max(worst, abs(self.scenes[scene] - count * share) / sigma)
            if self.says:
                print(f"{scene}: {self.scenes[scene]} of {count}, {count * share:.1f} expected",
                      file=sys.stderr)
        return round(worst, 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tree")
    parser.add_argument("times")
    parser.add_argument("profile")
    parser.add_argument("--at-least", type=int, default=100)
    parser.add_argument("--only", metavar="PREFIX", default="", help="of processes' names")
    parser.add_argument("--trampolines", action="store_true", help="each call is one of C, too")
    parser.add_argument("--say", action="store_true")
    args = parser.parse_args()
    truth = Truth(Tree(args.tree), args.say, args.trampolines)
    for thread, _, weight, frames in check_profile.samples(check_profile.load(args.profile)):
        if not thread["processName"].startswith(args.only):
            continue
        if check_profile.is_wait(frames):
            truth.judge_wait(frames)
        else:
            truth.judge(frames, weight)
    with open(args.times, encoding="utf-8") as file:
        spent = json.load(file)["ms"]
    sigma = truth.judge_shares(spent)
    failed = sum(truth.violations.values())
    print(json.dumps({"version": ".".join(map(str, truth.tree.version)), **truth.counts,
                      "violations": failed, "worst_sigma": sigma}))
    for what, count in truth.violations.most_common(20):
        print(f"{count} × {what}")
        print("   ", " ".join(
            f"{f['name']}:{f['line']}" + ("" if not native else
                                          "[" + " ".join(n["name"] for n in native) + "]")
            for f, native in truth.examples[what]))
    if truth.counts["judged"] < args.at_least:
        print(f"only {truth.counts['judged']} samples")
    # A deviation of five is one in two million.
    sys.exit(failed > 0 or truth.counts["judged"] < args.at_least or sigma > 5)


if __name__ == "__main__":
    main()
