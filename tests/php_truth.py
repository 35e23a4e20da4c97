#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares a profile of a program in tests/workloads/php with what calls what there.

    php_truth.py SOURCE PROFILE [--at-least N] [--allowed N] [--say]

In each sample, the program's own functions must be a path of its tree of calls, with the functions in C
between two of them that the call goes through, recursion must be as deep as it is, and the line of a
caller must name what it calls. Prints figures as JSON, then violations.
"""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import call_truth  # noqa: E402

LANGUAGE = "PHP"
FILES = ["tree.php", "grove.php", "twig.php"]
SPIN = {"spin": []}
SCENES = ("recursing iterating sorting reducing replacing missing lacking catching generating aggregating "
          "printing indexing getting ending counting evaluating including invoking fibers formatting "
          "growing").split()
# caller: {callee: functions in C between both}
TREE = {
    "{main}": {"work": [], "napping": [], "{include}": []},
    "work": {"scenes": [], "now": []},
    "now": {},
    # Variables of a method are freed after it has returned.
    "scenes": {f"Tree::{name}": [] for name in SCENES} | {"Leaf::__destruct": []},
    "napping": {"nap": []},
    "nap": {},
    "Tree::recursing": {"Tree::recurse": []},
    "Tree::recurse": {"Tree::recurse": [], "Tree::bottom": []},
    "Tree::bottom": SPIN,
    "Tree::iterating": {"Tree::{closure}": ["array_map"]},
    "Tree::each": SPIN,
    "Tree::sorting": {"Tree::compare": ["usort"]},
    "Tree::compare": {"Tree::key": []},
    "Tree::key": SPIN,
    "Tree::reducing": {"Tree::{closure}": ["array_reduce"]},
    "Tree::added": SPIN,
    "Tree::replacing": {"Tree::{closure}": ["preg_replace_callback"]},
    "Tree::{closure}": {"Tree::each": [], "Tree::added": [], "replaced": [], "Tree::inFiber": [],
                        "Tree::yielding": []},
    "replaced": SPIN,
    "Tree::missing": {"Tree::__call": [], "Tree::absent": []},
    # The engine's own way to __call(), for some instructions.
    "Tree::absent": {},
    "Tree::lacked": {},
    "Tree::__call": {"Tree::handled": []},
    "Tree::handled": SPIN,
    "Tree::lacking": {"Tree::__callStatic": [], "Tree::__call": [], "Tree::lacked": []},
    "Tree::__callStatic": SPIN,
    "Tree::catching": {"Tree::throwing": [], "Tree::caught": [], "Tree::ensured": []},
    "Tree::throwing": {"Tree::throwing": []} | SPIN,
    "Tree::caught": SPIN,
    "Tree::ensured": SPIN,
    "Tree::generating": {"Tree::generate": []},
    "Tree::generate": {"Tree::deeper": []},
    "Tree::deeper": {"Tree::deeper": [], "Tree::produced": []},
    "Tree::produced": SPIN,
    "Tree::aggregating": {"Tree::getIterator": None, "Steps::current": None, "Steps::key": None,
                          "Steps::next": None, "Steps::rewind": None, "Steps::valid": None},
    "Tree::getIterator": {},
    "Steps::current": SPIN,
    "Steps::key": {},
    "Steps::next": SPIN,
    "Steps::rewind": {},
    "Steps::valid": {},
    "Tree::printing": {"Tree::__toString": []},
    "Tree::__toString": SPIN,
    "Tree::indexing": {"Tree::offsetGet": []},
    "Tree::offsetGet": SPIN,
    "Tree::getting": {"Tree::__get": []},
    "Tree::__get": SPIN,
    "Tree::ending": {"Leaf::__destruct": []},
    "Leaf::__destruct": {"Leaf::withered": []},
    "Leaf::withered": SPIN,
    "Tree::counting": {"Tree::count": ["count"]},
    "Tree::count": SPIN,
    "Tree::evaluating": {"{eval}": []},
    "{eval}": {"evaluated": []},
    "evaluated": SPIN,
    "Tree::including": {"{include}": []},
    "{include}": {"included": []},
    "included": SPIN,
    "Tree::invoking": {"Leaf::__invoke": None},
    "Leaf::__invoke": SPIN,
    "Tree::fibers": {"Tree::{closure}": None},
    "Tree::inFiber": {"Tree::inFiber": [], "Tree::{closure}": ["array_map"]},
    "Tree::yielding": {"spin": []},
    "Tree::formatting": {},
    "Tree::growing": {"Tree::branch": []},
    "Tree::branch": {"Tree::branch": []} | SPIN,
    "spin": {},
}
# A function, another one, and how often that is in stacks with both.
DEPTHS = [("Tree::bottom", "Tree::recurse", 40), ("Tree::produced", "Tree::deeper", 6),
          ("Tree::yielding", "Tree::inFiber", 11)]
ROOTS = {"{main}"}
# Calls that are written by no name.
UNWRITTEN = {"Tree::{closure}", "Tree::__call", "Tree::__callStatic", "Tree::generate", "Tree::getIterator",
             "Tree::__toString", "Tree::offsetGet", "Tree::__get", "Leaf::__destruct", "Leaf::__invoke",
             "{include}", "{eval}", "Steps::current", "Steps::key", "Steps::next", "Steps::rewind",
             "Steps::valid", "Closure::__invoke", *(f"Tree::{name}" for name in SCENES)}


class Truth(call_truth.CallTruth):
    language = LANGUAGE

    def __init__(self, source):
        super().__init__(source)
        self.texts = {}
        for name in FILES:
            with open(os.path.join(os.path.dirname(source), name), encoding="utf-8") as file:
                self.texts[name] = file.read().splitlines()

    def is_own(self, frame):
        return self.file(frame) in self.texts

    @staticmethod
    def file(frame):
        return re.sub(r"\(\d+\) : eval\(\)'d code$", "", os.path.basename(frame["file"] or ""))

    @staticmethod
    def name(frame):
        return frame["name"].split("\\")[-1]

    def judge_line(self, caller, callee, frames):
        """A call is on a line with the name of what is called first."""
        if callee in UNWRITTEN or caller["name"] == "{eval}":
            return
        line, text = caller["line"], self.texts[self.file(caller)]
        self.figures["lines"] += 1
        if not line or line > len(text) or callee.split("::")[-1] not in text[line - 1]:
            self.note("wrong_lines", f"line {line} of {caller['name']} calls {callee}", frames)

    def judge_edge(self, outer, inner, between, frames):
        caller, callee = self.name(outer), self.name(inner)
        self.figures["edges"] += 1
        calls = TREE.get(caller, {})
        if callee not in calls:
            self.note("wrong_edges", f"{caller} does not call {callee}", frames)
            return
        self.edges[caller, callee] += 1
        names = [f["name"] for f in between]
        if calls[callee] is not None and names != calls[callee]:
            self.note("wrong_between", f"{names} between {caller} and {callee}", frames)
            return
        self.judge_line(outer, names[0] if names else callee, frames)

    def judge(self, frames):
        php = [f for f in frames if f["category"] == LANGUAGE]
        own = [i for i, f in enumerate(php) if self.is_own(f)]
        self.figures["samples"] += 1
        if not own:
            self.figures["others"] += 1
            return
        # The native frames outside of a fiber lie on another stack.
        is_fiber = any(f["name"] == "Fiber::resume" or f["name"] == "Fiber::start" for f in php)
        if php[0] is frames[0] and not is_fiber:
            self.figures["not_whole"] += 1
            return
        self.figures["judged"] += 1
        if php[own[0]]["name"] not in ROOTS:
            self.note("wrong_roots", f"root {php[own[0]]['name']}", frames)
        for i, j in zip(own, own[1:]):
            self.judge_edge(php[i], php[j], php[i + 1:j], frames)
        names = [self.name(f) for f in php]
        for leaf, name, depth in DEPTHS:
            if leaf in names and names.count(name) != depth:
                self.note("wrong_depths", f"{names.count(name)} times {name}", frames)


def main():
    args = call_truth.arguments().parse_args()
    truth = Truth(args.source)
    call_truth.judge_profile(truth, args)
    call_truth.finish(truth, args, len(TREE), 100)


if __name__ == "__main__":
    main()
