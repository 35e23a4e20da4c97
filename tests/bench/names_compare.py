#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares names of functions with the symbol table, addr2line and llvm-symbolizer.

    names_compare.py FILE [COUNT]

Asks for COUNT (20,000) addresses spread over the executable sections of FILE, an ELF file. The symbol
table is the truth: a name is right if it is one of those of the innermost symbol around the
address; a fun_<hex> or name@plt is right if there is no symbol. The other tools may choose another
name of a function, or name the code before a gap: both are counted. Exit status: 0 if no name is
wrong.
"""

import bisect
import collections
import os
import random
import re
import subprocess
import sys

BENCH = os.path.join(os.environ.get("BUILD", "build"), "tests/bench/bench_symbolize")


def run(command, text=""):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True,
                          errors="replace").stdout


def code_sections(path):
    """[(name, address, size)]"""
    found = []
    for line in run(["readelf", "-SW", path]).splitlines():
        match = re.match(r"\s*\[\s*\d+\]\s+(\S+)\s+PROGBITS\s+(\w+)\s+\w+\s+(\w+)\s+\w+\s+(\w+)",
                         line)
        if match and "X" in match[4] and int(match[3], 16):
            found.append((match[1], int(match[2], 16), int(match[3], 16)))
    return found


def symbols(path):
    """{address: (size, names, whether a name is a function's)}, by readelf's reading."""
    found = {}
    text = run(["readelf", "-sW", path])
    if "'.symtab'" not in text:
        text = run(["readelf", "--dyn-syms", "-W", path])
    else:
        text = text[text.index("'.symtab'"):]
    for line in text.splitlines():
        field = line.split(None, 7)
        if len(field) < 8 or field[3] not in ("FUNC", "IFUNC", "NOTYPE") or field[6] in ("UND",
                                                                                         "ABS"):
            continue
        size = int(field[2], 0)
        name = re.sub(r"^(.+?)@.*", r"\1", field[7].split(" [")[0])
        old = found.get(int(field[1], 16), (0, (), False))
        found[int(field[1], 16)] = (max(size, old[0]), old[1] + (name,),
                                    old[2] or field[3] != "NOTYPE")
    return found


def normal(name):
    """The same for two spellings of a name."""
    name = re.sub(r" \[clone [^]]*\]|(\.(cold|part|isra|constprop|llvm|lto_priv)\b[.\d]*)+$", "", name)
    name = name.replace("(anonymous namespace)", "{anonymous}").replace("operator()", "operator{}")
    # Parameters of the functions and lambdas around it, which prof leaves out.
    while (shorter := re.sub(r"\([^()]*\)( const| volatile| &&?)*", "", name)) != name:
        name = shorter
    return re.sub(r"\s+", "", name)


def demangled(names):
    """{name: as c++filt writes it, without return type and parameters}"""
    plain = {n: re.sub(r"^(_Z[^.]*)\..*", r"\1", n) for n in names}
    output = run(["c++filt", "-i", "-p"], "".join(f"{n}\n" for n in plain.values())).split("\n")
    return dict(zip(plain, output))


def ours_of(path, addresses, text):
    names = {}
    for block in run([BENCH, path], text).split("\n\n"):
        lines = block.strip().split("\n")
        if lines[0].startswith("0x"):
            names[int(lines[0], 16)] = lines[-2]
    return [names[address] for address in addresses]


def addr2line(path, text):
    """Returns the outermost function of each address, which comes last."""
    found = []
    for line in run(["addr2line", "-aif", "-e", path], text).splitlines():
        if line.startswith("0x"):
            found.append([])
        else:
            found[-1].append(line)
    return [lines[-2] for lines in found]


def llvm_symbolizer(path, text):
    output = run(["llvm-symbolizer", f"--obj={path}", "--no-inlines", "--no-demangle"], text)
    return [block.split("\n")[0] for block in output.strip().split("\n\n")]


def file_with_symbols(path):
    """Its debug file where that one has the .symtab."""
    match = re.search(r"Build ID: (\w+)", run(["readelf", "-nW", path]))
    debug = match and f"/usr/lib/debug/.build-id/{match[1][:2]}/{match[1][2:]}.debug"
    if ".symtab" not in run(["readelf", "-SW", path]) and debug and os.path.exists(debug):
        return debug
    return path


class Truth:
    def __init__(self, path):
        self.symbols = {a: s for a, s in symbols(path).items()}
        self.starts = sorted(self.symbols)
        self.readable = demangled({n for s in self.symbols.values() for n in s[1]})
        self.widest = max([s[0] for s in self.symbols.values()], default=0)

    def names_at(self, address):
        """Returns all spellings of the innermost sized symbol around it, and whether there is one."""
        i = bisect.bisect_right(self.starts, address)
        while i and address - self.starts[i - 1] <= self.widest:
            size, names, _ = self.symbols[self.starts[i - 1]]
            if address - self.starts[i - 1] < size:
                return {normal(n) for name in names for n in (name, self.readable[name])}
            i -= 1
        return set()


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    path, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    sections = code_sections(path)
    total = sum(size for _, _, size in sections)
    random.seed(total)
    addresses = set()
    for name, start, size in sections:
        # Small sections whole: stubs and what crt files bring along.
        share = size if size < 4096 else count * size // total
        addresses.update(random.sample(range(start, start + size), min(size, share)))
    addresses = sorted(addresses)
    text = "".join(f"{address:#x}\n" for address in addresses)
    truth = Truth(file_with_symbols(path))
    ours = ours_of(path, addresses, text)
    others = {
        "addr2line": addr2line(path, text),
        "llvm-symbolizer": llvm_symbolizer(path, text),
    }
    result, wrong = collections.Counter(), []
    for address, name in zip(addresses, ours):
        right = truth.names_at(address)
        if normal(name) in right:
            result["of the symbol"] += 1
        elif not right:
            kind = ("stub" if name.endswith("@plt") else "by FDE" if name.startswith("fun_")
                    else "address" if name.startswith("0x") else "reaching symbol")
            result[f"no sized symbol: {kind}"] += 1
        else:
            wrong.append(f"{address:#x}: prof {name}, symbols {sorted(right)[:3]}")
    print(f"{path}: {len(addresses)} addresses, {len(wrong)} wrong; " +
          ", ".join(f"{count} {what}" for what, count in result.most_common()))
    for tool, names in others.items():
        readable = demangled(set(names))
        names = [readable[name] for name in names]
        result, examples = collections.Counter(), []
        for address, name, theirs in zip(addresses, ours, names):
            right = truth.names_at(address)
            if normal(name) == normal(theirs):
                result["same"] += 1
            elif normal(name) in right and normal(theirs) in right:
                result["an alias"] += 1
            elif not right:
                result["no symbol there, it says " + ("nothing" if theirs == "??" else "one")] += 1
            else:
                result["different"] += 1
                examples.append(f"{address:#x}: prof {name}, {tool} {theirs}")
        print(f"  {tool}: " + ", ".join(f"{n} {what}" for what, n in result.most_common()))
        print("".join(f"    {text}\n" for text in examples[:5]), end="")
    print("".join(f"  {text}\n" for text in wrong[:10]), end="")
    sys.exit(1 if wrong else 0)


main()
