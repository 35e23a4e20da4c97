#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what JavaScript's functions in stacks cost.

usage: node_cost.py [--rounds N] [--seconds S] [--node NODE] [--depths N...]

Runs a program of known depth as python_cost.py does, whose functions are compiled, interpreted or
baseline code; nothing is inlined, so that each has a frame. Prints the same figures.
"""
import argparse
import os
import shutil
import sys

import python_cost

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs/deep.js")
TIERS = {
    "compiled": ["--no-turbo-inlining", "--no-maglev-inlining"],
    "baseline": ["--always-sparkplug", "--no-maglev", "--max-optimized-bytecode-size=0"],
    "interpreted": ["--no-opt", "--no-maglev", "--no-sparkplug"],
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--node", default=shutil.which("node"))
    parser.add_argument("--tiers", nargs="+", choices=TIERS, default=list(TIERS))
    options = python_cost.parse_options(parser)
    if not options.node:
        sys.exit("node_cost.py: there is no node")
    programs = {tier: [options.node, *TIERS[tier], PROGRAM] for tier in options.tiers}
    python_cost.print_costs(programs, options, {})


if __name__ == "__main__":
    main()
