# SPDX-License-Identifier: MIT
"""Shows that base and differences hold the profiles of all cases, and nothing that is not needed.

Each profile is broken in several ways, each of which must show; so must a line that is taken from a
difference, and a value that is another.
"""

import copy
import random

import difference
from difference import DifferenceError, Number

MALFORMED = ("threads.0.name\n", "threads.0.name = \"a\"", "threads.0.name = \"a\"\n \n]\n",
             "threads.0.name = \"a\"\nthreads.0.name = \"b\"\n", "threads.1.name = \"a\"\n",
             "nothing = 1\n", "threads.0.nothing = 1\n", "meta.version.x = 1\n", "a..b = 1\n",
             "meta.markerSchema = [\"…\", \"unknown\"]\n", "meta.version = \n", " meta.version = 1\n",
             "\nmeta.version = 1\n", "meta.version  absent\n")


def places(value):
    """All lists and objects that have elements."""
    if not isinstance(value, (dict, list)):
        return
    if value:
        yield value
    for inner in value.values() if isinstance(value, dict) else value:
        yield from places(inner)


def another(value):
    if isinstance(value, Number):
        return Number("18" if value == "17" else "17")
    return {None: False, True: False, False: None}[value] if value in (None, True, False) else value + "x"


def change(chance, place):
    key = chance.choice(list(place) if isinstance(place, dict) else range(len(place)))
    place[key] = [] if isinstance(place[key], (dict, list)) else another(place[key])


def remove(chance, place):
    del place[chance.choice(list(place) if isinstance(place, dict) else range(len(place)))]


def add(_chance, place):
    if isinstance(place, dict):
        place["added"] = Number(1)
    else:
        place.append(copy.deepcopy(place[-1]))


def swap(_chance, place):
    """The order of keys counts, too."""
    if isinstance(place, dict):
        place[next(iter(place))] = place.pop(next(iter(place)))
    else:
        place.insert(0, Number(7))


def broken_profiles(case, base, text, profile):
    """Profiles that the difference does not make must have another, which makes them."""
    for how in (change, remove, add, swap):
        chance = random.Random(f"{case} {how.__name__}")
        one = copy.deepcopy(profile)
        how(chance, chance.choice(list(places(one))))
        if difference.as_text(one) == difference.as_text(profile):
            continue
        try:
            if difference.difference_of(base, one) == text:
                yield f"{case}: {how.__name__}: is not seen"
        except DifferenceError:
            pass  # needs another base


def is_made(base, text, profile):
    try:
        return difference.as_text(difference.together(base, (), difference.parse(text))) == profile
    except (DifferenceError, ValueError):
        return False


def broken_texts(case, base, text, profile):
    lines = text.splitlines(keepends=True)
    for i in random.Random(case).sample(range(len(lines)), 2):
        number = lines[i].replace("0", "7") if "0" in lines[i] else lines[i].replace("1", "7")
        for line in {"", number} - {lines[i]}:
            if is_made(base, "".join(lines[:i] + [line] + lines[i + 1:]), profile):
                yield f"{case}: {lines[i].strip()}: is not needed"


def faults():
    base = difference.load(difference.HERE / "base.json")
    profiles = {case: difference.expected(base, case) for case in difference.cases()}
    if not difference.is_same(difference.base_of(list(profiles.values()), (), len(profiles)), base):
        yield "base.json: not the base of all profiles"
    for case, profile in profiles.items():
        text = (difference.HERE / case / "out.difference").read_text(encoding="utf-8")
        if difference.difference_of(base, profile) != text:
            yield f"{case}: not as it is written"
        yield from broken_profiles(case, base, text, profile)
        yield from broken_texts(case, base, text, difference.as_text(profile))
    for text in MALFORMED:
        try:
            difference.together(base, (), difference.parse(text))
            yield f"{text!r} is taken"
        except (DifferenceError, ValueError):
            pass


def run():
    wrong = list(faults())
    for fault in wrong:
        print(fault)
    print(f"self-test: {len(wrong)} wrong")
    return 1 if wrong else 0
