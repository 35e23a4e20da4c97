#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rewrites files of JSON for comparing by line: what holds no other list or object stands on one
line, as long as that is short or a column of numbers. Numbers stay as they were written.

    pretty.py FILE...
"""

import json
import pathlib
import sys

WIDTH = 110


class Number(str):
    pass


def flat(value):
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        inner = ", ".join(f"{flat(k)}: {flat(v)}" for k, v in value.items())
        return "{" + inner + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flat(v) for v in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def is_leaf(value):
    if not isinstance(value, (dict, list)):
        return True
    items = value.values() if isinstance(value, dict) else value
    if any(isinstance(v, (dict, list)) for v in items):
        return False
    return len(flat(value)) <= WIDTH or not any(isinstance(v, str) and not isinstance(v, Number)
                                                for v in items)


def lines(value, indent=""):
    """The lines of a value; the first without indent."""
    if is_leaf(value):
        return [flat(value)]
    deeper = indent + " "
    is_object = isinstance(value, dict)
    result = ["{" if is_object else "["]
    items = list(value.items()) if is_object else [(None, v) for v in value]
    for i, (key, item) in enumerate(items):
        text = lines(item, deeper)
        text[0] = deeper + (f"{flat(key)}: " if is_object else "") + text[0]
        text[-1] += "," if i + 1 < len(items) else ""
        result += text
    result.append(indent + ("}" if is_object else "]"))
    return result


if __name__ == "__main__":
    for path in map(pathlib.Path, sys.argv[1:]):
        tree = json.loads(path.read_text(encoding="utf-8"), parse_float=Number, parse_int=Number)
        path.write_text("\n".join(lines(tree)) + "\n", encoding="utf-8")
