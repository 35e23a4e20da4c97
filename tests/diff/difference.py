#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sums of a profile with threads A, B and their difference, as text; fails if they do not fit."""

import collections
import json
import sys


def sums(profile, thread):
    shared, samples = profile["shared"], thread["samples"]
    weights = samples["weight"] or [1 if stack is not None else 0 for stack in samples["stack"]]
    by_func = collections.Counter()
    for stack, weight in zip(samples["stack"], weights):
        if stack is None:
            assert not weight, "a weight without a stack"
            continue
        frame = shared["stackTable"]["frame"][stack]
        by_func[shared["frameTable"]["func"][frame]] += weight
    return by_func


def label(profile, func):
    """Names a function as a front-end shows it, with its module."""
    shared = profile["shared"]
    name = shared["stringArray"][shared["funcTable"]["name"][func]]
    resource = shared["funcTable"]["resource"][func]
    if resource < 0:
        return json.dumps(name)
    module = shared["stringArray"][shared["resourceTable"]["name"][resource]]
    return f"{json.dumps(name)} in {module}"


def main():
    profile = json.load(sys.stdin)
    threads = profile["threads"]
    assert [thread["processType"] for thread in threads] == ["default", "process", "comparison"]
    assert len({thread["pid"] for thread in threads}) == len({thread["tid"] for thread in threads}) == 3
    assert profile["meta"]["initialSelectedThreads"] == [2]
    assert "threadCPUDelta" not in threads[2]["samples"]
    assert all(delta >= 0 for thread in threads for delta in thread["samples"]["timeDeltas"])
    # A row that all threads of a side share uses one CPU at most.
    for samples in (thread["samples"] for thread in threads[:2]):
        for passed, used in list(zip(samples["timeDeltas"], samples.get("threadCPUDelta", [])))[1:]:
            assert used <= passed * 1e6 + 1, f"{used} ns of CPU time in {passed} ms"
    a, b, difference = (sums(profile, thread) for thread in threads)
    print(*(thread["name"] for thread in threads), sep=" | ")
    labels = {func: label(profile, func) for func in a.keys() | b.keys()}
    # Front-ends join by the function's number: one that has two is two to them.
    assert len(set(labels.values())) == len(labels), "a function of both sides is two"
    for func in sorted(labels, key=labels.get):
        print(a[func], b[func], difference[func], labels[func])
    # Sides with other numbers of runs weigh the same: by the least common multiple.
    factors = [int(factor) for factor in sys.argv[1].split("-")[:2]]
    for func in a.keys() | b.keys() | difference.keys():
        assert difference[func] == factors[1] * b[func] - factors[0] * a[func], labels[func]


main()
