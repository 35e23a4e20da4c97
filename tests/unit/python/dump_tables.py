#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints line tables of this interpreter and what it reads from them, for tests/unit/python/tables.

    for each interpreter: PYTHON tests/unit/python/dump_tables.py >>tests/unit/python/tables

A line: minor version, first line, units, table in hexadecimal ("-": empty), rows "unit:line" ("-": no line).
"""

import dis
import sys

LONG = "def long(x):\n    y = [\n" + "".join(f"        x + {n},\n" for n in range(60)) + "    ]\n" + "\n" * 300 + \
    "    return y\n"
SOURCE = '''
def back(x):
    return max(
        x(
            1),
        x(2) if x else
        [y
         for y in x],
    )

def blocks(x):
    for y in x:
        if y:
            continue
        try:
            with y as z:
                yield z
        except KeyError as e:
            raise ValueError from e
        finally:
            x.close()
    while x: x = x()
    return [lambda: (yield), {a: b
        for a, b in x}]

class Deep:
    one = 1
    def method(self, *a, b=1, **c):
        assert self.one, \\
            "text"
        return super().method(*a,
                              **c)

async def wait(x):
    async for y in x:
        await y
    async with x:
        pass
''' + LONG


def codes(code):
    yield code
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield from codes(constant)


def rows(code):
    if sys.version_info < (3, 10):
        return [(start // 2, line) for start, line in dis.findlinestarts(code)]
    found = []
    for start, end, line in code.co_lines():
        if start == end:
            continue
        # The entry into a function may have none, and gets that of the definition.
        if not found:
            line = line or code.co_firstlineno
        if not found or found[-1][1] != line:
            found.append((start // 2, line))
    return found


for function in codes(compile(SOURCE, "source.py", "exec")):
    table = function.co_lnotab if sys.version_info < (3, 10) else function.co_linetable
    print(sys.version_info[1], function.co_firstlineno, len(function.co_code) // 2, table.hex() or "-",
          ",".join(f"{unit}:{line or '-'}" for unit, line in rows(function)))
