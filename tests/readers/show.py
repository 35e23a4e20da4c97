#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reads processed profiles of versions 60 to 75 in a way of its own, and shows what is in them.

    show.py FILE...        as `show FILE...` shows what prof reads

The two know nothing of one another but the form of what they print: "thread NAME pid P tid T", then
its samples, the weight of each stack by function names from the root, its markers; changes of
counters in the end. Times are ns since the start of the recording, or else since the first sample
or marker.
"""

import collections
import json
import re
import sys
from decimal import ROUND_HALF_UP, Decimal


def ns(ms):
    """Milliseconds, exact, as ns; nothing is before the start."""
    return max(0, int((Decimal(ms or 0) * 10**6).quantize(Decimal(1), ROUND_HALF_UP)))


def process_id(text):
    """The number in front, and which process of that number; all of it where it has none."""
    found = re.match(r"(\d+)(?:\.(\d+))?", str(text))
    return (found[1], found[2] or "0") if found else (str(text), "0")


def thread_name(thread):
    """The title without the tid that tells threads of one name apart."""
    name, _, tid = thread["name"].rpartition(" ")
    if thread["isMainThread"] or not name or name == "tid" or tid != str(thread["tid"]).split(".")[0]:
        return thread["name"]
    return name


class Reader:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            profile = json.load(file, parse_float=Decimal)
        self.profile = profile
        self.meta = profile["meta"]
        self.shared = profile["shared"]
        self.strings = self.shared["stringArray"]
        self.version = self.meta["preprocessedProfileVersion"]
        self.stacks = self.name_stacks()
        unit = self.meta.get("sampleUnits", {}).get("threadCPUDelta")
        self.cpu_unit = {"ns": Decimal(1), "µs": Decimal(1000)}.get(unit, Decimal(0))
        self.start = 0
        self.start = self.find_start()

    def find_start(self):
        if self.meta.get("profilingEndTime"):
            return ns(self.meta.get("profilingStartTime"))
        seen = []
        for thread in self.profile["threads"]:
            seen += self.times(thread["samples"])
            seen += [time for _, _, start, end in self.spans(thread) for time in (start, end)]
        return min(seen, default=0)

    def time(self, ms):
        return max(0, ns(ms) - self.start)

    def times(self, table):
        if "time" in table:
            return [self.time(ms) for ms in table["time"]]
        total, result = Decimal(0), []
        for delta in table["timeDeltas"]:
            total += Decimal(delta)
            result.append(self.time(total))
        return result

    def name_stacks(self):
        """By row: names from the root, inlined functions as any other."""
        stacks, frames, funcs = (self.shared[name] for name in ("stackTable", "frameTable", "funcTable"))
        result = []
        for row, frame in enumerate(stacks["frame"]):
            if self.version >= 66:
                offset = stacks["prefixOffset"][row]
                parent = row - offset if offset else None
            else:
                parent = stacks["prefix"][row]
            name = self.strings[funcs["name"][frames["func"][frame]]]
            result.append((() if parent is None else result[parent]) + (name,))
        return result

    def samples(self, thread):
        """(time, weight, stack, CPU time) of rows that stand for something, and of the last row,
        whose weight may be 0."""
        table, last, cpu = thread["samples"], 0, 0
        weights = table.get("weight")
        is_time = table.get("weightType") == "tracing-ms"
        unit = Decimal(self.meta.get("interval") or 1) if is_time else 1
        deltas = table.get("threadCPUDelta") or [None] * len(table["stack"])
        for row, (time, stack) in enumerate(zip(self.times(table), table["stack"])):
            cpu += int(Decimal(deltas[row] or 0) * self.cpu_unit)
            weight = (round(Decimal(weights[row]) / unit) if weights else
                      int(stack is not None))
            if weight or row + 1 == len(table["stack"]):
                last = max(last, time)
                yield last, weight, () if stack is None else self.stacks[stack], cpu
                cpu = 0

    def spans(self, thread):
        """(data, name, start, end) of each marker; begins and ends make one."""
        table, open_rows = thread["markers"], {}
        seen = self.times(thread["samples"])
        for row, data in enumerate(table["data"]):
            phase, name = table["phase"][row], table["name"][row]
            start, end = self.time(table["startTime"][row]), self.time(table["endTime"][row])
            if phase == 2:
                open_rows.setdefault(name, []).append(row)
                continue
            if phase == 3:
                begin = (open_rows.get(name) or [None]).pop()
                start = min(seen, default=0) if begin is None else self.time(table["startTime"][begin])
            yield data or {}, self.strings[name], start, max(start, end) if phase else start
        for row in (row for rows in open_rows.values() for row in rows):
            start = self.time(table["startTime"][row])
            end = max(seen, default=0) + ns(self.meta["interval"])
            yield table["data"][row] or {}, self.strings[table["name"][row]], start, max(start, end)

    def markers(self, thread):
        for data, name, start, end in self.spans(thread):
            cause = data.get("cause", {}).get("stack")
            yield "marker %s %s %d %d %s" % (
                data.get("type", "Marker"), name, start, end,
                "-" if cause is None else ";".join(self.stacks[cause]))

    def lines(self):
        threads, cpus, marks = [], collections.Counter(), {}
        for thread in self.profile["threads"]:
            view = thread.get("profView")
            if view == "cpu":
                for _, weight, _, _ in self.samples(thread):
                    cpus[int(thread["tid"][3:])] += weight
                continue
            event = ""
            if view == "event":
                event = " event " + re.search(r"\(([^(]*)\)$", thread["name"])[1]
            else:
                threads.append([thread, collections.Counter(), 0, 0])
            last = threads[-1]
            for time, weight, stack, cpu in self.samples(thread):
                last[3] += 0 if event else cpu
                if not weight:
                    continue
                last[1][event, stack] += weight
                last[2] += 1
                marks.setdefault(len(threads), []).append(time)
        for number, (thread, stacks, count, cpu) in enumerate(threads, 1):
            yield "thread %s pid %s.%s tid %s" % (
                thread_name(thread), *process_id(thread["pid"]), process_id(thread["tid"])[0])
            seen = marks.get(number, [0])
            yield "samples %d from %d to %d, CPU time %d" % (count, min(seen), max(seen), cpu)
            yield from sorted("stack %d %s%s" % (weight, ";".join(stack), event)
                              for (event, stack), weight in stacks.items())
            yield from sorted(self.markers(thread))
        yield from ("cpu %d weight %d" % row for row in sorted(cpus.items()))
        yield from self.counters()

    def counters(self):
        for counter in self.profile.get("counters") or []:
            deltas = collections.Counter()
            last = 0
            for time, count in zip(self.times(counter["samples"]), counter["samples"]["count"]):
                last = max(last, time)
                deltas[last] += int(count)
            yield "counter %s pid %s.%s:%s" % (
                counter["name"], *process_id(counter["pid"]),
                "".join(" %d@%d" % (delta, time) for time, delta in deltas.items() if delta))


def main():
    for path in sys.argv[1:]:
        print("file", path)
        for line in Reader(path).lines():
            print(line)


if __name__ == "__main__":
    main()
