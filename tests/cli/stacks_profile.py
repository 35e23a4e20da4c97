#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a profile of collapsed stacks: "outer;inner 30" is 30 samples; reads stdin, prints JSON.

    stacks_profile.py [PROCESS...]

Each process has the same stacks.
"""

import json
import sys


def columns(rows, names):
    return {**{name: [row[i] for row in rows] for i, name in enumerate(names)}, "length": len(rows)}


def main():
    strings, stacks, samples = [], [], []
    for line in sys.stdin.read().splitlines():
        path, _, weight = line.rpartition(" ")
        parent = None
        for name in path.split(";"):
            if name not in strings:
                strings.append(name)
            key = (strings.index(name), parent)
            if key not in stacks:
                stacks.append(key)
            parent = stacks.index(key)
        samples.append((parent, 1.0, int(weight), 0))
    now = len(samples) + 1.0
    json.dump({
        "meta": {
            "version": 36, "preprocessedProfileVersion": 70, "product": "stacks", "interval": 1.0,
            "startTime": 0, "endTime": now, "profilingStartTime": 0, "profilingEndTime": now,
            "processType": 0, "stackwalk": 1, "symbolicated": True, "markerSchema": [],
            "categories": [{"name": "Other", "color": "grey", "subcategories": ["Other"]},
                           {"name": "User", "color": "yellow", "subcategories": ["Other"]}],
            "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
        },
        "libs": [],
        "threads": [{
            "name": name, "processName": name, "processType": "process" if i else "default",
            "isMainThread": True, "pid": str(i + 100), "tid": i + 100, "registerTime": 0,
            "unregisterTime": now, "processStartupTime": 0, "processShutdownTime": now,
            "pausedRanges": [], "showMarkersInTimeline": True,
            "samples": {**columns(samples, ("stack", "timeDeltas", "weight", "threadCPUDelta")),
                        "weightType": "samples"},
            "markers": columns(
                [], ("name", "category", "data", "startTime", "endTime", "phase")),
        } for i, name in enumerate(sys.argv[1:] or ["stacks"])],
        "shared": {
            "stackTable": columns(
                [(name, 0 if parent is None else i - parent)
                 for i, (name, parent) in enumerate(stacks)], ("frame", "prefixOffset")),
            "frameTable": columns(
                [(-1, -1, 0, 1, 0, i, None, None, None, None, None) for i in range(len(strings))],
                ("address", "lib", "inlineDepth", "category", "subcategory", "func",
                 "nativeSymbol", "innerWindowID", "line", "column", "originalLocation")),
            "funcTable": columns(
                [(i, False, False, -1, None, None, None, None) for i in range(len(strings))],
                ("name", "isJS", "relevantForJS", "resource", "source", "lineNumber",
                 "columnNumber", "originalLocation")),
            "nativeSymbols": columns([], ("libIndex", "address", "name", "functionSize")),
            "resourceTable": columns([], ("name", "host", "type")),
            "sources": columns([], ("id", "filename", "startLine", "startColumn", "sourceMapURL",
                                    "content")),
            "sourceLocationTable": columns([], ("source", "line", "column")),
            "stringArray": strings,
        },
    }, sys.stdout)


main()
