#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares collapsed stacks with the JSON of the same profile, by the total of each stack.

    check_folded.py FILE...     FILE is NAME.folded, beside NAME.json; "FILE: ok", or what is wrong

What each side cannot know of the other is left out: the JSON adds arguments to the names of
processes and tids to those of threads, calls threads without a name of their own after a function,
and has no file for code that lies in none.
"""

import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import check_profile

MADE_UP = re.compile(r"(0x|fun_)[0-9a-f]+")
UNSAFE = re.compile(r"[^\x20-\x7e\xa0-\xac\xae-\ud7ff\ue000-\ufefe\uff00-\ufff8\ufffe-\U0010ffff]|\?")


def plain(name):
    """A name as both sides may have it."""
    name = UNSAFE.sub("?", name).replace(";", ":")
    name = re.sub(r" ([0-9.]+)$", r"_\1", name)
    return re.sub(r"\?+", "?", name)


def plain_module(name):
    return plain(name.strip("[]").replace("/", "_"))


def read_folded(path):
    """{(frame, ...): weight}"""
    stacks = collections.Counter()
    lines = path.read_bytes().decode().split("\n")
    if lines.pop() != "":
        raise ValueError("the last line is cut off")
    order = [line.rpartition(" ")[0].encode().split(b";") for line in lines]
    if order != sorted(order):
        raise ValueError("the lines are not sorted by their frames")
    for line in lines:
        match = re.fullmatch(r"([^;]+(?:;[^;]+)*) ([1-9][0-9]*)", line)
        if not match or re.search(r" [0-9.]+$", match[1]) or re.search(r"[\x00-\x1f\x7f]", line):
            raise ValueError(f"not frames and a weight: {line!r}")
        stack = tuple(match[1].split(";"))
        if stack in stacks:
            raise ValueError(f"twice: {match[1]}")
        stacks[stack] = int(match[2])
    return stacks


def frame_of_json(frame, libs):
    name = plain(frame["name"])
    return f"{name} [{libs[frame['lib']]}]" if MADE_UP.fullmatch(name) and frame["lib"] else name


def frame_of_folded(frame, libs):
    made_up, _, module = frame.partition(" ")
    if not MADE_UP.fullmatch(made_up):
        return plain(frame)
    module = plain_module(module)
    return f"{made_up} [{module}]" if module in libs.values() else made_up


def thread_of_json(thread, processes, functions):
    """The frames that stand for a thread, of which titles may say more."""
    tid = str(thread["tid"]).partition(".")[0]
    title, name = plain(thread["processName"]), plain(re.sub(rf" {tid}$", "", thread["name"]))
    process = max((p for p in processes if title == p or title.startswith(p + " ")), key=len,
                  default=title)
    return (process,) if name in (process, title) or name in functions else (process, name)


def compare(path):
    profile = check_profile.load(path.with_suffix(".json"))
    folded = read_folded(path)
    libs = {lib["name"]: plain_module(lib["name"]) for lib in profile["libs"]}
    processes = {plain(stack[0]) for stack in folded}
    wanted, got = collections.Counter(), collections.Counter()
    for thread in check_profile.threads(profile):
        if check_profile.view(thread) in ("cpu", "event"):
            continue
        samples = list(check_profile.samples(profile, thread))
        functions = {plain(frame["name"]) for _, _, _, frames in samples for frame in frames}
        for _, _, weight, frames in samples:
            wanted[thread_of_json(thread, processes, functions) +
                   tuple(frame_of_json(frame, libs) for frame in frames)] += weight
    for stack, weight in folded.items():
        got[tuple(frame_of_folded(frame, libs) for frame in stack)] += weight
    if got != wanted:
        stack = next(s for s in {**got, **wanted} if got[s] != wanted[s])
        raise ValueError(f"{';'.join(stack)}: {got[stack]}, in the JSON {wanted[stack]}")


def main(paths):
    failed = False
    for path in paths:
        try:
            compare(pathlib.Path(path))
            print(f"{path}: ok")
        except (OSError, UnicodeDecodeError, ValueError, check_profile.ProfileError) as e:
            print(f"{path}: {e}")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
