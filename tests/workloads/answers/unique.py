# SPDX-License-Identifier: MIT
"""Finds what is new in a list by searching all of it."""
import sys


def unique(items):
    seen = []
    for item in items:
        if item not in seen:
            seen.append(item)
    return seen


unique(range(int(sys.argv[1])))
