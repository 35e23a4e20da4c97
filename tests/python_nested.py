#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges a profile of tests/workloads/python/interpreters.py.

    python_nested.py PROFILE [--at-least N]

Functions of both interpreters must be in the stacks, in their order. Prints the number of samples in
each function that works, then what is wrong. Status 1: anything is.
"""

import argparse
import collections
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import check_profile  # noqa: E402

OUTER = ["outer_run", "outer_key"]
CHAINS = {
    "outer_spin": OUTER + ["outer_spin"],
    "inner_spin": OUTER + ["outer_call", "<module>", "inner_sort", "inner_key", "inner_spin"],
}
MAIN = ["<module>", "main"]


def judge(frames, found, wrong):
    at = [i for i, frame in enumerate(frames) if frame["category"] == "Python"]
    names = [frames[i]["name"] for i in at]
    if not names or names[-1] not in CHAINS:
        return
    begin = next((i for i, name in enumerate(names) if name == "outer_run"), None)
    if begin is None or names[begin:] != CHAINS[names[-1]]:
        wrong[" ".join(names)] += 1
        return
    thread = "main" if names[:begin] == MAIN else "thread"
    if thread == "thread" and not names[begin - 1].endswith("run"):
        wrong[" ".join(names)] += 1
    if names[-1] == "inner_spin":
        call = names.index("outer_call")
        if at[call + 1] - at[call] < 3:
            wrong["no native frames between the interpreters"] += 1
    found[f"{thread} {names[-1]}"] += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("profile")
    parser.add_argument("--at-least", type=int, default=20)
    args = parser.parse_args()
    found, wrong = collections.Counter(), collections.Counter()
    for *_, frames in check_profile.samples(check_profile.load(args.profile)):
        if not check_profile.is_wait(frames):
            judge(frames, found, wrong)
    print(dict(found))
    for what, count in wrong.most_common(10):
        print(f"{count} × {what}")
    few = len(found) < 4 or min(found.values()) < args.at_least
    if few:
        print("too few samples")
    sys.exit(few or bool(wrong))


if __name__ == "__main__":
    main()
