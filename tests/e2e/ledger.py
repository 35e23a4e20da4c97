#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ledger.py STATS PROFILE: does the ledger of ticks balance, and hold for the profile? Prints what
does not."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import check_profile  # noqa: E402

CLASSES = "whole truncated broken unknown kernel_only exiting".split()


def problems(stats, profile):
    classes = sum(stats[name] for name in CLASSES)
    if classes != stats["cpu_samples"]:
        yield f"{classes} ticks in classes, {stats['cpu_samples']} samples"
    if stats["lost"] != sum(stats["lost_by"].values()):
        yield f"{stats['lost']} lost, by cause {stats['lost_by']}"
    if check_profile.total_weight(profile) != stats["cpu_samples"]:
        yield f"{check_profile.total_weight(profile)} in the profile, not {stats['cpu_samples']}"
    for name in ("guessed", "finished_later"):
        if not 0 <= stats[name] <= classes:
            yield f"{stats[name]} {name} of {classes}"
    guesses = sum(weight for _, _, weight, frames in check_profile.samples(profile)
                  if any(frame["subcategory"] == "Guess" for frame in frames))
    if guesses > stats["guessed"]:
        yield f"{guesses} with guesses in the profile, {stats['guessed']} counted"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        stats = json.load(file)
    for problem in problems(stats, check_profile.load(sys.argv[2])):
        print(problem)


if __name__ == "__main__":
    main()
