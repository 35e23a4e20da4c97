#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares a profile of a program in tests/workloads/ruby with what calls what there.

    ruby_truth.py SOURCE PROFILE [--at-least N] [--allowed N] [--say]

In each sample, the program's own methods and blocks must be a path of its tree of calls, with the
methods in C between two of them that the call goes through, recursion must be as deep as it is, and
the line of a caller must name what it calls. Prints figures as JSON, then violations.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import call_truth  # noqa: E402

# caller: {callee: methods in C between both; None: as the version has it}
EACH, TIMES, SEND = ["Array#each"], ["Integer#times"], ["Kernel#public_send"]
FIBER = ()
SCENES = ("recursing iterating sorting comparing defining reducing sending missing catching fibers "
          "enumerating evaluating singling formatting").split()
TREE = {
    "<main>": {"Object#work": [], "block in <main>": None, "<class:Tree>": [], "<class:Weighed>": []},
    "<class:Tree>": {},
    "<class:Weighed>": {},
    "block in <main>": {"Object#work": [], "Object#napping": []},
    "Object#work": {"Object#scenes": [], "Object#now": []},
    "Object#now": {},
    "Object#napping": {"Object#nap": [], "Object#now": []},
    "Object#nap": {},
    "Object#scenes": {"block in Object#scenes": EACH},
    "block in Object#scenes": {f"Tree#{name}": SEND for name in SCENES} | {
        "Tree#method_missing": None},
    "Tree#recursing": {"Tree#recurse": []},
    "Tree#recurse": {"Tree#recurse": [], "Tree#bottom": []},
    "Tree#bottom": {"Tree#spin": []},
    "Tree#iterating": {"block in Tree#iterating": EACH},
    "block in Tree#iterating": {"Tree#each_block": []},
    "Tree#each_block": {"Tree#spin": []},
    "Tree#sorting": {"block in Tree#sorting": ["Enumerable#sort_by", "Range#each"]},
    "block in Tree#sorting": {"Tree#key": []},
    "Tree#key": {"Tree#spin": []},
    "Tree#comparing": {"block in Tree#comparing": ["Array#map"], "Weighed#<=>": ["Array#sort"]},
    "block in Tree#comparing": {"Weighed#initialize": None},
    "Weighed#initialize": {},
    "Weighed#<=>": {"Weighed#weigh": []},
    "Weighed#weigh": {"Tree#spin": []},
    # Ruby has no name of its own for it.
    "Tree#defining": {"block in <class:Tree>": []},
    "block in <class:Tree>": {"Tree#under_defined": []},
    "Tree#under_defined": {"Tree#spin": []},
    "Tree#reducing": {"block in Tree#reducing": ["Enumerable#inject", "Range#each"]},
    "block in Tree#reducing": {"Tree#added": []},
    "Tree#added": {"Tree#spin": []},
    "Tree#sending": {"Tree#sent": []},
    "Tree#sent": {"Tree#spin": []},
    "Tree#missing": {"Tree#method_missing": [], "Tree#this": []},
    "Tree#this": {},
    "Tree#method_missing": {"Tree#handled": []},
    "Tree#handled": {"Tree#spin": []},
    "Tree#catching": {"Tree#throwing": [], "rescue in Tree#catching": [], "Tree#ensured": [],
                      "ensure in Tree#catching": []},
    "rescue in Tree#catching": {"Tree#rescued": []},
    "ensure in Tree#catching": {"Tree#ensured": []},
    "Tree#throwing": {"Tree#throwing": [], "Tree#spin": []},
    "Tree#rescued": {"Tree#spin": []},
    "Tree#ensured": {"Tree#spin": []},
    "Tree#fibers": {},
    "block in Tree#fibers": {"Tree#in_fiber": []},
    "Tree#in_fiber": {"Tree#in_fiber": [], "block in Tree#in_fiber": TIMES},
    "block in Tree#in_fiber": {"Tree#yielding": []},
    "Tree#yielding": {"Tree#spin": []},
    "Tree#enumerating": {"block in Tree#enumerating": TIMES},
    "block (2 levels) in Tree#enumerating": {"Tree#produced": []},
    "Tree#produced": {"Tree#spin": []},
    "Tree#evaluating": {"block in Tree#evaluating": ["BasicObject#instance_eval"]},
    "block in Tree#evaluating": {"Tree#evaluated": []},
    "Tree#evaluated": {"Tree#spin": []},
    "Tree#singling": {"Tree.single": []},
    "Tree.single": {"Tree#spin": []},
    "Tree#formatting": {"block in Tree#formatting": TIMES},
    "block in Tree#formatting": {},
    "Tree#spin": {},
}
# The enumerator's block runs its own one by a method in C.
TREE["block in Tree#enumerating"] = {"block in Tree#enumerating": TIMES, "Tree#produced": [],
                                     "block (2 levels) in Tree#enumerating": TIMES}
