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
# Calls that are written by no name.
UNWRITTEN = {"Tree::{closure}", "Tree::__call", "Tree::__callStatic", "Tree::generate", "Tree::getIterator",
             "Tree::__toString", "Tree::offsetGet", "Tree::__get", "Leaf::__destruct", "Leaf::__invoke",
             "{include}", "{eval}", "Steps::current", "Steps::key", "Steps::next", "Steps::rewind",
             "Steps::valid", "Closure::__invoke", *(f"Tree::{name}" for name in SCENES)}


class Truth(call_truth.CallTruth):
    language, calls, roots, depths = "PHP", TREE, {"{main}"}, DEPTHS

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

    @staticmethod
    def is_cut(chain, frames):
        # The native frames outside of a fiber lie on another stack.
        return chain[0] is frames[0] and not any(f["name"] in ("Fiber::resume", "Fiber::start") for f in chain)


if __name__ == "__main__":
    call_truth.run(Truth)
