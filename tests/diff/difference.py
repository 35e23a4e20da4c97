#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sums of a profile with threads A, B and their difference, as text; fails if they do not fit."""

import collections
import json
import sys


def sums(profile, thread):
    shared, samples = profile["shared"], thread["samples"]
    weights = samples["weight"] or [1 if stack is not None else 0 for stack in samples["stack"]]
    by_name = collections.Counter()
    for stack, weight in zip(samples["stack"], weights):
        if stack is None:
            assert not weight, "a weight without a stack"
            continue
        frame = shared["stackTable"]["frame"][stack]
        name = shared["funcTable"]["name"][shared["frameTable"]["func"][frame]]
        by_name[shared["stringArray"][name]] += weight
    return by_name


def main():
    profile = json.load(sys.stdin)
    threads = profile["threads"]
    assert [thread["processType"] for thread in threads] == ["default", "process", "comparison"]
    assert len({thread["pid"] for thread in threads}) == len({thread["tid"] for thread in threads}) == 3
    assert profile["meta"]["initialSelectedThreads"] == [2]
    assert "threadCPUDelta" not in threads[2]["samples"]
    assert all(delta >= 0 for thread in threads for delta in thread["samples"]["timeDeltas"])
    a, b, difference = (sums(profile, thread) for thread in threads)
    print(*(thread["name"] for thread in threads), sep=" | ")
    for name in sorted(a.keys() | b.keys()):
        print(a[name], b[name], difference[name], json.dumps(name))
    # Sides with other numbers of runs weigh the same: by the least common multiple.
    factors = [int(factor) for factor in sys.argv[1].split("-")]
    for name in a.keys() | b.keys() | difference.keys():
        assert difference[name] == factors[1] * b[name] - factors[0] * a[name], name


main()