GRIND = {"Object#grind": []}
MILL = {
    "<main>": {"Object#turn": [], "grown": [], "<class:Mill>": [], "<class:Steps>": [], "<class:Key>": []},
    "<class:Mill>": {},
    "<class:Steps>": {},
    "<class:Key>": {},
    "block in <main>": {"Object#turn": []},
    "grown": {"grown": [], "Pair#initialize": None},
    "Object#turn": {"Object#now": [], "Mill#rounds": [], "Mill#initialize": None, "grown": []},
    "Object#now": {},
    "Mill#initialize": {},
    "Mill#rounds": {f"Mill#{name}": [] for name in (
        "visiting speaking hashing stepping composing naming lazing matching casing retrying "
        "leaving looping locking structuring closing churning").split()},
    "Mill#visiting": {"Pair#accept": []},
    "Pair#accept": {"Visitor#pair": []},
    "Visitor#pair": {"Pair#accept": [], "Leaf#accept": []},
    "Leaf#accept": {"Visitor#leaf": []},
    "Visitor#leaf": GRIND,
    "Mill#speaking": {"Child#speak": []},
    "Child#speak": {"Loud#speak": []} | GRIND,
    "Loud#speak": {"Voice#speak": []} | GRIND,
    "Voice#speak": GRIND,
    "Mill#hashing": {"block in Mill#hashing": TIMES},
    "block in Mill#hashing": {"Key#initialize": None, "Key#hash": None, "Key#eql?": None},
    "Key#initialize": {},
    "Key#hash": GRIND,
    "Key#eql?": GRIND,
    "Mill#stepping": {"Steps#each": ["Enumerable#each_slice"],
                      "block in Mill#stepping": ["Enumerable#each_slice"]},
    "Steps#each": {"block in Steps#each": TIMES},
    "block in Steps#each": {"Steps#stepped": [], "block in Mill#stepping": []},
    "Steps#stepped": GRIND,
    "block in Mill#stepping": {"Mill#sliced": []},
    "Mill#sliced": GRIND,
    "Mill#composing": {"block in <class:Mill>": None},
    "block in <class:Mill>": {"Mill.doubled": []},
    "Mill.doubled": GRIND,
    "Mill#naming": {"Mill#again": ["Array#map"]},
    "Mill#again": GRIND,
    "Mill#lazing": {"block in Mill#lazing": None},
    "block in Mill#lazing": {"Mill#lazed": []},
    "Mill#lazed": GRIND,
    "Mill#matching": {"block in Mill#matching": ["String#gsub"]},
    "block in Mill#matching": {"Mill#shouted": []},
    "Mill#shouted": GRIND,
    "Mill#casing": {"Shape#===": []} | GRIND,
    "Shape#===": GRIND,
    "Mill#retrying": {"Mill#tried": [], "rescue in Mill#retrying": []},
    "rescue in Mill#retrying": {"Mill#retrying": []},
    "Mill#tried": GRIND,
    "Mill#leaving": {"block in Mill#leaving": ["Kernel#catch"]},
    "block in Mill#leaving": {"Mill#left": []},
    "Mill#left": {"Mill#left": []} | GRIND,
    "Mill#looping": {"block in Mill#looping": ["Kernel#loop"]},
    "block in Mill#looping": {"Mill#looped": []},
    "Mill#looped": GRIND,
    "Mill#locking": {"block in Mill#locking": None},
    "block in Mill#locking": {"Mill#locked": []},
    "Mill#locked": GRIND,
    "Mill#structuring": {"block in Mill#structuring": ["Struct#each"]},
    "block in Mill#structuring": {"Mill#structured": []},
    "Mill#structured": GRIND,
    "Mill#closing": {"block in Mill#closing": EACH, "Mill#closed": []},
    "block in Mill#closing": {"Mill#closing": []},
    "Mill#closed": GRIND,
    "Mill#churning": {"block in Mill#churning": None},
    "block in Mill#churning": {"Mill#churned": []},
    "Mill#churned": {},
    "Object#grind": {},
}
CALLS = {"tree.rb": TREE, "mill.rb": MILL}
# A method, another one, and how often that is in stacks with both.
DEPTHS = {"tree.rb": [("Tree#bottom", "Tree#recurse", 40), ("Tree#yielding", "Tree#in_fiber", 11)],
          "mill.rb": [("Leaf#accept", "Visitor#pair", 6), ("Mill#closed", "Mill#closing", 7)]}
# Fibers have a stack each.
ROOTS = {"<main>", "block in <main>", "block in Tree#fibers", "block in Tree#enumerating"}
# Calls that are written by no name.
UNWRITTEN = {"Weighed#<=>", "Tree#method_missing", "rescue in Tree#catching",
             "ensure in Tree#catching", "Tree#ensured", "block in <class:Tree>", "Key#hash", "Key#eql?",
             "Loud#speak", "Voice#speak", "Shape#===", "Mill#again", "Proc#call",
             "rescue in Mill#retrying", "block in Mill#stepping", "<class:Mill>",
             "<class:Tree>", "<class:Weighed>", "<class:Steps>", "<class:Key>", "block in <class:Mill>",
             "Weighed#initialize", "Mill#initialize", "Pair#initialize", "Key#initialize"}


def bare(name):
    return name.split("#")[-1].split(".")[-1]


class Truth(call_truth.CallTruth):
    language, roots = "Ruby", ROOTS

    def __init__(self, source):
        self.source = os.path.basename(source)
        self.calls, self.depths = CALLS[self.source], DEPTHS[self.source]
        super().__init__(source)

    def is_own(self, frame):
        return os.path.basename(frame["file"] or "") == self.source

    def judge_line(self, caller, callee, frames):
        """A call is on a line with the name of what is called first."""
        if callee in UNWRITTEN or callee == "Class#new":
            return
        line = caller["line"]
        self.figures["lines"] += 1
        if not line or line > len(self.text) or bare(callee) not in self.text[line - 1]:
            self.note("wrong_lines", f"line {line} of {caller['name']} calls {callee}", frames)


if __name__ == "__main__":
    call_truth.run(Truth)
