#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks and reads profiles: the Firefox Profiler's processed format, version 70.

    check_profile.py FILE...       "FILE: ok", or one line per problem
    check_profile.py --self-test   breaks a valid profile in many ways; each must be found

Exit status: 0 all is well, 1 a problem was found, 2 wrong usage or a file that cannot be read.

For tests (`import check_profile`); `profile` is what load() returns, times are in ms:

    load(path)             the profile as a dict; ProfileError where the container is not exact
                           (more than one gzip member, bytes behind it, invalid UTF-8 or JSON)
    check(profile)         list of problems, one string each; empty for a valid profile
    check_file(path)       both: what is wrong with the file
    threads(profile)       the raw thread objects, in the order of the file
    processes(profile)     {pid: [thread, ...]}; pids are strings ("123", "123.1"; "cpus" of
                           rows of CPUs, which hold the samples of threads once more)
    thread_names(profile)  [(pid, tid, process name, thread name), ...]
    samples(profile, thread=None)
                           yields (thread, time, weight, frames) for every sample (of that thread);
                           rows that only say that a thread did not run are left out;
                           frames is a list of dicts, outermost first, [] without a stack, each
                           with the keys name, file, line, lib, inlineDepth, address, category,
                           subcategory, symbol; file, line, lib, address and symbol are None
                           where unknown.
                           The list is shared between samples: do not change it
    stack_frames(profile, stack)
                           the same frames for an index into the stack table
    markers(profile, thread=None)
                           yields (thread, name, start, end, data); end is None for an instant,
                           string indexes in data are replaced by their strings
    is_wait(frames)        are these the frames of a wait, not of what ran?
    sample_count(profile)  those samples over all threads
    gap_rows(profile, thread=None)
                           how many rows are left out of samples()
    view(thread)           "cpu", "event", "folded", or None where it is a thread as any other
    total_weight(profile, thread=None)
    shares(profile, thread=None)
                           ({function: share of samples in it}, {function: share with it anywhere
                           on the stack}); by weight, 0 ... 1, samples without a stack count below
"""

import collections
import json
import sys
import zlib

import profile_rules

INDEX_FORMATS = profile_rules.INDEX_FORMATS


class ProfileError(Exception):
    """The file is not a profile, or not in the only container that browsers read."""


# Reading ---------------------------------------------------------------------------------------


def _gunzip(data):
    stream = zlib.decompressobj(wbits=31)
    try:
        text = stream.decompress(data) + stream.flush()
    except zlib.error as e:
        raise ProfileError(f"gzip: {e}") from None
    if not stream.eof:
        raise ProfileError("gzip: the member is cut off")
    if stream.unused_data[:2] == b"\x1f\x8b":
        raise ProfileError("gzip: more than one member")
    if stream.unused_data:
        raise ProfileError(f"gzip: {len(stream.unused_data)} bytes behind the member")
    return text


def _no_constant(name):
    raise ProfileError(f"JSON: {name} is no number")


def _object(pairs):
    obj = dict(pairs)
    if len(obj) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ProfileError(f"JSON: key {twice!r} twice in one object")
    return obj


def parse(data):
    """The profile in these bytes, gzipped or plain."""
    if data[:2] == b"\x1f\x8b":
        data = _gunzip(data)
    try:
        profile = json.loads(data.decode("utf-8"), parse_constant=_no_constant,
                             object_pairs_hook=_object)
    except UnicodeDecodeError as e:
        raise ProfileError(f"not UTF-8: {e.reason} at byte {e.start}") from None
    except ValueError as e:
        raise ProfileError(f"JSON: {e}") from None
    if not isinstance(profile, dict):
        raise ProfileError("JSON: the profile is not an object")
    return profile


def load(path):
    with open(path, "rb") as file:
        return parse(file.read())


# Looking ---------------------------------------------------------------------------------------


def threads(profile):
    return profile["threads"]


def processes(profile):
    found = {}
    for thread in threads(profile):
        found.setdefault(thread["pid"], []).append(thread)
    return found


def thread_names(profile):
    return [(t["pid"], t["tid"], t["processName"], t["name"]) for t in threads(profile)]


def sample_times(thread):
    """Absolute times of a thread's samples."""
    return [time / 1e6 for time in profile_rules.sample_times_ns(thread["samples"])]


