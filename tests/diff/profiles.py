#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the profiles that tests/diff compares, into a folder.

Runs of a program whose functions take known times, with a noise that is always the same.
"""

import json
import random
import sys
from pathlib import Path

CATEGORIES = [
    {"name": "Other", "color": "grey", "subcategories": ["Other"]},
    {"name": "User", "color": "yellow", "subcategories": ["Other"]},
    {"name": "Kernel", "color": "orange", "subcategories": ["Other"]},
]
RUN_FIELDS = [
    {"key": "iteration", "label": "Iteration", "format": "integer"},
    {"key": "variant", "label": "Variant", "format": "unique-string"},
    {"key": "variantNumber", "label": "Variant number", "format": "integer"},
    {"key": "status", "label": "Exit status", "format": "integer"},
    {"key": "wall", "label": "Wall time", "format": "duration"},
    {"key": "cpu", "label": "CPU time", "format": "duration"},
    {"key": "looks", "label": "Looks", "format": "integer"},
]
EVIL = "evil\x1b[31m`|<b>\u202eend\nnew\\line"


class Strings(list):
    def id(self, text):
        if text not in self:
            self.append(text)
        return self.index(text)


def columns(rows, names, **more):
    table = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    return {**table, **more, "length": len(rows)}


def profile(runs, start=0, module="program", meta=None, losses=None, marked=True, cpus=1):
    """Runs: (marker fields, {function: ms}); each lasts as long as its functions take,
    on so many CPUs."""
    strings = Strings()
    functions = []
    samples, markers = [], []
    now = before = 1.0
    for fields, times in runs:
        begin = now
        for function, ms in times.items():
            if function not in functions:
                functions.append(function)
            # A sample stands for what it says, at its end.
            now += ms
            samples.append((functions.index(function), now - before, round(ms), int(ms * 1e6) * cpus))
            before = now
        if marked:
            data = {"type": "run", "status": 0, "wall": now - begin, "cpu": now - begin, **fields}
            if "variant" in data:
                data["variant"] = strings.id(data["variant"])
            markers.append((strings.id("run"), 0, data, begin, now + 0.001, 1))
        now += 5
    lib = {
        "arch": "x86_64", "name": module, "path": f"/bin/{module}", "debugName": module,
        "debugPath": f"/bin/{module}", "breakpadId": "", "codeId": None,
    }
    frames = [(16 * i, 1 if name.endswith("(inlined)") else 0, i) for i, name in enumerate(functions)]
    names = [name.removesuffix(" (inlined)") for name in functions]
    extra = [{"label": "Settings", "entries": [
        {"label": "Event", "format": "string", "value": "cpu-clock"}]}]
    if losses:
        extra.append({"label": "Losses", "entries": [
            {"label": "Lost samples", "format": "integer", "value": losses}]})
    nothing = [None] * len(functions)
    return {
        "meta": {
            "version": 36, "preprocessedProfileVersion": 70, "product": module, "interval": 1.0,
            "startTime": 1700000000000.0 + start, "endTime": 1700000000000.0 + start + now,
            "profilingStartTime": 0, "profilingEndTime": now, "oscpu": "Linux 6.1.0 x86_64",
            "CPUName": "A processor", "logicalCPUs": 4, "processType": 0, "stackwalk": 1,
            "symbolicated": True, "categories": CATEGORIES,
            "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
            "markerSchema": [{"name": "run", "display": ["marker-table"], "fields": RUN_FIELDS}],
            "extra": extra, **(meta or {}),
        },
        "libs": [lib],
        "threads": [{
            "name": module, "processName": module, "processType": "default",
            "isMainThread": True, "pid": "100", "tid": 100, "registerTime": 0,
            "unregisterTime": now, "processStartupTime": 0, "processShutdownTime": now,
            "pausedRanges": [], "showMarkersInTimeline": True,
            "samples": columns(
                samples, ("stack", "timeDeltas", "weight", "threadCPUDelta"), weightType="samples"),
            "markers": columns(
                markers, ("name", "category", "data", "startTime", "endTime", "phase")),
        }],
        "shared": {
            "stackTable": columns([(i, 0) for i in range(len(functions))], ("frame", "prefixOffset")),
            "frameTable": columns(
                [(a, 0, depth, 1, 0, i, None, None, None, None, None) for a, depth, i in frames],
                ("address", "lib", "inlineDepth", "category", "subcategory", "func",
                 "nativeSymbol", "innerWindowID", "line", "column", "originalLocation")),
            "funcTable": columns(
                [(strings.id(name), False, False, 0, None, None, None, None) for name in names],
                ("name", "isJS", "relevantForJS", "resource", "source", "lineNumber",
                 "columnNumber", "originalLocation")),
            "nativeSymbols": {"libIndex": [], "address": [], "name": [], "functionSize": [], "length": 0},
            "resourceTable": {"name": [strings.id(module)], "host": [None], "type": [1], "length": 1},
            "sources": {"id": [], "filename": [], "startLine": [], "startColumn": [],
                        "sourceMapURL": [], "content": [], "length": 0},
            "sourceLocationTable": {"source": [], "line": [], "column": [], "length": 0},
            "stringArray": strings,
        },
    }


def times(rng, functions):
    return {name: round(ms * rng.gauss(1, 0.02), 3) for name, ms in functions.items()}


BASE = {"parse": 200, "hash": 300, "write": 90, EVIL: 150, "helper": 40, "gone": 20}
SLOWER = {
    "parse.constprop.0": 270, "hash": 300, "write": 90, EVIL: 190, "helper (inlined)": 40, "new": 30,
}


def pairs(count, a, b, **fields):
    rng = random.Random(1)
    runs = []
    for i in range(1, count + 1):
        pair = [("base", 1, a), ("patch", 2, b)]
        for name, number, functions in reversed(pair) if i % 3 == 0 else pair:
            marker = {"iteration": i, "variant": name, "variantNumber": number, **fields}
            runs.append((marker, times(rng, functions)))
    return runs


def rounds(count, *variants):
    """Variants in turns, each with its functions."""
    rng = random.Random(4)
    return [({"iteration": i, "variant": name, "variantNumber": number}, times(rng, functions))
            for i in range(1, count + 1)
            for number, (name, functions) in enumerate(variants, 1)]


def main(folder):
    rng = random.Random(2)
    repeated = lambda count, functions: [
        ({"iteration": i + 1}, times(rng, functions)) for i in range(count)]
    whole = lambda functions, **more: profile([({}, times(rng, functions))], marked=False, **more)
    files = {
        "variants": profile(pairs(8, BASE, SLOWER)),
        "same": profile(pairs(8, BASE, BASE)),
        "three": profile(rounds(6, ("one", BASE), ("two", BASE), ("three", SLOWER))),
        "looks": profile(pairs(5, BASE, SLOWER, looks=4)),
        "killed": profile(pairs(4, BASE, BASE) + [
            ({"iteration": 5, "variant": "base", "variantNumber": 1, "status": 130}, {"parse": 7})]),
        "failing": profile(pairs(3, BASE, BASE, status=1)),
        "old": whole(BASE, module="old"),
        "new": whole(SLOWER, module="new", start=1e6),
        "runs-a": profile(repeated(5, BASE), module="old"),
        "runs-b": profile(repeated(4, SLOWER), module="new", start=1e6),
        "elsewhere": whole(BASE, meta={
            "CPUName": "Another\x1b]0;processor", "logicalCPUs": 8, "oscpu": "Linux 6.12.0 x86_64"}),
        "coarse": whole(BASE, meta={"interval": 4.0}),
        "lossy": whole(BASE, losses=50),
        "empty": whole({}),
    }
    for i in range(3):
        files[f"a{i}"] = whole(BASE, start=i * 10000)
        files[f"b{i}"] = whole(SLOWER, start=i * 10000 + 5000)
    # Threads that ran at once, in one row.
    files["busy-a"], files["busy-b"] = whole(BASE, cpus=3), whole(SLOWER, cpus=3)
    # Each run has a container of its own.
    for name, container in (("contained-a", "08cbb0906eb2"), ("contained-b", "f1faf3483537")):
        files[name] = whole(BASE)
        files[name]["threads"][0]["processName"] = f"program (pid 1 in {container})"
    # Rows have the time that passed, as those of V8's profiles.
    files["measured"] = whole(BASE, meta={"interval": 4.0, "profEvents": [{"period": 8}]})
    for name, value in files.items():
        Path(folder, f"{name}.json").write_text(json.dumps(value))


main(sys.argv[1])
