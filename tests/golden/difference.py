#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps the expected profiles of the golden cases as base.json and, for each case, out.difference.

    difference.py --together FOLDER [CASE...]  writes the profiles of cases as FOLDER/CASE.json
    difference.py --accept FOLDER              takes the profiles FOLDER/CASE.json as right
    difference.py --base FOLDER                prints the base of the profiles FOLDER/CASE.json
    difference.py --self-test                  shows that nothing is lost on the way

A difference is lines "PATH = VALUE": what a profile has in place of the base, or where the base has
"…" and so only says where a key stands. "PATH absent" removes a key of the base. In the base

  {"each": ELEMENT}            is a list, whose elements differ from ELEMENT
  {"all": [...], "some": ...}  is a list of elements with names: those of each case, then others. A
                               difference names its elements, "…" being those of each case.
  "length"                     stands in tables. A column [VALUE] is as long as the table, which is
                               as long as the first column of a difference, and [] is in empty ones.

The base has what more than half of the places have, and elements with names that two cases have.
"""

import collections
import json
import pathlib
import re
import sys

import pretty
from pretty import Number, flat

HERE = pathlib.Path(__file__).resolve().parent
OPEN = "…"
MISSING = object()
LISTS = {("libs",), ("threads",)}
NAMED = {("meta", "categories"): "name", ("meta", "markerSchema"): "name", ("meta", "extra"): "label",
         ("meta", "extra", "*", "entries"): "label"}
KEY = re.compile(r'\w+|"(?:[^"\\]|\\.)*"')


class DifferenceError(Exception):
    pass


class Given:
    """Holds what a difference says of a path, and of those below it."""

    def __init__(self):
        self.value = None
        self.below = {}

    def at(self, key):
        return self.below.setdefault(key, Given())


NOTHING = Given()


def read(text):
    return json.loads(text, parse_float=Number, parse_int=Number)


def load(path):
    return read(path.read_text(encoding="utf-8"))


def as_text(profile):
    return "\n".join(pretty.lines(profile)) + "\n"


def is_same(a, b):
    if MISSING in (a, b):
        return a is b
    return flat(a) == flat(b)


def parse(text):
    root, at = Given(), 0
    for match in re.finditer(r"(?m)^(\S(?:[^\n]*?\S)?)(?: = (.*(?:\n(?: .*|[\]}]))*)| absent)\n", text):
        if match.start() != at:
            break
        at, node, keys = match.end(), root, KEY.findall(match[1])
        if ".".join(keys) != match[1]:
            raise DifferenceError(f"not a path: {match[1]}")
        for key in keys:
            node = node.at(json.loads(key) if key[0] == '"' else key)
        if node.value is not None:
            raise DifferenceError(f"twice: {match[1]}")
        node.value = (MISSING if match[2] is None else read(match[2]),)
    if at != len(text):
        raise DifferenceError(f"not a difference: {text[at:].splitlines()[0]}")
    return root


def path_text(keys):
    return ".".join(key if re.fullmatch(r"\w+", key) else json.dumps(key, ensure_ascii=False)
                    for key in keys)


def is_table(base):
    return "length" in base


def length_of(base, given):
    """The rows of a table, as far as a difference tells without its length."""
    columns = (node.value[0] for key, node in given.below.items() if key in base and node.value)
    return Number(next((len(column) for column in columns if isinstance(column, list)), 0))


def named_elements(base, path, given):
    key = NAMED[path]
    known = {element[key]: element for element in base["all"] + base["some"]}
    usual = [element[key] for element in base["all"]]
    result = []
    for name in given.value[0] if given.value else [OPEN]:
        for one in usual if name == OPEN else [name]:
            if not isinstance(one, str):
                result.append(one)
            elif one in known:
                result.append(together(known[one], path + ("*",), given.below.get(one, NOTHING)))
            else:
                raise DifferenceError(f"{'.'.join(path)}: no {one} in the base")
    return result


def together(base, path, given):
    """The value of the base with what is given."""
    if path in NAMED:
        return named_elements(base, path, given)
    if given.value:
        return given.value[0]
    if path in LISTS:
        if list(given.below) != [str(i) for i in range(len(given.below))]:
            raise DifferenceError(f"{'.'.join(path)}: elements {', '.join(given.below)}")
        return [together(base["each"], path + ("*",), node) for node in given.below.values()]
    if not isinstance(base, dict):
        if given.below:
            raise DifferenceError(f"{'.'.join(path)}: nothing below")
        return MISSING if base == OPEN else base
    if unknown := given.below.keys() - base.keys():
        raise DifferenceError(f"{'.'.join(path)}: the base has no {', '.join(sorted(unknown))}")
    result = {key: together(value, path + (key,), given.below.get(key, NOTHING))
              for key, value in base.items()}
    if is_table(base):
        if result["length"] is MISSING:
            result["length"] = length_of(base, given)
        for key, value in base.items():
            if isinstance(value, list) and key not in given.below:
                result[key] = value * int(result["length"])
    return {key: value for key, value in result.items() if value is not MISSING}


class Differ:
    def __init__(self):
        self.lines = []
        self.root = Given()

    def give(self, keys, value):
        node = self.root
        for key in keys:
            node = node.at(key)
        node.value = (value,)
        if value is MISSING:
            self.lines.append(f"{path_text(keys)} absent")
        else:
            text = pretty.lines(value)
            self.lines += [f"{path_text(keys)} = {text[0]}", *text[1:]]

    def named(self, base, path, keys, value):
        key = NAMED[path]
        known = {element[key]: element for element in base["all"] + base["some"]}
        usual = [element[key] for element in base["all"]]
        names = [element[key] if element[key] in known else element for element in value]
        if names[:len(usual)] == usual:
            names[:len(usual)] = [OPEN]
        if names != [OPEN]:
            self.give(keys, names)
        for element in value:
            if element[key] in known:
                self.add(known[element[key]], path + ("*",), keys + (element[key],), element)

    def table_or_object(self, base, path, keys, value):
        node = self.root
        for key in keys:
            node = node.at(key)
        length = int(value["length"]) if "length" in value else 0
        for key, inner in base.items():
            if is_table(base) and isinstance(inner, list):
                if not is_same(value.get(key, MISSING), inner * length):
                    self.give(keys + (key,), value.get(key, MISSING))
            elif key != "length":
                self.add(inner, path + (key,), keys + (key,), value.get(key, MISSING))
        if is_table(base) and not is_same(value.get("length", MISSING), length_of(base, node)):
            self.give(keys + ("length",), value.get("length", MISSING))

    def add(self, base, path, keys, value):
        """Adds what makes `value` of the base."""
        if path in NAMED:
            self.named(base, path, keys, value)
        elif path in LISTS and isinstance(value, list):
            for i, element in enumerate(value):
                self.add(base["each"], path + ("*",), keys + (str(i),), element)
        elif isinstance(base, dict) and isinstance(value, dict) and \
                list(value) == [key for key in base if key in value]:
            self.table_or_object(base, path, keys, value)
        elif not is_same(value, MISSING if base == OPEN else base):
            self.give(keys, value)


def difference_of(base, profile):
    """The text of a difference that makes this profile of the base, to the byte."""
    differ = Differ()
    try:
        differ.add(base, (), (), profile)
        text = "".join(line + "\n" for line in differ.lines)
        result = together(base, (), parse(text))
    except (AttributeError, KeyError, TypeError) as e:
        raise DifferenceError(f"not the form of a profile: {e!r}") from e
    if as_text(result) != as_text(profile):
        raise DifferenceError("the base cannot tell this profile")
    return text


def merged_keys(objects):
    """The keys of all, each after the key that it follows somewhere."""
    order = []
    for item in objects:
        at = 0
        for key in item:
            if key not in order:
                order.insert(at, key)
            at = order.index(key) + 1
    return order


def most_common(values, count):
    """Finds what more than half of `count` values are, else OPEN."""
    texts = collections.Counter(flat(value) for value in values)
    text, times = texts.most_common(1)[0] if texts else (None, 0)
    return next(value for value in values if flat(value) == text) if 2 * times > count else OPEN


def base_of_column(tables, key):
    values = [table[key] for table in tables if key in table]
    columns = [column for column in values if isinstance(column, list) and column]
    value = most_common([column[:1] for column in columns if is_same(column, column[:1] * len(column))],
                        len(columns))
    if value == OPEN and 2 * sum(isinstance(column, list) for column in values) > len(tables):
        return []
    return most_common(values, len(tables)) if value == OPEN else value


def base_of_named(lists, path):
    key = NAMED[path]
    elements = collections.defaultdict(list)
    for element in (element for one in lists for element in one):
        elements[element[key]].append(element)
    bases = {name: base_of(found, path + ("*",), len(found))
             for name, found in elements.items() if len(found) > 1}
    usual = [name for name in bases if all(name in [e[key] for e in one] for one in lists)]
    return {"all": [bases[name] for name in usual],
            "some": [value for name, value in bases.items() if name not in usual]}


def base_of(values, path, count):
    """The base of values, of which `count` places have one or none."""
    if path in NAMED:
        return base_of_named(values, path)
    if path in LISTS:
        elements = [element for value in values for element in value]
        return {"each": base_of(elements, path + ("*",), len(elements))}
    objects = [value for value in values if isinstance(value, dict)]
    if 2 * len(objects) <= count:
        return most_common(values, count)
    result = {}
    for key in merged_keys(objects):
        found = [value[key] for value in objects if key in value]
        if "length" not in objects[0]:
            result[key] = base_of(found, path + (key,), len(objects))
        else:
            result[key] = OPEN if key == "length" else base_of_column(objects, key)
    return result


def cases():
    return sorted(path.parent.name for path in HERE.glob("*/in.events"))


def expected(base, case):
    text = (HERE / case / "out.difference").read_text(encoding="utf-8")
    try:
        return together(base, (), parse(text))
    except (DifferenceError, ValueError) as e:
        raise DifferenceError(f"{case}/out.difference: {e}") from e


def write_together(folder, names):
    """Cases without a difference are left out."""
    base, status = load(HERE / "base.json"), 0
    for case in names or cases():
        try:
            (folder / f"{case}.json").write_text(as_text(expected(base, case)), encoding="utf-8")
        except (DifferenceError, FileNotFoundError) as e:
            print(e, file=sys.stderr)
            status = 1
    return status


def accept(folder):
    """Other cases stay as they are, though the base may become another."""
    profiles = {}
    for case in cases():
        if (folder / f"{case}.json").exists():
            profiles[case] = load(folder / f"{case}.json")
        elif (HERE / case / "out.difference").exists():
            profiles[case] = expected(load(HERE / "base.json"), case)
    base = base_of(list(profiles.values()), (), len(profiles))
    texts = {case: difference_of(base, profile) for case, profile in profiles.items()}
    (HERE / "base.json").write_text(as_text(base), encoding="utf-8")
    for case, text in texts.items():
        (HERE / case / "out.difference").write_text(text, encoding="utf-8")
    return 0


def print_base(folder):
    profiles = [load(path) for path in sorted(folder.glob("*.json"))]
    sys.stdout.write(as_text(base_of(profiles, (), len(profiles))))
    return 0


def main(arguments):
    if arguments == ["--self-test"]:
        import difference_selftest
        return difference_selftest.run()
    action, *operands = arguments or [""]
    if action == "--together" and operands:
        return write_together(pathlib.Path(operands[0]), operands[1:])
    if action in ("--accept", "--base") and len(operands) == 1:
        return (accept if action == "--accept" else print_base)(pathlib.Path(operands[0]))
    print("usage: difference.py --together FOLDER [CASE...] | --accept FOLDER | --base FOLDER | --self-test",
          file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
