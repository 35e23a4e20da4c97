# SPDX-License-Identifier: MIT
"""Shared parts of the judges of programs with a known tree of calls: {java,lua,perl,php,r,ruby}_truth.py."""

import argparse
import collections
import json
import sys

import check_profile


class CallTruth:
    """Counts figures and keeps violations.

    Subclasses have a language, the calls {caller: {callee: functions between both, or None}}, the
    roots, and depths: [(function, another one, how often that is in stacks with both)].
    """
    language = None
    calls, roots, depths = {}, set(), []
    callers = property(lambda self: len(self.calls))
    whole_per_cut = 100

    def __init__(self, source):
        with open(source, encoding="utf-8") as file:
            self.text = file.read().splitlines()
        self.figures = collections.Counter()
        self.violations = []
        self.edges = collections.Counter()

    def note(self, figure, what, frames):
        self.figures[figure] += 1
        self.violations.append((what, [f"{f['name']}:{f['line']}" for f in frames
                                       if f["category"] == self.language][-16:]))

    @staticmethod
    def name(frame):
        return frame["name"]

    def is_own(self, frame):
        raise NotImplementedError

    @staticmethod
    def is_cut(chain, frames):
        """Does the stack end early, or say itself that it guesses?"""
        return chain[0] is frames[0] or any(f["subcategory"] == "Guess" for f in frames)

    def judge_line(self, caller, callee, frames):
        raise NotImplementedError

    def judge_edge(self, outer, inner, between, frames):
        caller, callee = self.name(outer), self.name(inner)
        self.figures["edges"] += 1
        calls = self.calls.get(caller, {})
        if callee not in calls:
            self.note("wrong_edges", f"{caller} does not call {callee}", frames)
            return
        self.edges[caller, callee] += 1
        names = [f["name"] for f in between]
        if calls[callee] is not None and names != calls[callee]:
            self.note("wrong_between", f"{names} between {caller} and {callee}", frames)
            return
        self.judge_line(outer, names[0] if names else callee, frames)

    def judge_depths(self, names, frames):
        for leaf, name, depth in self.depths:
            if leaf in names and names.count(name) != depth:
                self.note("wrong_depths", f"{names.count(name)} times {name}", frames)

    def judge(self, frames):
        chain = [f for f in frames if f["category"] == self.language]
        own = [i for i, f in enumerate(chain) if self.is_own(f)]
        self.figures["samples"] += 1
        if not own:
            self.figures["others"] += 1
            return
        if self.is_cut(chain, frames):
            self.figures["not_whole"] += 1
            return
        self.figures["judged"] += 1
        if chain[own[0]]["name"] not in self.roots:
            self.note("wrong_roots", f"root {chain[own[0]]['name']}", frames)
        for i, j in zip(own, own[1:]):
            self.judge_edge(chain[i], chain[j], chain[i + 1:j], frames)
        self.judge_depths([self.name(f) for f in chain], frames)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("profile")
    parser.add_argument("--at-least", type=int, default=1)
    parser.add_argument("--say", action="store_true")
    parser.add_argument("--after", type=float, default=0, help="ms: judge what was sampled later")
    parser.add_argument("--allowed", type=int, default=0, help="violations in 10,000 samples")
    return parser


def judge_profile(truth, args):
    for _, time, _, frames in check_profile.samples(check_profile.load(args.profile)):
        if time >= args.after and any(f["category"] == truth.language for f in frames):
            truth.judge(frames)
    print(json.dumps(truth.figures))
    for what, chain in truth.violations[:None if args.say else 10]:
        print(f"{what}: {' > '.join(chain)}")


def finish(truth, args):
    """Exits if too little was seen, or too much is wrong."""
    if truth.figures["judged"] < args.at_least:
        sys.exit(f"only {truth.figures['judged']} samples")
    if len(truth.edges) < truth.callers / 2:
        sys.exit(f"only {len(truth.edges)} of the calls")
    if truth.figures["not_whole"] * truth.whole_per_cut > truth.figures["judged"]:
        sys.exit(f"{truth.figures['not_whole']} stacks are not whole")
    if len(truth.violations) * 10000 > args.allowed * truth.figures["judged"]:
        sys.exit(f"{len(truth.violations)} violations")


def run(kind):
    args = arguments().parse_args()
    truth = kind(args.source)
    judge_profile(truth, args)
    finish(truth, args)
