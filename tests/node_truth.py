#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares a profile of tests/workloads/node/tree.js with the program's own tree of calls.

    node_truth.py TREE TIMES PROFILE [--at-least N] [--only PREFIX] [--complete] [--say]

TREE is what tree.js --tree wrote, TIMES what it printed when it was recorded. Each sample's chain of
JavaScript functions must be a path of the tree; below optimized code, functions that it has taken in
may be missing if it was gone before it was read, but not with --complete. A function's line must be
one of its own, and where it calls another by name, that line; native frames between two functions
must be those that the call goes through. So must that of each wait. The scenes' shares of samples
are those of their CPU time. Prints figures as JSON, then violations.
"""

import argparse
import collections
import json
import math
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import check_profile  # noqa: E402

OPTIMIZED = ("Optimized", "Mid-tier")
# The name of a function that has none, and of the whole of a script or of evaluated code.
ANONYMOUS = "(anonymous)"
# Functions of many lines, each of which calls another function and names it.
CALLERS = ("arrays", "bound", "sorting", "throwing")


class Tree:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            tree = json.load(file)
        self.file = tree["file"]
        self.calls = {name: set(calls) for name, calls in tree["calls"].items()}
        self.leaf, self.roots = tree["leaf"], set(tree["roots"])
        self.marks = {mark: set(names) for mark, names in tree["marks"].items()}
        with open(self.file, encoding="utf-8") as file:
            self.text = file.read().splitlines()
        self.names = set(self.calls) | {self.leaf} | self.roots
        self.names.update(*self.calls.values())
        self.lines = collections.defaultdict(set)
        for name in self.names:
            self.find_lines(name)
        self.below = {}

    def find_lines(self, name):
        """Lines from each definition to its closing bracket."""
        key = "constructor" if name in ("Base", "Derived") else name
        for first, line in enumerate(self.text):
            if not re.search(rf"\b{re.escape(key)}(\b|$)", line) or "{" not in line and "=>" not in line:
                continue
            depth = 0
            for number in range(first, len(self.text)):
                depth += self.text[number].count("{") - self.text[number].count("}")
                self.lines[name].add(number + 1)
                if depth <= 0:
                    break

    def callees(self, name):
        return self.calls.get(name, {self.leaf} if name != self.leaf else set())

    def inlined(self, name):
        """All functions that can be missing between this and the next one, and their callees."""
        if name not in self.below:
            self.below[name], todo = set(), [name]
            while todo:
                for callee in self.callees(todo.pop()):
                    if callee not in self.below[name]:
                        self.below[name].add(callee)
                        todo.append(callee)
        return self.below[name]


class Truth:
    def __init__(self, tree, is_complete):
        self.tree, self.is_complete = tree, is_complete
        self.violations = collections.Counter()
        self.examples = {}
        self.counts = collections.Counter()
        self.scenes = collections.Counter()

    def violate(self, what, frames):
        self.violations[what] += 1
        self.examples.setdefault(what, [(f["name"], f["line"], f["subcategory"]) for f in frames])

    def name_of(self, frame, caller):
        name = frame["name"].split(" ")[-1] if frame["name"].startswith("get ") else frame["name"]
        if name == ANONYMOUS and caller == "evaluating" and not frame["file"]:
            return "eval code"
        return name

    def judge(self, frames, weight):
        is_wait = check_profile.is_wait(frames)
        if not is_wait:
            self.counts["samples"] += weight
        # Functions of V8's own are JavaScript's where the file has no symbols of them, as is the
        # code of regular expressions.
        chain = [(i, f) for i, f in enumerate(frames)
                 if f["category"] == "JavaScript" and f["subcategory"] not in ("Builtin", "RegExp")]
        own = [k for k, (_, f) in enumerate(chain) if f["file"] == self.tree.file]
        if not own:
            self.counts["outside"] += 0 if is_wait else weight
            return
        # The module's loader, the event loop.
        if not all((f["file"] or "").startswith("node:") for _, f in chain[:own[0]]):
            self.violate("other functions call those of the program", frames)
            return
        chain = chain[own[0]:]
        if is_wait:
            self.counts["waits"] += 1
            self.walk(frames, chain, 0)
            return
        self.counts["judged"] += weight
        self.counts["tiers " + chain[-1][1]["subcategory"]] += weight
        self.walk(frames, chain, weight)

    def walk(self, frames, chain, weight):
        caller, names = None, []
        for k, (at, frame) in enumerate(chain):
            name = self.name_of(frame, caller)
            if (frame["file"] or "").startswith("node:"):
                # Functions of the program call some of node's, which call none of them.
                if any(f["file"] == self.tree.file for _, f in chain[k:]):
                    self.violate(f"{name} of node calls the program", frames)
                break
            if k == 0:
                if name == ANONYMOUS:
                    name = None
                elif name not in self.tree.roots:
                    self.violate(f"{name} has no caller", frames)
                    return
            elif not self.is_call(caller, name, chain[k - 1][1]["subcategory"]):
                self.violate(f"{caller} does not call {name}", frames)
                return
            if name in self.tree.names and frame["file"] == self.tree.file:
                if frame["line"] not in self.tree.lines[name]:
                    self.violate(f"line {frame['line']} is none of {name}", frames)
                    return
                self.counts["lines"] += weight
            if k and caller in CALLERS and name != ANONYMOUS:
                self.judge_call(frames, chain[k - 1][1], name, weight)
            if k:
                self.judge_native(frames, frames[chain[k - 1][0] + 1:at], name)
            names.append(name)
            caller = name
        scene = [b for a, b in zip(names, names[1:]) if a == "scene"]
        if scene:
            self.scenes[scene[0]] += weight

    def is_call(self, caller, callee, tier):
        if caller is None:
            # The module, and the arrow functions in it.
            return callee in self.tree.roots | {"arrow", ANONYMOUS}
        if callee == ANONYMOUS:
            return caller in ("evaluating", "main", "iterating", "inTimer")
        if callee in self.tree.callees(caller):
            return True
        if tier not in OPTIMIZED or callee not in self.tree.inlined(caller):
            return False
        self.counts["missing"] += 1
        return not self.is_complete

    def judge_call(self, frames, caller, callee, weight):
        """A call's line, or the first one of a function whose lines V8 does not tell."""
        line = self.tree.text[caller["line"] - 1]
        if line.startswith(f"function {caller['name']}"):
            self.counts["own lines " + caller["subcategory"]] += weight
        elif re.search(rf"\b{callee}\b|\bisBound\b", line):
            self.counts["call lines"] += weight
        else:
            self.violate(f"line {caller['line']} of {caller['name']} does not call {callee}", frames)

    def judge_native(self, frames, native, callee):
        for frame in native:
            for mark, callees in self.tree.marks.items():
                if mark in frame["name"]:
                    self.counts["marks"] += 1
                    if callee not in callees:
                        self.violate(f"{frame['name']} calls {callee}", frames)

    def judge_shares(self, spent, says):
        total = sum(spent.values())
        count = sum(n for scene, n in self.scenes.items() if scene in spent)
        worst = 0
        for scene, time in spent.items():
            share = time / total
            sigma = math.sqrt(max(count * share * (1 - share), 1))
            worst = max(worst, abs(self.scenes[scene] - count * share) / sigma)
            if says:
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
    parser.add_argument("--complete", action="store_true")
    parser.add_argument("--say", action="store_true")
    args = parser.parse_args()
    truth = Truth(Tree(args.tree), args.complete)
    for thread, _, weight, frames in check_profile.samples(check_profile.load(args.profile)):
        if thread["processName"].startswith(args.only):
            truth.judge(frames, weight)
    with open(args.times, encoding="utf-8") as file:
        times = json.load(file)
    sigma = truth.judge_shares(times["times"], args.say)
    failed = sum(truth.violations.values())
    print(json.dumps({"version": times["version"], **truth.counts, "violations": failed,
                      "worst_sigma": sigma}))
    for what, count in truth.violations.most_common(20):
        print(f"{count} × {what}")
        print("   ", " ".join(f"{name}:{line}{'/' + tier if tier else ''}"
                              for name, line, tier in truth.examples[what]))
    if truth.counts["judged"] < args.at_least:
        print(f"only {truth.counts['judged']} samples")
    sys.exit(failed > 0 or truth.counts["judged"] < args.at_least)


if __name__ == "__main__":
    main()