class _Stacks:
    """Stacks as lists of frame dicts, each built once."""

    def __init__(self, profile):
        shared = profile["shared"]
        self.strings = shared["stringArray"]
        self.stacks = shared["stackTable"]
        self.libs = profile["libs"]
        self.categories = profile["meta"]["categories"]
        self.rows = [self.row(shared, i) for i in range(shared["frameTable"]["length"])]
        self.cache = {}

    def row(self, shared, i):
        frames, funcs = shared["frameTable"], shared["funcTable"]
        func = frames["func"][i]
        source = funcs["source"][func]
        lib, symbol = frames["lib"][i], frames["nativeSymbol"][i]
        address, category = frames["address"][i], frames["category"][i]
        known = {} if category is None else self.categories[category]
        subcategory = frames["subcategory"][i]
        return {
            "name": self.strings[funcs["name"][func]],
            "file": None if source is None
            else self.strings[shared["sources"]["filename"][source]],
            "line": frames["line"][i],
            "lib": None if lib < 0 else self.libs[lib]["name"],
            "inlineDepth": frames["inlineDepth"][i],
            "address": None if address < 0 else address,
            "category": known.get("name"),
            "subcategory": None if subcategory is None else known["subcategories"][subcategory],
            "symbol": None if symbol is None
            else self.strings[shared["nativeSymbols"]["name"][symbol]],
        }

    def frames(self, stack):
        if stack is None:
            return []
        known = self.cache.get(stack)
        if known is None:
            known, node = [], stack
            while True:
                known.append(self.rows[self.stacks["frame"][node]])
                offset = self.stacks["prefixOffset"][node]
                if offset == 0:
                    break
                node -= offset
            known.reverse()
            # A frame without a category has its caller's.
            for i in range(1, len(known)):
                if known[i]["category"] is None:
                    known[i] = {**known[i], "category": known[i - 1]["category"],
                                "subcategory": known[i - 1]["subcategory"]}
            self.cache[stack] = known
        return known


def stack_frames(profile, stack):
    return _Stacks(profile).frames(stack)


def samples(profile, thread=None):
    stacks = _Stacks(profile)
    for t in threads(profile) if thread is None else [thread]:
        table = t["samples"]
        weights = profile_rules.weights(profile, table)
        gaps = profile_rules.gap_rows(table)
        for time, weight, stack, is_gap in zip(sample_times(t), weights, table["stack"], gaps):
            if not is_gap:
                yield t, time, weight, stacks.frames(stack)


def is_wait(frames):
    return bool(frames) and frames[-1]["category"] in profile_rules.WAITS


def markers(profile, thread=None):
    strings = profile["shared"]["stringArray"]
    indexes = {schema["name"]: [f["key"] for f in schema["fields"]
                                if f["format"] in INDEX_FORMATS]
               for schema in profile["meta"]["markerSchema"]}
    for t in threads(profile) if thread is None else [thread]:
        table = t["markers"]
        for i in range(table["length"]):
            data = dict(table["data"][i] or {})
            for key in indexes.get(data.get("type"), []):
                if key in data:
                    data[key] = strings[data[key]]
            yield (t, strings[table["name"][i]], table["startTime"][i], table["endTime"][i],
                   data)


def gap_rows(profile, thread=None):
    return sum(sum(profile_rules.gap_rows(t["samples"]))
               for t in (threads(profile) if thread is None else [thread]))


def sample_count(profile):
    return sum(t["samples"]["length"] for t in threads(profile)) - gap_rows(profile)


def total_weight(profile, thread=None):
    return sum(sum(profile_rules.weights(profile, t["samples"]))
               for t in (threads(profile) if thread is None else [thread]))


def view(thread):
    return thread.get("profView")


def shares(profile, thread=None):
    own, total, weights = collections.Counter(), collections.Counter(), 0
    for _, _, weight, frames in samples(profile, thread):
        weights += weight
        if frames:
            own[frames[-1]["name"]] += weight
        for name in {frame["name"] for frame in frames}:
            total[name] += weight
    return ({name: count / weights for name, count in own.items()},
            {name: count / weights for name, count in total.items()})


# Checking --------------------------------------------------------------------------------------


def check(profile):
    return profile_rules.check(profile)


def check_file(path):
    try:
        return check(load(path))
    except ProfileError as e:
        return [str(e)]


def main(arguments):
    if arguments == ["--self-test"]:
        import check_profile_selftest
        return check_profile_selftest.run()
    if not arguments or arguments[0].startswith("-"):
        print("usage: check_profile.py FILE... | --self-test", file=sys.stderr)
        return 2
    status = 0
    for path in arguments:
        try:
            problems = check_file(path)
        except OSError as e:
            print(f"{path}: {e.strerror}", file=sys.stderr)
            status = 2
            continue
        for problem in problems or ["ok"]:
            print(f"{path}: {problem}")
        if problems:
            status = max(status, 1)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
