#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks an OTLP message of profiles by the rules of v1development: otlp_rules.py [--forwarded] FILE... Prints, as JSON, sums
of the clock's samples by innermost function, and by span, and the attributes of the resources."""

import collections
import json
import re
import struct
import sys


def fields(data):
    """Numbers and values of a message; a value is a number or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 1:
            yield key >> 3, struct.unpack_from("<Q", data, at)[0]
            at += 8
        else:
            assert key & 7 == 2, f"wire type {key & 7}"
            size = varint()
            assert at + size <= len(data), "cut off"
            yield key >> 3, data[at:at + size]
            at += size


def message(data):
    out = collections.defaultdict(list)
    for number, value in fields(data):
        out[number].append(value)
    return out


def packed(data):
    out, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            out.append(value)
            value = shift = 0
    assert not shift, "numbers are cut off"
    return out


def one(row, number, default=0):
    assert len(row[number]) <= 1, f"field {number} is there twice"
    return row[number][0] if row[number] else default


def numbers(row, number):
    return packed(b"".join(row[number]))


class Refusal(Exception):
    pass


def demand(holds, words):
    if not holds:
        raise Refusal(words)


def judge(data, is_forwarded=False):
    """Sums of the clock by innermost function, and of all types; and the attributes of resources."""
    root = message(data)
    tables = message(one(root, 2))
    for number in range(1, 8):
        # Collectors write its fields out.
        assert tables[number] and not any(any(value) if isinstance(value, bytes) else value
                                          for _, value in fields(tables[number][0])), f"table {number} has no zero element"
    link = message(tables[4][0])
    # Collectors leave out ids that are all zeros.
    assert is_forwarded or (len(one(link, 1, b"")), len(one(link, 2, b""))) == (16, 8), "no empty link"
    strings = [text.decode() for text in tables[5]]
    assert len(set(strings)) == len(strings)
    mappings, locations, functions, attributes, stacks = (
        [message(row) for row in tables[number]] for number in (1, 2, 3, 6, 7))
    at = strings.__getitem__
    keys = [at(one(row, 1)) for row in attributes]

    def check(row, number):
        named = [keys[index] for index in numbers(row, number)]
        assert "" not in named and len(set(named)) == len(named), named
        return named

    for row in mappings:
        at(one(row, 4))
        check(row, 5)
    for row in functions[1:]:
        assert at(one(row, 1)), "a function without a name"
    for row in locations[1:]:
        assert one(row, 1) < len(mappings)
        if one(row, 1):
            mapping = mappings[one(row, 1)]
            assert one(mapping, 1) <= one(row, 2) < one(mapping, 2), "an address outside its mapping"
        assert check(row, 4) == ["profile.frame.type"]
        for line in map(message, row[3]):
            assert 0 < one(line, 1) < len(functions)
    links = [message(row) for row in tables[4]]
    sums, kinds, resources, linked = collections.Counter(), collections.Counter(), [], collections.Counter()
    for resource in map(message, root[1]):
        pairs = [message(pair) for pair in message(one(resource, 1))[1]]
        resources.append({one(pair, 1).decode(): one(message(one(pair, 2)), 1).decode() for pair in pairs})
        for profile in (message(p) for scope in resource[2] for p in message(scope)[2]):
            kind = message(one(profile, 1))
            period = message(one(profile, 5, b""))
            assert len(one(profile, 7)) == 16 and one(profile, 3)
            # Parca refuses a message without, Pyroscope makes a name of it.
            demand(one(profile, 6) > 0 and at(one(period, 1)) and at(one(period, 2)), "invalid profile: period type is nil")
            for name in (at(one(kind, 1)), at(one(period, 1))):
                demand(re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name), f"sample type contains -: {name}")
            check(profile, 11)
            is_clock = at(one(kind, 1)) == "samples"
            if is_clock:
                assert at(one(kind, 2)) == "count"
                assert (at(one(period, 1)), at(one(period, 2))) == ("cpu", "nanoseconds")
            for sample in map(message, profile[2]):
                values = numbers(sample, 4)
                assert len(values) == 1, "not one value a sample"
                stack = numbers(stacks[one(sample, 1)], 1)
                assert all(0 < index < len(locations) for index in stack)
                lines = locations[stack[0]][3] if stack else []
                name = at(one(functions[one(message(lines[0]), 1)], 1)) if lines else ""
                sums[name] += values[0] if is_clock else 0
                kinds[at(one(kind, 1))] += values[0]
                link = links[one(sample, 3)]
                if one(sample, 3):
                    linked[f"{one(link, 1).hex()} {one(link, 2).hex()}"] += values[0]
    assert len(kinds) <= 1, "several types in a message"
    return {"self": {k: v for k, v in sums.items() if k and v}, "all": kinds, "resources": resources, "links": linked}


if __name__ == "__main__":
    forwarded = sys.argv[1:2] == ["--forwarded"]
    for argument in sys.argv[1 + forwarded:]:
        print(json.dumps(judge(open(argument, "rb").read(), forwarded), sort_keys=True))
