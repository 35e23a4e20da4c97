#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares a profile that prof made of a perf.data file with `perf script`, sample by sample.

perf_script.py PERF.DATA PROFILE: prints one line of counts; exits with 1 if they differ.

The samples of each thread and event must have the same times and the same frames: the leaf's
address, and return addresses less one; of BPF programs, which have no address in a profile, the
name, if perf knows it, too: programs that are loaded as it records it may not know. Two differences are prof's: a chain ends before the first
address that lies in no mapping, which is not code; and the frames of an exec from before it are not
looked up in the new program. They are counted. Samples that perf script prints without a stack are
counted, too. Two differences are perf's, whose own unwinder walks copied stacks: now and then it takes
another saved register for a return address. A chain that leads to no mapping ends there, and one that
only skips frames is counted; these are few.
"""

import collections
import gzip
import json
import re
import subprocess
import sys

CLOCKS = ("cpu-clock", "task-clock")
SAMPLE = re.compile(r"^\s*(.*?)\s+(-?\d+)/(-?\d+)\s+(\d+)\.(\d+):\s+(?:\d+\s+)?(\S+?):\s")
# Address, name, file, and the offset in it; without the last (perf before 6.12), the address is that.
FRAME = re.compile(r"^\s+([0-9a-f]+)\s+(.*?)\s*\(([^()]*?)(?:\+0x([0-9a-f]+))?\)$")
FIELDS = "comm,pid,tid,time,event,period,ip,sym,dso"
# Code that a process made has no address in a profile.
GENERATED = re.compile(r"perf-\d+\.map|//anon|\[anon\]")
BPF = re.compile(r"bpf_prog_[0-9a-f]{16}")


def kernel_base():
    with open("/proc/kallsyms") as symbols:
        for line in symbols:
            address, _, name = line.split()[:3]
            if name == "_text":
                return int(address, 16)
    return 0


def loads_of(path, cache={}):
    """PT_LOADs: offset, vaddr, size."""
    if path not in cache:
        out = subprocess.run(["readelf", "-lW", path], capture_output=True, text=True).stdout
        rows = [line.split() for line in out.splitlines()]
        cache[path] = [
            tuple(int(row[i], 16) for i in (1, 2, 4)) for row in rows if row[:1] == ["LOAD"]
        ]
    return cache[path]


class Profile:
    """Frames as perf script numbers them: file offsets, and addresses of the kernel."""

    def __init__(self, path):
        with gzip.open(path) as file:
            self.json = json.load(file)
        self.shared = self.json["shared"]
        self.base = kernel_base()
        self.frames = [self.frame(i) for i in range(self.shared["frameTable"]["length"])]
        self.known = {}

    def frame(self, i):
        table = self.shared["frameTable"]
        address, lib = table["address"][i], table["lib"][i]
        name = self.json["shared"]["stringArray"][self.shared["funcTable"]["name"][table["func"][i]]]
        if address < 0 and BPF.match(name):
            return name
        if address < 0 and name.startswith("0x"):
            return int(name, 16)
        if table["inlineDepth"][i] or address < 0:
            return None
        if lib is None or lib < 0:
            return address
        path = self.json["libs"][lib]["path"]
        if path == "[kernel.kallsyms]":
            return address + self.base
        loads = [] if path.startswith("[") else loads_of(path)
        for offset, vaddr, size in loads:
            if vaddr <= address + loads[0][1] < vaddr + size:
                return address + loads[0][1] - vaddr + offset
        return address

    def stack(self, i):
        table, todo = self.shared["stackTable"], []
        while i is not None and i not in self.known:
            todo.append(i)
            i = i - table["prefixOffset"][i] if table["prefixOffset"][i] else None
        base = () if i is None else self.known[i]
        for i in reversed(todo):
            frame = self.frames[table["frame"][i]]
            base = base if frame is None else (frame,) + base
            self.known[i] = base
        return base

    def is_wait(self, stack):
        category = self.shared["frameTable"]["category"][self.shared["stackTable"]["frame"][stack]]
        return category is not None and self.json["meta"]["categories"][category]["name"] == "Idle"

    def samples(self):
        """{(tid, event): [(ms, frames)]}"""
        result = collections.defaultdict(list)
        for thread in self.json["threads"]:
            rows, time = thread["samples"], 0
            event = re.search(r" \((.*)\)$", thread["name"])
            is_event = "." in str(thread["tid"])
            key = int(re.match(r"\d+", str(thread["tid"]))[0]), event[1] if is_event and event else None
            for i in range(rows["length"]):
                time += rows["timeDeltas"][i]
                stack = rows["stack"][i]
                if stack is not None and not self.is_wait(stack):
                    result[key].append((time, self.stack(stack)))
        return result


def frame_of(match):
    address, name, file, offset = match.groups()
    is_lost = file == "[unknown]" and int(address, 16) < 1 << 63
    return None if is_lost else (int(address if BPF.match(name) else offset or address, 16), name)


def append(chain, match):
    """Appends a frame, unless the chain has left code."""
    if not chain or chain[-1] is not None:
        chain.append(frame_of(match))


def perf_samples(path):
    """{(tid, event): [(ns, [(address, name), ..., None if it leads to no code])]}"""
    command = ["perf", "script", "-i", path, "--no-inline", "--ns", "-F"]
    for fields in FIELDS + ",dsoff", FIELDS:
        done = subprocess.run(command + [fields], capture_output=True, text=True, errors="replace")
        if done.returncode == 0:
            break
    out = done.stdout
    result, current = collections.defaultdict(list), None
    for line in out.splitlines():
        head, frame = SAMPLE.match(line + " "), FRAME.match(line)
        if frame and current is not None:
            if not GENERATED.search(frame[3]):
                append(current, frame)
        elif head:
            current = []
            event = head[6].split(":ppp")[0]
            key = int(head[3]) % 2**32, None if event in CLOCKS else event
            result[key].append((int(head[4]) * 10**9 + int(head[5]), current))
            rest = FRAME.match(line[head.end() :])
            if rest:
                append(current, rest)
    return result


def is_same(frame, address, name):
    if isinstance(frame, str):
        return address >> 63 and name in (frame, "[unknown]")
    return frame in (address, address - 1)


def is_among(theirs, ours):
    """Tells whether all frames are in ours, in the same order."""
    rest = iter(ours)
    return all(any(is_same(frame, *other) for frame in rest) for other in theirs)


def compare(ours, theirs):
    theirs = theirs[:-1] if theirs and theirs[-1] is None else theirs
    if not theirs:
        return "no stack"
    common = 0
    while common < min(len(ours), len(theirs)):
        if not is_same(ours[common], *theirs[common]):
            return "skips" if common and is_among(theirs[common:], ours[common:]) else "different"
        common += 1
    if common < len(ours):
        return "longer"
    if common == len(theirs):
        return "equal"
    return "exec or end" if common else "different"


def show(frames, chain):
    """Prints the frames of one sample, ours and theirs, the leaf first."""
    for i in range(max(len(frames), len(chain))):
        own = frames[i] if i < len(frames) else None
        address, name = (chain[i] if i < len(chain) else None) or (None, "")
        print(*(hex(a) if isinstance(a, int) else a for a in (own, address)), name)


def main():
    ours, theirs = Profile(sys.argv[2]).samples(), perf_samples(sys.argv[1])
    counts, start = collections.Counter(), None
    for key, wanted in theirs.items():
        got = sorted(ours.get(key, []), key=lambda row: row[0])
        wanted.sort(key=lambda row: row[0])
        counts["missing"] += abs(len(got) - len(wanted))
        for (ms, frames), (ns, chain) in zip(got, wanted):
            start = ns - ms * 1e6 if start is None else start
            counts["late"] += abs(ns - ms * 1e6 - start) > 2000
            verdict = compare(frames, chain)
            counts[verdict] += 1
            if verdict == "different" and counts[verdict] == 1:
                show(frames, chain)
    print(", ".join(f"{count} {name}" for name, count in sorted(counts.items()) if count))
    wrong = counts["different"] + counts["missing"] + counts["late"]
    sys.exit(1 if wrong or 20 * counts["skips"] > counts["equal"] or not counts["equal"] else 0)


main()
