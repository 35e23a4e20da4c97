#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges stacks of tests/workloads/lua/tree.lua by its tree of calls.

lua_truth.py SOURCE PROFILE [--at-least N] [--say] [--allowed N]
"""
import re

import call_truth

SPIN = {"spin"}
TREE = {
    "main chunk": {"recursing", "sorting", "replacing", "adding", "selecting", "varying", "iterating",
                   "tail_calling", "catching", "evaluating", "wrapping", "nesting", "yielding",
                   "collecting"},
    "recursing": {"recurse"},
    "recurse": {"recurse", "bottom"},
    "bottom": SPIN,
    "sorting": {"by_key"},
    "by_key": {"key"},
    "key": SPIN,
    "replacing": {"replaced"},
    "replaced": SPIN,
    "adding": {"__add", "__lt", "__index", "__call", "__tostring"},
    "__add": {"weigh"},
    "__lt": {"weigh"},
    "__index": {"weigh"},
    "__call": {"weigh"},
    "__tostring": {"weigh"},
    "weigh": SPIN,
    "selecting": {"made", "method", "field"},
    "made": set(),
    "method": SPIN,
    "field": SPIN,
    "varying": {"varied"},
    "varied": SPIN,
    "iterating": {"each", "bottom"},
    "each": SPIN,
    "tail_calling": {"going", "gone"},
    "going": {"gone"},  # for a moment
    "gone": SPIN,
    "catching": {"throwing", "rescued"},
    "throwing": {"handled"} | SPIN,
    "handled": SPIN,
    "rescued": SPIN,
    "evaluating": {"(text)"},
    "(text)": SPIN,
    "wrapping": {"generator"},
    "generator": {"resumed"},
    "resumed": SPIN,
    "nesting": {"nested"},
    "nested": {"generator"},
    "yielding": {"guarding"},
    "guarding": {"guarded"},
    "guarded": {"resumed"},
    "collecting": {"finalizer"},
    "finalizer": SPIN,
    "spin": set(),
}
# Calls that are written by another name; what the line has then.
WRITTEN = {"by_key": "sort", "replaced": "gsub", "(text)": "text", "handled": "error", "gone": "going"}


class Truth(call_truth.CallTruth):
    language, roots, depths = "Lua", {"main chunk"}, [("bottom", "recurse", 40)]
    calls = {caller: dict.fromkeys(callees) for caller, callees in TREE.items()}
    whole_per_cut = 50

    def __init__(self, source):
        super().__init__(source)
        self.defined = {}
        for i, line in enumerate(self.text):
            found = re.match(r"(?:local )?function (?:\w+[.:])?(\w+)\(", line)
            if found:
                self.defined[i + 1] = found[1]

    def name(self, frame):
        """A function's own name.

        The language has none: those that C code has called first show only their place, and an
        object that is called has the variable's name.
        """
        if frame["name"] == "main chunk":
            return "(text)" if frame["file"] == "[string]" else "main chunk"
        line = max((at for at in self.defined if at <= (frame["line"] or 0)), default=0)
        if frame["name"] == f"function <tree.lua:{line}>":
            return self.defined[line]
        if frame["name"] == "going":  # seen at the instruction that makes it another
            return self.defined.get(line, "going")
        return "__call" if frame["name"] == "one" else frame["name"]

    def judge_line(self, caller, callee, frames):
        self.figures["lines"] += 1
        name, line = self.name(caller), caller["line"]
        text = self.text[line - 1] if line and line <= len(self.text) else ""
        if name == "(text)":
            if line != 1:
                self.note("wrong_lines", f"line {line} of the text calls {callee}", frames)
        elif callee not in text and WRITTEN.get(callee, "?") not in text:
            self.note("wrong_lines", f"line {line} of {name} calls {callee}", frames)

    def is_own(self, frame):
        return True

    def judge_depths(self, names, frames):
        if "iterating" not in names:
            super().judge_depths(names, frames)


if __name__ == "__main__":
    call_truth.run(Truth)
