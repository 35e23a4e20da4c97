#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tick_stats.py STATS PROFILE: checks a profile as check_profile.py does, then that ticks balance and
match it. Prints what does not."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import check_profile  # noqa: E402

CLASSES = "whole truncated broken unknown kernel_only exiting".split()


def ticks_of(profile):
    """[(weight, frames)] of the clock's ticks: neither of waits nor of other events"""
    return [(weight, frames) for thread, _, weight, frames in check_profile.samples(profile)
            if check_profile.view(thread) != "event" and not check_profile.is_wait(frames)]


def problems(stats, profile):
    # Rows of CPUs repeat samples of threads.
    profile["threads"] = [t for t in profile["threads"] if t["pid"] != "cpus"]
    classes = sum(stats[name] for name in CLASSES)
    if classes != stats["cpu_samples"]:
        yield f"{classes} ticks in classes, {stats['cpu_samples']} samples"
    if stats["lost"] != sum(stats["lost_by"].values()):
        yield f"{stats['lost']} lost, by cause {stats['lost_by']}"
    rows = ticks_of(profile)
    ticks = sum(weight for weight, _ in rows)
    # Rows stand for others on average if there were too many.
    leeway = 0.03 * stats["cpu_samples"] if stats["left_out_rows"] else 0
    if abs(ticks - stats["cpu_samples"]) > leeway:
        yield f"{ticks} in the profile, not {stats['cpu_samples']}"
    for event, count in stats["events"].items():
        weight = sum(check_profile.total_weight(profile, thread) for thread in profile["threads"]
                     if check_profile.view(thread) == "event"
                     and thread["name"].endswith(f"({event})"))
        if weight != count["weight"]:
            yield f"{event}: {weight} in the profile, not {count['weight']}"
    for name in ("guessed", "finished_later", "unknown_kinds", "compat"):
        if not 0 <= stats[name] <= classes:
            yield f"{stats[name]} {name} of {classes}"
    guesses = sum(weight for weight, frames in rows
                  if any(frame["subcategory"] == "Guess" for frame in frames))
    if guesses > stats["guessed"] + leeway:
        yield f"{guesses} with guesses in the profile, {stats['guessed']} counted"


def main():
    try:
        with open(sys.argv[1], encoding="utf-8") as file:
            stats = json.load(file)
        profile = check_profile.load(sys.argv[2])
        wrong = check_profile.check(profile)
    except (OSError, check_profile.ProfileError) as e:
        wrong = [str(e)]
    for problem in wrong or ["ok"]:
        print(f"{sys.argv[2]}: {problem}")
    for problem in () if wrong else problems(stats, profile):
        print(problem)


if __name__ == "__main__":
    main()
