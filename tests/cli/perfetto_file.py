#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads a Perfetto trace by a decoder of its own, and shows what is in it.

    perfetto_file.py FILE WHAT    WHAT: functions, threads, ids, events, slices, states, flows or counters

Fails if a packet refers to a track, a name or a stack that was not written before, if ids of
processes or threads occur twice, or if a slice does not end.
"""

import collections
import struct
import sys

STATES = {2: "R", 3: "running", 4: "S", 5: "D", 7: "dead"}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


class Message:
    """Fields of a message: lists of numbers, texts or messages."""

    def __init__(self, data):
        self.fields = collections.defaultdict(list)
        at = 0
        while at < len(data):
            tag, at = varint(data, at)
            if tag & 7 == 0:
                value, at = varint(data, at)
            elif tag & 7 == 1:
                value, at = struct.unpack_from("<Q", data, at)[0], at + 8
            elif tag & 7 == 2:
                size, at = varint(data, at)
                value, at = data[at:at + size], at + size
                assert len(value) == size
            else:
                raise ValueError(f"wire type {tag & 7}")
            self.fields[tag >> 3].append(value)

    def number(self, field, default=0):
        return self.fields[field][0] if self.fields[field] else default

    def text(self, field):
        return self.fields[field][0].decode() if self.fields[field] else ""

    def messages(self, field):
        return [Message(data) for data in self.fields[field]]


class Trace:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.event, self.tables = {}, {}  # by sequence
        self.tracks, self.processes, self.threads = {}, {}, {}
        self.samples, self.slices, self.states = [], [], []
        self.open = collections.defaultdict(list)
        self.starts, self.ends, self.counters = {}, {}, collections.defaultdict(list)
        for packet in Message(data).messages(1):
            self.read(packet)
        assert not any(self.open.values()), "a slice does not end"
        assert set(self.ends) <= set(self.starts), "a flow does not begin"

    def read(self, packet):
        sequence, time = packet.number(10), packet.number(8, None)
        if packet.number(13) & 1:
            self.tables[sequence] = collections.defaultdict(dict)
        for defaults in packet.messages(59):
            assert defaults.number(58) == 3
            for base in (base for sample in defaults.messages(12) for base in sample.messages(1)):
                self.event[sequence] = base.text(10)
        for interned in packet.messages(12):
            self.intern(self.tables[sequence], interned)
        for track in packet.messages(60):
            self.add_track(track)
        for sample in packet.messages(66):
            self.samples.append((self.event[sequence], sample.number(3),
                                 self.stack(sequence, sample.number(4))))
        for state in packet.messages(117):
            self.states.append((time, state.number(3), STATES[state.number(4)], state.number(1)))
        for event in packet.messages(11):
            self.add_event(sequence, time, event)

    @staticmethod
    def intern(tables, interned):
        for field in (5, 16, 17, 18, 6, 19, 7):
            for row in interned.messages(field):
                assert row.number(1) and row.number(1) not in tables[field]
                tables[field][row.number(1)] = row
        for frame in interned.messages(6):
            assert frame.number(2) in tables[5] and frame.number(3) in tables[19]
            assert not frame.number(5) or frame.number(5) in tables[18]

    def stack(self, sequence, number):
        """Names, outermost first."""
        tables = self.tables[sequence]
        frames = tables[7][number].fields[2] if number else []
        return tuple(tables[5][tables[6][frame].number(2)].text(2) for frame in frames)

    def add_track(self, track):
        uuid, parent = track.number(1), track.number(5)
        assert uuid not in self.tracks and (not parent or parent in self.tracks)
        self.tracks[uuid] = track
        for process in track.messages(3):
            assert process.number(1) not in self.processes
            self.processes[process.number(1)] = process.text(6)
        for thread in track.messages(4):
            assert thread.number(2) not in self.threads and thread.number(1) in self.processes
            self.threads[thread.number(2)] = thread.text(5)

    def add_event(self, sequence, time, event):
        kind, track = event.number(9), event.number(11)
        assert track in self.tracks
        self.stack(sequence, event.number(56))
        row = [self.tracks[track].text(2), event.text(23), time, time]
        if kind == 1:
            assert all(time >= other[3] for other in self.slices if other[4] == track)
            self.open[track].append(row)
        elif kind == 2:
            row = self.open[track].pop()
            row[3] = time
            assert row[2] < time
        elif kind == 4:
            self.counters[self.tracks[track].text(2)].append(event.number(30))
        if kind in (2, 3):
            self.slices.append((*row, track))
        for flow in event.fields[47]:
            self.starts[flow] = event.text(23)
        for flow in event.fields[48]:
            self.ends[flow] = event.text(23)


def show(trace, what):
    count = collections.Counter()
    if what == "functions":
        count.update(stack[-1] if stack else "" for event, _, stack in trace.samples if event == "cpu-clock")
    elif what == "threads":
        count.update(trace.threads[tid] for event, tid, _ in trace.samples if event == "cpu-clock")
    elif what == "ids":
        for tid, name in sorted(trace.threads.items()):
            print(tid, name)
    elif what == "events":
        count.update(event for event, _, _ in trace.samples)
    elif what == "slices":
        for track, name, start, end, _ in trace.slices:
            print(f"{track}: {name} {start} {end}")
    elif what == "states":
        for time, tid, state, cpu in sorted(trace.states):
            print(time, tid, state, cpu)
    elif what == "flows":
        for flow, name in sorted(trace.starts.items()):
            print(f"{name} -> {trace.ends.get(flow)}")
    elif what == "counters":
        for name, values in sorted(trace.counters.items()):
            print(name, *values)
    for name, number in sorted(count.items()):
        print(name, number)


if __name__ == "__main__":
    show(Trace(sys.argv[1]), sys.argv[2])
