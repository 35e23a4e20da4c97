#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares a profile of tests/workloads/erlang/tree.erl with what calls what there.

    erlang_truth.py SOURCE PROFILE [--at-least N] [--allowed N] [--say]

In each sample, the program's own functions must be a path of its tree of calls, with the functions of
the standard library between two of them that the call goes through, and recursion must be as deep as it
is. Frames of functions that call another as the last thing they do are gone. Prints figures as JSON,
then violations.
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import call_truth  # noqa: E402

SPIN = {"spin/2": []}
# caller: {callee: functions between both; None: any}
CALLS = {
    # Calls round/1 and the clock.
    "main/1": {"rounds/2": [], "napping/1": [], "used/0": []},
    "start/1": {"main/1": []},
    # It calls itself last.
    "rounds/2": {"scenes/1": [], "used/0": []},
    "used/0": {},
    "scenes/1": {f"{name}": [] for name in (
        "recursing/1 mapping/1 folding/0 catching/0 applying/0 many/0 building/0 matching/0 collecting/0 "
        "spawning/0").split()},
    "recursing/1": {"recursing/1": [], "bottom/0": []},
    "bottom/0": SPIN,
    "mapping/1": {"mapping/1-fun-0": None},
    "mapping/1-fun-0": {"each/1": []},
    "each/1": SPIN,
    "folding/0": {"folding/0-fun-0": None},
    "folding/0-fun-0": {"folded/1": []},
    "folded/1": SPIN,
    "catching/0": {"caught/1": [], "rescued/1": []},
    "caught/1": {"caught/1": []} | SPIN,
    "rescued/1": SPIN,
    "applying/0": {"applied/1": []},
    "applied/1": SPIN,
    "many/0": {"one/1": [], "wide/2": []},
    "one/1": SPIN,
    "wide/2": SPIN,
    "building/0": {"built/2": [], "sorted/1": [], "reversed/1": []},
    "built/2": {},
    "sorted/1": {},
    "reversed/1": {"reversed/1-lc$^0/1-0": []},
    "reversed/1-lc$^0/1-0": {"reversed/1-lc$^0/1-0": []},
    "matching/0": {"matched/2": []},
    "matched/2": {},
    "collecting/0": {"filled/2": [], "collecting/0-fun-0": None},
    "filled/2": {},
    "collecting/0-fun-0": {"summed/2": []},
    "summed/2": SPIN,
    "spawning/0": {},
    "spawning/0-fun-0": {"child/1": []},
    "child/1": {"child/1": [], "grandchild/0": []},
    "grandchild/0": SPIN,
    "napping/1": {"nap/1": []},
    "nap/1": {},
    "spin/2": {},
    "spin/1": {},
}
for callees in CALLS.values():
    # spin/1 calls spin/2 last, and may be caught before.
    if "spin/2" in callees:
        callees["spin/1"] = []
MODULE = "tree:"


class Truth(call_truth.CallTruth):
    language, calls = "Erlang", CALLS
    whole_per_cut = 5  # until its code is known, stacks are guesses
    roots = {"tree:start/1", "tree:main/1", "tree:spawning/0-fun-0"}
    depths = [("bottom/0", "recursing/1", 41), ("grandchild/0", "child/1", 21)]

    def is_cut(self, chain, frames):
        """The stack of a process begins with its own first function."""
        return not {frames[0]["name"]} & (self.roots | {"init:do_boot/3"}) or any(
            f["subcategory"] == "Guess" for f in frames)

    @staticmethod
    def name(frame):
        return frame["name"].removeprefix(MODULE)

    def is_own(self, frame):
        return frame["name"].startswith(MODULE)

    def judge_line(self, caller, callee, frames):
        """A call is on a line with the name of what is called, or within what the call's line begins."""
        line = caller["line"]
        self.figures["lines"] += 1
        if not line or line > len(self.text):
            self.note("wrong_lines", f"line {line} of {caller['name']} calls {callee}", frames)


if __name__ == "__main__":
    call_truth.run(Truth)
