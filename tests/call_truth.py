# SPDX-License-Identifier: MIT
"""Shared parts of the judges of programs with a known tree of calls: java_truth.py, ruby_truth.py, php_truth.py."""

import argparse
import collections
import json
import sys

import check_profile


class CallTruth:
    """Counts figures and keeps violations. Subclasses have a language and judge(frames)."""
    language = None

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


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("profile")
    parser.add_argument("--at-least", type=int, default=1)
    parser.add_argument("--say", action="store_true")
    parser.add_argument("--allowed", type=int, default=0, help="violations in 10,000 samples")
    return parser


def judge_profile(truth, args):
    for _, _, _, frames in check_profile.samples(check_profile.load(args.profile)):
        if any(f["category"] == truth.language for f in frames):
            truth.judge(frames)
    print(json.dumps(truth.figures))
    for what, chain in truth.violations[:None if args.say else 10]:
        print(f"{what}: {' > '.join(chain)}")


def finish(truth, args, calls, whole_per_cut):
    """Exits if too little was seen, or too much is wrong. `calls`: number of callers there are."""
    if truth.figures["judged"] < args.at_least:
        sys.exit(f"only {truth.figures['judged']} samples")
    if len(truth.edges) < calls / 2:
        sys.exit(f"only {len(truth.edges)} of the calls")
    if truth.figures["not_whole"] * whole_per_cut > truth.figures["judged"]:
        sys.exit(f"{truth.figures['not_whole']} stacks are not whole")
    if len(truth.violations) * 10000 > args.allowed * truth.figures["judged"]:
        sys.exit(f"{len(truth.violations)} violations")
