#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Brings a processed profile of version 70 to version 75, as the front-end does.

    newest.py FILE OUT [FILE OUT]...

Columns "flags" say which cells have a value; other cells are 0. They also take the place of the
columns inlineDepth, isJS and relevantForJS.
"""

import json
import sys

FRAMES = {4: ("category", "subcategory"), 8: ("nativeSymbol",), 16: ("line",), 32: ("column",),
          64: ("originalLocation",)}
FUNCS = {4: ("resource",), 8: ("source",), 16: ("lineNumber",), 32: ("columnNumber",),
         64: ("originalLocation",)}


def move_into_flags(table, flags, bits):
    for bit, names in bits.items():
        columns = [table.setdefault(name, [None] * table["length"]) for name in names]
        for row in range(table["length"]):
            if all(column[row] not in (None, -1) for column in columns):
                flags[row] |= bit
            else:
                for column in columns:
                    column[row] = 0
    table["flags"] = flags


def upgrade(profile):
    shared = profile["shared"]
    frames, funcs, symbols = (shared[name] for name in ("frameTable", "funcTable", "nativeSymbols"))
    inlined = [int(depth > 0) for depth in frames.pop("inlineDepth")]
    move_into_flags(frames, inlined, {2: ("address", "lib"), **FRAMES})
    frames["innerWindowID"] = [window or 0 for window in frames["innerWindowID"]]
    is_js, is_relevant = funcs.pop("isJS"), funcs.pop("relevantForJS")
    move_into_flags(funcs, [js + 2 * relevant for js, relevant in zip(is_js, is_relevant)], FUNCS)
    symbols["functionSize"] = [-1 if size is None else size for size in symbols["functionSize"]]
    profile["meta"]["preprocessedProfileVersion"] = 75


def main():
    for source, target in zip(sys.argv[1::2], sys.argv[2::2]):
        with open(source, encoding="utf-8") as file:
            profile = json.load(file)
        assert profile["meta"]["preprocessedProfileVersion"] == 70
        upgrade(profile)
        with open(target, "w", encoding="utf-8") as file:
            json.dump(profile, file, separators=(",", ":"), ensure_ascii=False)


main()
