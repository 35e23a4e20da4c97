#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares a profile of tests/workloads/perl/tree.pl with what calls what there.

    perl_truth.py SOURCE PROFILE [--at-least N] [--allowed N] [--say]

In each sample, the program's own subs must be a path of its tree of calls, recursion must be as deep
as it is, and the line of a caller must name what it calls. Prints figures as JSON, then violations.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import call_truth  # noqa: E402

SPIN = {"Tree::spin"}
DESTROYS = {"Weighed::DESTROY"}
SCENES = {f"Tree::{name}" for name in (
    "recursing sorting sorting_by_name overloading stringifying tying finding reducing closing AUTOLOAD "
    "missing catching sorting_with_errors evaluating matching replacing going").split()}
TREE = {
    "(main)": {"main::work", "main::napping"},
    "main::work": {"main::now", "main::scenes"},
    "main::now": set(),
    "main::napping": {"main::nap"},
    "main::nap": set(),
    # A sub takes the place of another that goes to it.
    "main::scenes": SCENES | {"Tree::gone"},
    "Tree::recursing": {"Tree::recurse"},
    "Tree::recurse": {"Tree::recurse", "Tree::bottom"},
    "Tree::bottom": SPIN,
    "Tree::sorting": {"Tree::key"},
    "Tree::key": SPIN,
    "Tree::sorting_by_name": {"Tree::by_key"},
    "Tree::by_key": {"Tree::key"},
    "Tree::overloading": {"Weighed::new", "Weighed::compare"} | DESTROYS,
    "Weighed::new": set(),
    "Weighed::compare": {"Weighed::weigh"},
    "Weighed::weigh": SPIN,
    "Tree::stringifying": {"Weighed::new", "Weighed::__ANON__"} | DESTROYS,
    "Weighed::__ANON__": {"Tree::stringified"},
    "Tree::stringified": SPIN,
    "Tree::tying": {"Weighed::TIESCALAR", "Weighed::FETCH"} | DESTROYS,
    "Weighed::TIESCALAR": set(),
    "Weighed::FETCH": {"Weighed::fetched"},
    "Weighed::fetched": SPIN,
    "Weighed::DESTROY": {"Weighed::destroyed"},
    "Weighed::destroyed": SPIN,
    "Tree::finding": {"Tree::__ANON__"},
    "Tree::reducing": {"Tree::__ANON__"},
    "Tree::closing": {"Tree::__ANON__"},
    "Tree::__ANON__": {"Tree::added", "Tree::closed"},
    "Tree::added": SPIN,
    "Tree::closed": SPIN,
    "Tree::missing": {"Tree::AUTOLOAD"},
    "Tree::AUTOLOAD": {"Tree::handled"},
    "Tree::handled": SPIN,
    "Tree::catching": {"Tree::throwing", "Tree::rescued"},
    "Tree::throwing": {"Tree::throwing"} | SPIN,
    "Tree::rescued": SPIN,
    "Tree::sorting_with_errors": {"Tree::guarded"},
    "Tree::guarded": {"Tree::failing", "Tree::after_error"},
    "Tree::failing": SPIN,
    "Tree::after_error": SPIN,
    "Tree::evaluating": {"(eval)"},
    "(eval)": {"Tree::in_text"},
    "Tree::in_text": SPIN,
    "Tree::matching": {"Tree::matched"},
    "Tree::matched": SPIN,
    "Tree::replacing": {"Tree::replaced"},
    "Tree::replaced": SPIN,
    "Tree::going": set(),
    "Tree::gone": SPIN,
    "Tree::spin": set(),
}
# Modules are loaded before the program, by code of their own.
BEGINNINGS = {"main::BEGIN", "Weighed::BEGIN", "Tree::BEGIN"}
# Calls that are written by another name; what the line has then.
WRITTEN = {"Weighed::DESTROY": "}", "Weighed::compare": "# compare", "(eval)": "eval",
           "Tree::going": "# scene", "Tree::gone": "# scene", "Tree::AUTOLOAD": "absent"}
WRITTEN.update({name: "# scene" for name in SCENES - {"Tree::AUTOLOAD"}})
ANONYMOUS = {"Tree::finding": "first", "Tree::reducing": "reduce", "Tree::closing": "# __ANON__",
             "Tree::stringifying": "# __ANON__"}


class Truth(call_truth.CallTruth):
    language, calls, depths, whole_per_cut = "Perl", TREE, [("Tree::bottom", "Tree::recurse", 40)], 50
    callers = sum(map(len, TREE.values()))

    def judge_edge(self, outer, inner, between, frames):
        caller, callee = outer["name"], inner["name"]
        self.figures["edges"] += 1
        if callee not in TREE.get(caller, ()):
            self.note("wrong_edges", f"{caller} does not call {callee}", frames)
            return
        self.edges[caller, callee] += 1
        self.figures["lines"] += 1
        line, text = outer["line"], ""
        if line and line <= len(self.text):
            text = self.text[line - 1]
        if caller == "(eval)":
            if line != 3:
                self.note("wrong_lines", f"line {line} of the text calls {callee}", frames)
            return
        if callee == "Weighed::DESTROY":
            return  # at the end of a scope
        written = WRITTEN.get(callee) or ANONYMOUS.get(caller) or callee.split("::")[-1]
        if callee == "Weighed::FETCH":
            written = "# FETCH"
        elif callee == "Weighed::TIESCALAR":
            written = "tie "
        if written not in text:
            self.note("wrong_lines", f"line {line} of {caller} calls {callee}", frames)

    def judge(self, frames):
        perl = [f for f in frames if f["category"] == self.language]
        self.figures["samples"] += 1
        if perl[0]["name"] in BEGINNINGS:
            self.figures["beginnings"] += 1
            return
        if self.is_cut(perl, frames):
            self.figures["not_whole"] += 1
            return
        if any((f["file"] or "").endswith("HiRes.pm") for f in perl):
            self.figures["others"] += 1
            return
        self.figures["judged"] += 1
        if perl[0]["name"] != "(main)":
            self.note("wrong_roots", f"root {perl[0]['name']}", frames)
        for outer, inner in zip(perl, perl[1:]):
            self.judge_edge(outer, inner, [], frames)
        self.judge_depths([f["name"] for f in perl], frames)


if __name__ == "__main__":
    call_truth.run(Truth)
