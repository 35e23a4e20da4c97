#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares a profile of a program in tests/workloads/java with what calls what there.

    java_truth.py SOURCE PROFILE [--at-least N] [--allowed N] [--complete] [--say]

In each sample, the program's own methods must be a path of its tree of calls, methods of the library
between two of them must be of the package that the call goes through, recursion must be as deep as
it is, and the line of a caller must name what it calls. Frames that are marked as uncertain are judged
apart, as "uncertain_wrong". Prints figures as JSON, then violations.
"""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import call_truth  # noqa: E402

# caller: {callee: packages of the library between both; empty: none is allowed}
PLAIN = ()
REFLECTION = ("java.lang.reflect", "jdk.internal.reflect", "java.lang.invoke", "sun.invoke", "Tree$$Lambda")
STREAMS = ("java.util", "Tree$$Lambda", "java.lang.invoke", "java.lang")
TREE = {
    "main": {"work": PLAIN, "lambda$main": STREAMS},
    "lambda$main": {"work": PLAIN},
    "work": {"scene": PLAIN, "lambda$static": ("java.lang", "Tree$$Lambda")},
    "lambda$static": {},
    "scene": dict.fromkeys(["recursing", "counting", "sorting", "streaming", "reflecting", "handling",
                            "throwing", "formatting", "allocating", "dispatching", "locking", "copying",
                            "loading"], PLAIN),
    "recursing": {"recurse": PLAIN},
    "recurse": {"recurse": PLAIN, "bottom": PLAIN},
    "bottom": {"spin": PLAIN},
    "counting": {"fib": PLAIN},
    "fib": {"fib": PLAIN},
    "sorting": {"compare": ("java.util", "Tree$$Lambda", "java.lang.invoke")},
    "compare": {"spin": PLAIN},
    "streaming": {"mapped": STREAMS},
    "mapped": {"spin": PLAIN},
    "reflecting": {"reflected": REFLECTION},
    "reflected": {"spin": PLAIN},
    "handling": {"handled": REFLECTION},
    "handled": {"spin": PLAIN},
    "throwing": {"thrower": PLAIN},
    "thrower": {"thrower": PLAIN, "spin": PLAIN, "Broken.<init>": PLAIN},
    "Broken.<init>": {},
    "formatting": {},
    "allocating": {},
    "dispatching": {"Square.area": PLAIN, "Disc.area": PLAIN},
    "Square.area": {"Square.side": PLAIN, "Cube.side": PLAIN},
    "Square.side": {"spin": PLAIN},
    "Cube.side": {"spin": PLAIN},
    "Disc.area": {"spin": PLAIN},
    "locking": {"inner": PLAIN},
    "inner": {"spin": PLAIN},
    "copying": {},
    "loading": {"Fresh.<clinit>": ("java.lang",), "Loader.<init>": PLAIN, "Loader.loadClass": ("java.lang",)},
    "Loader.<init>": {},
    "Loader.loadClass": {"Loader.findClass": PLAIN, "Loader.loadClass": ("java.lang",)},
    "Loader.findClass": {"Loader.loadClass": ("java.lang",)},
    "Fresh.<clinit>": {"initialized": PLAIN, "Loader.loadClass": PLAIN},
    "initialized": {"spin": PLAIN},
    "spin": {},
}
QUEUES = ("java.util", "Mill$$Lambda", "java.lang.invoke")
FUTURES = ("java.util.concurrent", "java.lang", "Mill$$Lambda")
MILL = {
    "main": {"turn": PLAIN, "lambda$main": STREAMS},
    "lambda$main": {"turn": PLAIN},
    "turn": {"round": PLAIN},
    "<clinit>": {"compose": PLAIN, "grow": PLAIN},
    "compose": {"compose": PLAIN},
    "grow": {"grow": PLAIN, "Pair.<init>": PLAIN, "Leaf.<init>": PLAIN},
    "Pair.<init>": {"Node.<init>": PLAIN},
    "Leaf.<init>": {"Node.<init>": PLAIN},
    "Node.<init>": {},
    "round": dict.fromkeys(["visiting", "queueing", "hashing", "stepping", "matching", "composing",
                            "factorial", "grouping", "awaiting", "guarding", "unwinding"], PLAIN),
    "visiting": {"Pair.accept": PLAIN, "Grinder.<init>": PLAIN},
    "Grinder.<init>": {},
    "Pair.accept": {"Visitor.pair": PLAIN},
    "Visitor.pair": {"Pair.accept": PLAIN, "Leaf.accept": PLAIN},
    "Leaf.accept": {"Grinder.leaf": PLAIN},
    "Grinder.leaf": {"grind": PLAIN},
    "queueing": {"Weighed.order": QUEUES, "Weighed.<init>": PLAIN},
    "Weighed.<init>": {},
    "Weighed.order": {"grind": PLAIN},
    "hashing": {"Weighed.hashCode": QUEUES, "Weighed.equals": QUEUES, "Weighed.<init>": PLAIN},
    "Weighed.hashCode": {"grind": PLAIN},
    "Weighed.equals": {},
    "stepping": {"Steps$1.next": PLAIN, "Steps$1.hasNext": PLAIN, "Steps.iterator": PLAIN, "Steps.<init>": PLAIN},
    "Steps.iterator": {"Steps$1.<init>": PLAIN},
    "Steps$1.<init>": {},
    "Steps.<init>": {},
    "Steps$1.hasNext": {},
    "Steps$1.next": {"Steps$1.next": PLAIN, "grind": PLAIN},
    "matching": {"shout": QUEUES},
    "shout": {"grind": PLAIN},
    "composing": {"lambda$compose": ("Mill$$Lambda",)},
    "lambda$compose": {"lambda$compose": ("Mill$$Lambda",), "grind": PLAIN},
    "factorial": {},
    "grouping": {"group": STREAMS + ("Mill$$Lambda",)},
    "group": {"grind": PLAIN},
    "awaiting": {"refined": FUTURES, "lambda$static": FUTURES},
    "fetched": {"grind": PLAIN},
    "refined": {"grind": PLAIN},
    "guarding": {"guarded": PLAIN},
    "guarded": {"grind": PLAIN},
    "unwinding": {"cascade": PLAIN},
    "cascade": {"cascade": PLAIN, "grind": PLAIN},
    "lambda$static": {},
    "grind": {},
}
CALLS = {"Tree": TREE, "Mill": MILL}
# A method, another one, and how often that is in stacks with both.
DEPTHS = {"Tree": [("bottom", "recurse", 60), ("spin", "thrower", 20)],
          "Mill": [("Grinder.leaf", "Visitor.pair", 6), ("grind", "lambda$compose", 13)]}
# The JVM makes these calls itself, from any line.
UNWRITTEN = {("Fresh.<clinit>", "Loader.loadClass"), ("stepping", "Steps$1.next"),
             ("stepping", "Steps$1.hasNext"), ("stepping", "Steps.iterator"),
             ("Steps$1.next", "Steps$1.next")}
ROOTS = {"main", "lambda$main", "<clinit>", "lambda$static", "fetched", "refined"}
# Native frames and the JVM's own code lie between any two.
LANGUAGE = "Java"


class Truth(call_truth.CallTruth):
    language, whole_per_cut = LANGUAGE, 50

    def __init__(self, source):
        super().__init__(source)
        self.program = os.path.basename(source).removesuffix(".java")
        self.calls = CALLS[self.program]
        self.is_uncertain = False  # calls that are judged

    def own_name(self, name):
        """The method's name in the tree of calls; None: it is none of the program's own."""
        if not re.match(self.program + r"\b", name) or name.startswith(self.program + "$$Lambda"):
            return None
        own = name[len(self.program) + 1:].split("(")[0]
        return re.sub(r"^lambda\$(\w+)\$\d+$", r"lambda$\1", own)

    def judge_line(self, caller, callee, frames):
        """A direct call is on a line with the name of the callee."""
        key = callee.split(".")[-1]
        if key in ("<init>", "<clinit>"):
            return
        line = caller["line"]
        if not line:
            self.figures["lineless"] += 1
            return
        self.figures["lines"] += 1
        if line > len(self.text) or key not in self.text[line - 1]:
            self.note("wrong_lines", f"line {line} of {caller['name']} calls {callee}", frames)

    def note(self, figure, what, frames):
        """A violation, but where the profile itself says that frames are uncertain."""
        if self.is_uncertain:
            self.figures["uncertain_wrong"] += 1
        else:
            super().note(figure, what, frames)

    def judge_edge(self, outer, inner, between, frames):
        self.is_uncertain = any(f["subcategory"] == "Uncertain" for f in (outer, *between, inner))
        self.figures["uncertain"] += self.is_uncertain
        caller, callee = self.own_name(outer["name"]), self.own_name(inner["name"])
        self.figures["edges"] += 1
        packages = self.calls.get(caller, {}).get(callee)
        if packages is None and any(f["subcategory"] in ("C1", "C2") and not f["line"]
                                    for f in (outer, *between)):
            # Inlined methods could not be read in time.
            self.figures["incomplete"] += 1
            return
        if packages is None:
            self.note("wrong_edges", f"{caller} does not call {callee}", frames)
            return
        self.edges[caller, callee] += 1
        for frame in between:
            if not any(frame["name"].startswith(package) for package in packages):
                self.note("wrong_packages", f"{frame['name']} between {caller} and {callee}", frames)
                return
        if not between and (caller, callee) not in UNWRITTEN:
            self.judge_line(outer, callee, frames)

    def judge_depth(self, own, frames):
        if any(f["subcategory"] in ("C1", "C2") and not f["line"] for f in frames):
            return
        names = [self.own_name(f["name"]) for f in own]
        for leaf, name, depth in DEPTHS[self.program]:
            count = names.count(name)
            if leaf not in names or count in (0, depth):
                continue
            certain = sum(f["subcategory"] != "Uncertain" for f, each in zip(own, names) if each == name)
            self.is_uncertain = certain <= depth and any(f["subcategory"] == "Uncertain" for f in own)
            self.note("wrong_depths", f"{count} times {name}", frames)

    def judge(self, frames):
        java = [f for f in frames if f["category"] == LANGUAGE and f["subcategory"] != "Stub"]
        own = [(i, f) for i, f in enumerate(java) if self.own_name(f["name"])]
        self.figures["samples"] += 1
        if not own:
            self.figures["others"] += 1
            return
        if self.is_cut(java, frames):
            self.figures["not_whole"] += 1
            return
        self.figures["judged"] += 1
        root = self.own_name(own[0][1]["name"])
        self.is_uncertain = False
        if root not in ROOTS:
            self.note("wrong_roots", f"root {root}", frames)
        for (i, outer), (j, inner) in zip(own, own[1:]):
            self.judge_edge(outer, inner, java[i + 1:j], frames)
        self.judge_depth([f for _, f in own], frames)


def main():
    parser = call_truth.arguments()
    parser.add_argument("--complete", action="store_true", help="inlined methods and lines, too")
    args = parser.parse_args()
    truth = Truth(args.source)
    call_truth.judge_profile(truth, args)
    lacking = truth.figures["incomplete"] + truth.figures["lineless"]
    if args.complete and lacking * 50 > truth.figures["edges"]:
        sys.exit(f"{lacking} calls lack methods or lines")
    call_truth.finish(truth, args)


if __name__ == "__main__":
    main()
