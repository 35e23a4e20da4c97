# SPDX-License-Identifier: MIT
"""Damage, the same for the same random numbers."""

import copy
import gzip
import json
import struct

NUMBERS = (0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000,
           0x7fffffffffffffff, 0x8000000000000000, 0xfffffffffffffff0, 0xffffffffffffffff)


def flip(data, rng, start, size):
    for _ in range(rng.choice((1, 1, 2, 4, 16, 64))):
        data[start + rng.randrange(size)] ^= 1 << rng.randrange(8)


def put_number(data, rng, start, size):
    for _ in range(rng.choice((1, 2, 8))):
        width = rng.choice((1, 2, 4, 8))
        at = start + rng.randrange(size)
        at -= at % width if rng.random() < 0.8 else 0
        value = rng.choice(NUMBERS) + rng.choice((0, 0, 0, -1, 1, 8))
        bytes_ = struct.pack("<Q", value & (1 << 64) - 1)[:width]
        data[at:at + width] = bytes_[:max(0, len(data) - at)]


def fill(data, rng, start, size):
    at = start + rng.randrange(size)
    count = min(rng.choice((4, 16, 256, 4096)), start + size - at)
    data[at:at + count] = bytes([rng.choice((0, 0xff, 0x80))]) * count


def move(data, rng, start, size):
    """Some bytes of the region are written over others of it."""
    count = min(rng.choice((1, 8, 64, 1024)), size)
    here = start + rng.randrange(size - count + 1)
    there = start + rng.randrange(size - count + 1)
    data[there:there + count] = data[here:here + count]


def damage_elf(case, rng):
    """The bytes of the case's file with some damage, and what that is."""
    data = bytearray(case.pristine)
    done = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        kind = rng.random()
        if kind < 0.04:
            del data[rng.randrange(len(data)):]
            done.append(f"cut at {len(data)}")
            continue
        if kind < 0.25:
            name, places = "headers", case.elf.tables
        else:
            names = sorted(n for n in case.elf.sections if n.startswith((
                ".debug", ".zdebug", ".eh_frame", ".note", ".sym", ".dyn", ".str", ".gnu", ".rel",
                ".plt", ".shstr"))) or sorted(case.elf.sections)
            name = rng.choice(names) if names else "headers"
            places = case.elf.sections.get(name, case.elf.tables)
        start, size = rng.choice(places)
        # The beginning of a section says most about the rest.
        if rng.random() < 0.4:
            size = min(size, 64)
        size = min(size, len(data) - start)
        if size > 0:
            action = rng.choice((flip, flip, put_number, put_number, fill, move))
            action(data, rng, start, size)
            done.append(f"{action.__name__} in {name}")
    return bytes(data), ", ".join(done)


VALUES = (None, True, -1, 0, 1, 2**31 - 1, 2**31, 2**32, 2**53, -2**63, 2**64, 1e308, -1e308, 0.5, "",
          "x", "0x1000", "\0", "\u202e", "\ud800", "a" * 70000, [], {}, [[]], [None] * 3, "/etc/passwd",
          "../../../../etc/passwd", "[kernel.kallsyms]", "[vdso]")


def nodes(tree):
    """(container, key) of all that is in it."""
    stack = [tree]
    while stack:
        node = stack.pop()
        for key in (node if isinstance(node, dict) else range(len(node))):
            yield node, key
            if isinstance(node[key], (dict, list)):
                stack.append(node[key])


def damage_tree(tree, rng):
    """One place of a profile becomes another; a table as likely as a row."""
    tree = copy.deepcopy(tree)
    places = list(nodes(tree))
    containers = [p for p in places if isinstance(p[0][p[1]], (dict, list))] or places
    for _ in range(rng.choice((1, 1, 2, 5))):
        node, key = rng.choice(rng.choice((places, containers)))
        try:
            action = rng.randrange(4)
            if action == 0:
                del node[key]
            elif action == 1 and isinstance(node, list):
                node.insert(key, node[rng.randrange(len(node))])
            elif action == 2 and isinstance(node[key], list) and node[key]:
                del node[key][rng.randrange(len(node[key])):]
            elif isinstance(node[key], int) and rng.random() < 0.5:
                node[key] += rng.choice((-1, 1, 1000000))
            else:
                node[key] = rng.choice(VALUES)
        except (KeyError, IndexError):
            pass  # gone with what it was in
    return tree


def damage_profile(tree, rng):
    """The bytes of a damaged profile, and the end of its name."""
    text = json.dumps(damage_tree(tree, rng) if rng.random() < 0.6 else tree,
                      ensure_ascii=rng.random() < 0.5)
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    is_packed = rng.random() < 0.5
    if rng.random() < 0.3:
        rng.choice((flip, fill, move))(data, rng, 0, len(data))
    if rng.random() < 0.1:
        del data[rng.randrange(len(data)):]
    if is_packed:
        data = bytearray(gzip.compress(bytes(data), 1, mtime=0))
        if rng.random() < 0.3:
            flip(data, rng, 0, len(data))
        if rng.random() < 0.1:
            del data[rng.randrange(len(data)):]
        if rng.random() < 0.1:
            data += data[:rng.randrange(len(data))]
    return bytes(data), ".json.gz" if is_packed else ".json"
