# SPDX-License-Identifier: MIT
"""Samples of a processed profile of versions 60 to 70 with all that their frames say, for tests.

It knows nothing of how prof reads such files.
"""

import collections
import re

import show

WAITS = ("Idle",)

Frame = collections.namedtuple("Frame", "name lib file line address category inlined")
Sample = collections.namedtuple("Sample", "thread time weight cpu frames")


class Reader(show.Reader):
    """`frames` of a sample begin with the outermost one."""

    def name_stacks(self):
        frames = [self.frame(row) for row in range(self.shared["frameTable"]["length"])]
        result = []
        for row, frame in enumerate(self.shared["stackTable"]["frame"]):
            parent = self.parent(row)
            above = () if parent is None else result[parent]
            frame = frames[frame]
            if frame.category is None:
                frame = frame._replace(category=above[-1].category if above else self.category(0, 0))
            result.append(above + (frame,))
        return result

    def parent(self, row):
        stacks = self.shared["stackTable"]
        if self.version < 66:
            return stacks["prefix"][row]
        return row - stacks["prefixOffset"][row] if stacks["prefixOffset"][row] else None

    def category(self, category, subcategory):
        if category is None:
            return None
        row = self.meta["categories"][category]
        names = row["subcategories"]
        return f"{row['name']}: {names[subcategory or 0]}" if len(names) > 1 else row["name"]

    def library(self, frame, func):
        frames, funcs = self.shared["frameTable"], self.shared["funcTable"]
        if self.version >= 70:
            lib = frames["lib"][frame]
        else:
            resource = funcs["resource"][func]
            lib = self.shared["resourceTable"]["lib"][resource] if resource >= 0 else None
        name = None if lib is None or lib < 0 else self.profile["libs"][lib]["name"]
        # The dump of generated code is none that functions would differ by.
        return None if name is None or re.fullmatch(r"jit-\d+[.]dump", name) else name

    def frame(self, row):
        frames, funcs = self.shared["frameTable"], self.shared["funcTable"]
        func = frames["func"][row]
        source = funcs["source"][func]
        file = None if source is None else self.strings[self.shared["sources"]["filename"][source]]
        return Frame(name=self.strings[funcs["name"][func]], lib=self.library(row, func),
                     file=file or None, line=frames["line"][row],
                     address=None if frames["address"][row] < 0 else frames["address"][row],
                     category=self.category(frames["category"][row], frames["subcategory"][row]),
                     inlined=frames["inlineDepth"][row] > 0)

    def marks(self):
        """(name, start, end) of all markers."""
        for thread in self.profile["threads"]:
            for _, name, start, end in self.spans(thread):
                yield name, start, end

    def clock(self, waits=False):
        """Samples of the clock; without those of waits unless they are asked for."""
        for thread in self.profile["threads"]:
            if thread.get("profView") in ("cpu", "event"):
                continue
            for time, weight, frames, cpu in self.samples(thread):
                kind = frames[-1].category.partition(":")[0] if frames else ""
                # The last row may only say what CPU time was used.
                if weight and (waits or kind not in WAITS):
                    yield Sample(thread, time, weight, cpu, frames)
