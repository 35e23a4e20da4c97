#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares names, files and lines, inlined calls included, with llvm-symbolizer's.

    symbolize_compare.py FILE [COUNT]

Asks both for COUNT (5,000) addresses spread over the code of FILE (an ELF file with DWARF, or
whose debug file lies in /usr/lib/debug) and says how many chains and names differ, with the first
few of them, and what CPU time and memory each took. Names are compared as c++filt writes them,
without what marks clones; where DWARF has only a plain name, its scopes are not compared.
Exit status: 0 where all chains and 99 % of the names are the same.
"""

import os
import random
import re
import subprocess
import sys
import tempfile

BENCH = os.path.join(os.environ.get("BUILD", "build"), "tests/bench/bench_symbolize")


def run(command, text=""):
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True,
                          errors="replace")
    return done.stdout


def measure(command, text):
    """A file with the output, CPU seconds, and the most memory in MB."""
    output = tempfile.TemporaryFile("w+", errors="replace")
    with tempfile.TemporaryFile("w+") as given:
        given.write(text)
        given.seek(0)
        child = subprocess.Popen(command, stdin=given, stdout=output, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{command[0]} failed")
    output.seek(0)
    return output, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def text_section(path):
    """Address and size of .text."""
    for line in run(["readelf", "-SW", path]).splitlines():
        match = re.match(r"\s*\[\s*\d+\]\s+\.text\s+\S+\s+(\w+)\s+\w+\s+(\w+)", line)
        if match:
            return int(match[1], 16), int(match[2], 16)
    sys.exit(f"{path}: no .text")


def file_with_dwarf(path):
    if ".debug_info" in run(["readelf", "-SW", path]):
        return path
    match = re.search(r"Build ID: (\w+)", run(["readelf", "-nW", path]))
    found = match and f"/usr/lib/debug/.build-id/{match[1][:2]}/{match[1][2:]}.debug"
    if not found or not os.path.exists(found):
        sys.exit(f"{path}: no debug information")
    return found


def place(text):
    """(path, line) of "path:line" or "path:line:column"; the path of no line does not count."""
    path, line = re.match(r"(.*?):(\d+)(?::\d+)?$", text).groups()
    return (os.path.normpath(path) if int(line) else "", int(line))


def answers(output):
    """{address: ([(path, line), …], [name, …])}, innermost first."""
    found = {}
    for block in output.split("\n\n"):
        lines = block.strip().split("\n")
        if lines[0].startswith("0x"):
            found[int(lines[0], 16)] = ([place(text) for text in lines[2::2]], lines[1::2])
    return found


def readable(names):
    """{name: as c++filt writes it, without return type and parameters}"""
    bare = {n: re.sub(r"^(_Z[^.]*)\..*", r"\1", n) for n in sorted(names)}
    return dict(zip(bare, run(["c++filt", "-i", "-p"], "\n".join(bare.values()) + "\n").split("\n")))


def plain(name):
    name = re.sub(r"(?<=\d): [iu](size|\d+)\b|\[[0-9a-f]{16}\]|::h[0-9a-f]{16}$|\.llvm\.\d+", "", name)
    name = re.sub(r"( \[clone [^]]*\])+$|(\.(cold|part|isra|constprop|lto_priv)(\.\d+)*)+$", "",
                  name)
    # Parameters of the functions and lambdas around it, which prof leaves out.
    name = name.replace("(anonymous namespace)", "{anonymous}").replace("operator()", "operator{}")
    while (shorter := re.sub(r"\([^()]*\)( const| volatile| &&?)*", "", name)) != name:
        name = shorter
    return name


def is_same_name(ours, theirs, full):
    """`theirs` is what DWARF has, `full` the same, readable."""
    is_readable = theirs == full
    ours, full = plain(ours), plain(full)
    return theirs == "??" or ours == full or (is_readable and ours.endswith("::" + full))


def is_same(ours, theirs):
    # If the build hid its directory, llvm joins two relative paths.
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
    ours, our_cpu, our_memory = measure([BENCH, path], text)
    theirs, their_cpu, their_memory = measure(
        ["llvm-symbolizer", f"--obj={file_with_dwarf(path)}", "--inlines", "--no-demangle",
         "--addresses"], text)
    # Not before: a child starts with its parent's memory, and counts that as its own.
    ours, theirs = answers(ours.read()), answers(theirs.read())
    different = [a for a in addresses if not is_same(ours[a][0], theirs[a][0])]
    for address in different[:5]:
        print(f"{address:#x}\n  prof {ours[address][0]}\n  llvm {theirs[address][0]}")
    full = readable({name for _, names in theirs.values() for name in names})
    pairs = [pair for a in addresses for pair in zip(ours[a][1], theirs[a][1])]
    others = [pair for pair in pairs if not is_same_name(*pair, full[pair[1]])]
    for pair in sorted(set(others))[:5]:
        print(f"  prof {pair[0]}\n  llvm {full[pair[1]]}")
    same_names = 100 * (1 - len(others) / max(1, len(pairs)))
    print(f"{count} addresses: {count - len(different)} chains same, {len(different)} different; "
          f"{same_names:.2f} % of {len(pairs)} names same")
    print(f"CPU: prof {our_cpu:.2f} s, llvm-symbolizer {their_cpu:.2f} s, ratio "
          f"{their_cpu / our_cpu:.2f}; memory: {our_memory:.0f} MB, {their_memory:.0f} MB")
    sys.exit(1 if different or same_names < 99 else 0)


main()
