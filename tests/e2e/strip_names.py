#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Removes the names from a profile, as if it had been recorded with --no-symbols.

    strip_names.py FILE OUT     frames in a lib become addresses, inlined ones go
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import check_profile  # noqa: E402


def columns(table):
    return [name for name, column in table.items() if isinstance(column, list)]


def keep_rows(table, rows):
    for name in columns(table):
        table[name] = [table[name][i] for i in rows]
    table["length"] = len(rows)


def strip(p):
    shared = p["shared"]
    frames, funcs, stacks, strings = (shared[name] for name in (
        "frameTable", "funcTable", "stackTable", "stringArray"))
    # Stacks without nodes of inlined frames, which become the nodes they are inlined in.
    new_of, kept = {}, []
    parents = {}
    for i, (frame, offset) in enumerate(zip(stacks["frame"], stacks["prefixOffset"])):
        parent = None if offset == 0 else new_of[i - offset]
        if frames["inlineDepth"][frame]:
            new_of[i] = parent
            continue
        key = (parent, frame)
        if key not in parents:
            parents[key] = len(kept)
            kept.append(key)
        new_of[i] = parents[key]
    forget_areas(p)
    # The remaining frames, each with a function that is its address.
    rows = [i for i, depth in enumerate(frames["inlineDepth"]) if depth == 0]
    frame_of = {row: i for i, row in enumerate(rows)}
    keep_rows(frames, rows)
    unnamed = {}
    for i, (lib, address) in enumerate(zip(frames["lib"], frames["address"])):
        if lib < 0:
            continue
        frames["line"][i] = frames["nativeSymbol"][i] = None
        old = frames["func"][i]
        if (lib, address) not in unnamed:
            unnamed[lib, address] = funcs["length"]
            for name in columns(funcs):
                funcs[name].append(funcs[name][old])
            funcs["source"][-1] = None
            if hex(address) not in strings:
                strings.append(hex(address))
            funcs["name"][-1] = strings.index(hex(address))
            funcs["length"] += 1
        frames["func"][i] = unnamed[lib, address]
    used = sorted(set(frames["func"]))
    keep_rows(funcs, used)
    frames["func"] = [used.index(func) for func in frames["func"]]
    stacks["frame"] = [frame_of[frame] for _, frame in kept]
    stacks["prefixOffset"] = [0 if parent is None else i - parent
                              for i, (parent, _) in enumerate(kept)]
    stacks["length"] = len(kept)
    for t in p["threads"]:
        t["samples"]["stack"] = [None if s is None else new_of[s] for s in t["samples"]["stack"]]
        for data in t["markers"]["data"]:
            if data and "cause" in data:
                data["cause"]["stack"] = new_of[data["cause"]["stack"]]
    for name in ("nativeSymbols", "sources"):
        keep_rows(shared[name], [])
    drop_strings(p)
    p["meta"]["symbolicated"] = False
    return p


def forget_areas(p):
    """Kernel frames that the kernel calls have their caller's subcategory, the others none."""
    frames, stacks = p["shared"]["frameTable"], p["shared"]["stackTable"]
    is_kernel = [lib >= 0 and p["libs"][lib]["name"].startswith("[kernel") for lib in frames["lib"]]
    kernel = [c["name"] for c in p["meta"]["categories"]].index("Kernel")
    # BPF programs lie in no lib.
    calls_kernel = [holds or category == kernel
                    for holds, category in zip(is_kernel, frames["category"])]
    entered = set()
    for i, (frame, offset) in enumerate(zip(stacks["frame"], stacks["prefixOffset"])):
        if not offset or not calls_kernel[stacks["frame"][i - offset]]:
            entered.add(frame)
    for i, holds in enumerate(is_kernel):
        if holds:
            frames["category"][i], frames["subcategory"][i] = \
                (kernel, 0) if i in entered else (None, None)


def drop_strings(p):
    shared, strings = p["shared"], p["shared"]["stringArray"]
    formats = {s["name"]: {f["key"] for f in s["fields"]
                           if f["format"] in check_profile.INDEX_FORMATS}
               for s in p["meta"]["markerSchema"]}
    places = [(shared["funcTable"]["name"], i) for i in range(shared["funcTable"]["length"])]
    places += [(shared["resourceTable"]["name"], i)
               for i in range(shared["resourceTable"]["length"])]
    for t in p["threads"]:
        places += [(t["markers"]["name"], i) for i in range(t["markers"]["length"])]
        places += [(data, key) for data in t["markers"]["data"] if data
                   for key in formats[data["type"]] if key in data]
    used = sorted({holder[key] for holder, key in places})
    position = {old: new for new, old in enumerate(used)}
    shared["stringArray"] = [strings[i] for i in used]
    for holder, key in places:
        holder[key] = position[holder[key]]


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        json.dump(strip(check_profile.load(sys.argv[1])), out, ensure_ascii=False)
