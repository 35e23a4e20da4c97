#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares a profile of tests/workloads/r/tree.R with what calls what there.

    r_truth.py SOURCE PROFILE [--at-least N] [--allowed N] [--say] [--rprof FILE]

In each sample, the program's own functions must be a path of its tree of calls, with R's own functions
between them as R's profiler has them, and recursion must be as deep as it is. With a file of that
profiler, of the same run: functions have the same shares. Prints figures as JSON, then violations.
"""

import collections
import json
import math
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import call_truth  # noqa: E402
import check_profile  # noqa: E402

SPIN = {"tree_spin": []}
TREE = {
    "tree_work": {"tree_scenes": [], "tree_napping": [], **SPIN},
    "tree_napping": {"tree_nap": []},
    "tree_scenes": dict.fromkeys((
        "tree_recursing tree_applying tree_reducing tree_mapping tree_doing tree_doing_by_name tree_weighing "
        "tree_indexing tree_adding tree_selecting tree_of_package tree_anonymous tree_promising tree_evaluating "
        "tree_catching tree_leaving tree_looping tree_keeping").split(), []),
    "tree_recursing": {"tree_recurse": []},
    "tree_recurse": {"tree_recurse": [], "tree_bottom": []},
    "tree_bottom": SPIN,
    "tree_applying": {"tree_applied": ["lapply", "FUN"]},
    "tree_applied": SPIN,
    "tree_reducing": {"tree_reduced": ["Reduce", "f"]},
    "tree_reduced": SPIN,
    "tree_mapping": {"tree_mapped": ["mapply", "<Anonymous>"]},
    "tree_mapped": SPIN,
    # The function itself is called, without a name.
    "tree_doing": {"tree_spin": ["do.call", "<Anonymous>"]},
    "tree_doing_by_name": {"tree_done": ["do.call"]},
    "tree_done": SPIN,
    "tree_weighing": {"tree_weigh": []},
    "tree_weigh": {"tree_weigh.tree_kind": []},
    "tree_weigh.tree_kind": {"tree_weigh.default": ["NextMethod"]},
    "tree_weigh.default": {"tree_weighed": []},
    "tree_weighed": SPIN,
    # Interpreted code has no call of the operator.
    "tree_indexing": {"[.tree_kind": None},
    "[.tree_kind": {"tree_indexed": []},
    "tree_indexed": SPIN,
    "tree_adding": {"+.tree_kind": None},
    "+.tree_kind": {"tree_added": []},
    "tree_added": SPIN,
    "tree_selecting": {"tree_list$member": [], 'tree_list[["other"]]': [], "tree_list[[2]]": []},
    "tree_list$member": {"tree_as_member": []},
    'tree_list[["other"]]': {"tree_as_element": []},
    "tree_list[[2]]": {"tree_as_element": []},
    "tree_as_member": SPIN,
    "tree_as_element": SPIN,
    "tree_of_package": {"tree_in_package": ["base::vapply", "FUN"]},
    "tree_in_package": SPIN,
    "tree_anonymous": {"tree_nameless": ["<Anonymous>"]},
    "tree_nameless": SPIN,
    "tree_promising": {"tree_forcing": []},
    "tree_forcing": {"tree_promised": []},
    "tree_promised": SPIN,
    "tree_evaluating": {"tree_evaluated": ["eval", "eval"]},
    "tree_evaluated": SPIN,
    "tree_catching": {
        "tree_throwing": ["tryCatch", "tryCatchList", "tryCatchOne", "doTryCatch"],
        "tree_rescued": ["tryCatch", "tryCatchList", "tryCatchOne", "value[[3]]"],
    },
    "tree_throwing": {"tree_throwing": [], **SPIN},
    "tree_rescued": SPIN,
    "tree_leaving": {"tree_left": []},
    "tree_left": SPIN,
    "tree_looping": {"tree_looped": ["tryCatch", "tryCatchList"]},
    "tree_looped": SPIN,
    "tree_keeping": {"tree_kept": []},
    "tree_kept": SPIN,
    "tree_nap": {},
    "tree_spin": {},
}
OWN = set(TREE).union(*TREE.values())


class Truth(call_truth.CallTruth):
    language, calls, roots, depths = "R", TREE, {"tree_work"}, [("tree_bottom", "tree_recurse", 40)]
    callers = sum(map(len, TREE.values()))

    def __init__(self, source):
        super().__init__(source)
        self.totals = collections.Counter()

    @staticmethod
    def is_cut(chain, frames):
        return chain[0]["name"] != "tree_work" and frames[0]["name"] != "_start"

    def is_own(self, frame):
        return frame["name"] in OWN

    def judge_line(self, caller, callee, frames):
        kept = [f for f in frames if f["name"] == "tree_kept"]
        if any((f["file"], f["line"]) != ("<text>", 2) for f in kept):
            self.note("wrong_lines", f"{kept[0]['file']}:{kept[0]['line']}", frames)

    def judge(self, frames):
        super().judge(frames)
        names = {f["name"] for f in frames if f["category"] == self.language}
        if "tree_work" in names and not check_profile.is_wait(frames):
            self.totals.update(names & OWN)


def judge_shares(truth, path):
    """Compares shares of the program's functions with those that R's own profiler saw."""
    theirs = collections.Counter()
    with open(path, encoding="utf-8") as file:
        for line in list(file)[1:]:
            names = {name.strip('"') for name in line.strip().split('" "')}
            if "tree_work" in names:
                theirs.update(names & OWN)
    ours, worst = truth.totals, 0
    for name in set(theirs) | set(ours):
        counts = [(part[name], part["tree_work"]) for part in (ours, theirs)]
        both = sum(count for count, _ in counts) / sum(total for _, total in counts)
        spread = math.sqrt(both * (1 - both) * sum(1 / total for _, total in counts))
        off = abs(counts[0][0] / counts[0][1] - counts[1][0] / counts[1][1])
        sigma = off / spread if spread else 0
        worst = max(worst, sigma)
        print(f"{name}: {100 * counts[0][0] / counts[0][1]:.2f} %, R's profiler "
              f"{100 * counts[1][0] / counts[1][1]:.2f} %, {sigma:.1f} sigma", file=sys.stderr)
    return worst


def main():
    parser = call_truth.arguments()
    parser.add_argument("--rprof")
    args = parser.parse_args()
    truth = Truth(args.source)
    call_truth.judge_profile(truth, args)
    if args.rprof:
        print(json.dumps({"worst_sigma": round(judge_shares(truth, args.rprof), 2)}), file=sys.stderr)
    call_truth.finish(truth, args)


if __name__ == "__main__":
    main()
