#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Are files and lines, inlined calls included, the same as llvm-symbolizer's?

    symbolize_compare.py FILE [COUNT]

Asks both for COUNT (5,000) addresses spread over the code of FILE (an ELF file with DWARF, or
whose debug file lies in /usr/lib/debug) and says how many chains differ, with the first few of
them, and how long each took. Names are not compared: a symbol says more than DWARF does.
Exit status: 0 where all are the same.
"""

import os
import random
import re
import subprocess
import sys
import time

BENCH = os.path.join(os.environ.get("BUILD", "build"), "tests/bench/bench_symbolize")


def run(command, text=""):
    begin = time.monotonic()
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True,
                          errors="replace")
    return done.stdout, time.monotonic() - begin


def text_section(path):
    """Address and size of .text."""
    for line in run(["readelf", "-SW", path])[0].splitlines():
        match = re.match(r"\s*\[\s*\d+\]\s+\.text\s+\S+\s+(\w+)\s+\w+\s+(\w+)", line)
        if match:
            return int(match[1], 16), int(match[2], 16)
    sys.exit(f"{path}: no .text")


def file_with_dwarf(path):
    if ".debug_info" in run(["readelf", "-SW", path])[0]:
        return path
    match = re.search(r"Build ID: (\w+)", run(["readelf", "-nW", path])[0])
    found = match and f"/usr/lib/debug/.build-id/{match[1][:2]}/{match[1][2:]}.debug"
    if not found or not os.path.exists(found):
        sys.exit(f"{path}: no debug information")
    return found


def place(text):
    """(path, line) of "path:line" or "path:line:column"; the path of no line does not count."""
    path, line = re.match(r"(.*?):(\d+)(?::\d+)?$", text).groups()
    return (os.path.normpath(path) if int(line) else "", int(line))


def chains(output):
    """{address: [(path, line), …]}, innermost first."""
    found = {}
    for block in output.split("\n\n"):
        lines = block.strip().split("\n")
        if lines[0].startswith("0x"):
            found[int(lines[0], 16)] = [place(text) for text in lines[2::2]]
    return found


def is_same(ours, theirs):
    # Where the build hid its directory, llvm puts two relative paths in front of one another.
    return len(ours) == len(theirs) and all(
        x[1] == y[1] and (x[0] == y[0] or
                          (not x[0].startswith("/") and y[0].endswith(x[0].lstrip("./"))))
        for x, y in zip(ours, theirs))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    path = sys.argv[1]
    start, size = text_section(path)
    random.seed(size)
    count = min(size, int(sys.argv[2]) if len(sys.argv) > 2 else 5000)
    addresses = sorted(random.sample(range(start, start + size), count))
    text = "".join(f"{address:#x}\n" for address in addresses)
    ours, our_time = run([BENCH, path], text)
    theirs, their_time = run(["llvm-symbolizer", f"--obj={file_with_dwarf(path)}", "--inlines",
                              "--no-demangle", "--addresses"], text)
    ours, theirs = chains(ours), chains(theirs)
    different = [a for a in addresses if not is_same(ours[a], theirs.get(a, []))]
    for address in different[:5]:
        print(f"{address:#x}\n  prof {ours[address]}\n  llvm {theirs.get(address)}")
    print(f"{count} addresses: {count - len(different)} same, {len(different)} different; "
          f"prof {our_time:.2f} s, llvm-symbolizer {their_time:.2f} s")
    sys.exit(1 if different else 0)


main()
