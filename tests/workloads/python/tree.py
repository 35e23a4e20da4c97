#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program that goes through native code in both directions, and knows its tree of calls.

    tree.py SECONDS [SCENE...]      runs the scenes in turn for about that CPU time; prints the CPU
                                    time in ms that each has used, as JSON
    tree.py --tree FILE [SCENE...]  writes the tree of all calls, as the interpreter reports them

All paths of calls are the same in each round, so the second tells what profiles of the first may
contain: tests/python_truth.py.
"""

import asyncio
import functools
import gc
import json
import os
import re
import sys
import threading
import time
import weakref

try:
    import greenlet
except ImportError:
    greenlet = None
try:
    import ctypes
except ImportError:
    ctypes = None


def spin(n):
    total = 0
    for i in range(5 * n):
        if i & 1:
            total += i
        else:
            total -= 1
    return total


def call(function, *args, **kwargs):
    return function(*args, **kwargs)


# Functions that call each other.


def even(n):
    spin(150)
    return odd(n - 1) if n else spin(300)


def odd(n):
    spin(150)
    return even(n - 1)


def recursion():
    even(10)


# Callbacks of C functions.


def sort_key(x):
    spin(200)
    return -x


def sort():
    sorted(range(8), key=sort_key)
    [3, 1, 2].sort(key=lambda x: spin(200))


def substitute():
    def replaced(match):
        spin(300)
        return match.group().upper()

    def twice(match):
        return re.sub("b", replaced, match.group())

    re.sub("[ab]+", twice, "abba cdc bab")


def add(a, b):
    spin(200)
    return a + b


def fold():
    functools.reduce(add, range(6))
    list(map(add, range(4), range(4)))
    list(filter(lambda x: spin(200), range(4)))
    functools.partial(add, 1)(2)
    max(range(4), key=sort_key)


@functools.lru_cache(maxsize=None)
def cached(n):
    spin(200)
    return cached(n - 1) if n else 0


def caches():
    cached.cache_clear()
    cached(8)


def hook(pairs):
    spin(200)
    return pairs


def parse():
    json.loads('{"a": {"b": {}}, "c": {"d": 1}}', object_hook=hook)


def compare(a, b):
    spin(200)
    return a[0] - b[0]


def foreign():
    pointer = ctypes.POINTER(ctypes.c_int)
    numbers = (ctypes.c_int * 4)(3, 1, 4, 2)
    callback = ctypes.CFUNCTYPE(ctypes.c_int, pointer, pointer)(compare)
    ctypes.CDLL(None).qsort(numbers, 4, ctypes.sizeof(ctypes.c_int), callback)


# Methods that the interpreter calls by itself.


class Special:
    def __init__(self, value):
        self.value = value
        spin(200)

    def __del__(self):
        spin(300)

    def __lt__(self, other):
        spin(200)
        return self.value < other.value

    def __hash__(self):
        spin(200)
        return self.value

    def __eq__(self, other):
        return spin(200) > 0 and self.value == other.value

    def __getattr__(self, name):
        spin(200)
        return name

    def __enter__(self):
        spin(200)
        return self

    def __exit__(self, *args):
        spin(200)

    @property
    def size(self):
        spin(200)
        return 1


class Derived(Special):
    def __init__(self, value):
        super().__init__(value)


def specials():
    # Not in variables: the tracer keeps their values alive.
    box = [Derived(2), Special(1)]
    sorted(box)
    {box[0]: 1, box[1]: 2}.get(box[0])
    box[1].missing
    box[1].size
    with box[0]:
        spin(100)
    weak = weakref.ref(box[1], lambda gone: spin(200))
    box.clear()
    return weak


# Frames that are left and entered again.


def numbers(n):
    for i in range(n):
        spin(200)
        yield i


def chained(n):
    yield from numbers(n)
    for x in numbers(n):
        yield x


def generators():
    sum(chained(3))
    for _ in chained(3):
        spin(100)
    list(x for x in numbers(3) if spin(100))
    next(zip(numbers(2), numbers(2)))
    closing = numbers(2)
    next(closing)
    closing.close()


def comprehensions():
    [spin(200) for _ in range(4)]
    {spin(200): [spin(100) for _ in range(2)] for _ in range(2)}
    call(call, spin, n=200)
    call(lambda *args: add(*args), 1, 2)


async def step(n):
    spin(300)
    await asyncio.sleep(0)
    return n


async def steps():
    for i in range(3):
        await step(i)


async def both():
    await asyncio.wait([asyncio.ensure_future(steps()), asyncio.ensure_future(steps())])
    async for n in ticks(2):
        await step(n)


async def ticks(n):
    for i in range(n):
        spin(200)
        yield i
        await asyncio.sleep(0)


def coroutines():
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(both())
    finally:
        loop.close()


# Code that does not stay.


MADE = """{blank}def made_{n}(x):
    spin(200)
    return x

def outer_{n}():
    return sorted([1, 2], key=made_{n})
"""


def made():
    for n in range(12):
        names = {"spin": spin}
        exec(compile(MADE.format(n=n, blank="\n" * n), f"<made {n}>", "exec"), names)
        names[f"outer_{n}"]()


# Native code at the leaf.


BIG = 7 ** 9000


def native():
    sum(range(20000))
    BIG * BIG
    "a".join(map(str, range(2000)))


def busy(name):
    for _ in range(3):
        spin(400)
        sort()


def threads():
    workers = [threading.Thread(target=busy, args=(n,)) for n in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def child():
    for _ in range(5):
        spin(500)
        sort()


def fork():
    pid = os.fork()
    if not pid:
        child()
        finish_child()
        os._exit(0)
    os.waitpid(pid, 0)
    adopt_child(pid)


def ping(other):
    for _ in range(3):
        spin(300)
        other[0].switch()
        sorted([2, 1], key=sort_key)


def greenlets():
    pair = []
    first = greenlet.greenlet(lambda: ping([second]))
    second = greenlet.greenlet(lambda: ping([first]))
    pair.append(second)
    first.switch()
    second.switch()
    first.switch()
    list(map(lambda g: g.switch() if not g.dead else None, [first, second]))


SCENES = [recursion, sort, substitute, fold, caches, parse, specials, generators,
          comprehensions, coroutines, made, native, threads, fork]
if ctypes:
    SCENES.append(foreign)
if greenlet:
    SCENES.append(greenlets)


# The tree of calls.


class Tree:
    """Nodes: [parent, line of the caller, name, file, first line, C function between or None]."""

    def __init__(self, path):
        self.path = path
        self.nodes = []
        self.index = {}
        self.lines = {}
        self.makers = {}  # functions whose call only makes an object that runs later
        self.native = {}  # C functions that a thread runs, [(caller's frame, name)]

    def node(self, frame, between=None):
        if frame is None:
            return -1
        code, caller = frame.f_code, frame.f_back
        name = getattr(code, "co_qualname", code.co_name)
        key = (self.node(caller), caller.f_lineno if caller else 0, name, code.co_filename,
               code.co_firstlineno, between)
        if between is None and caller:
            # Frames further out: the same call as when it was entered.
            for row in self.index.get(key[:5], ()):
                return row
        rows = self.index.setdefault(key[:5], [])
        for row in rows:
            if self.nodes[row][5] == between:
                return row
        self.nodes.append(list(key))
        rows.append(len(self.nodes) - 1)
        self.add_lines(code, name)
        return rows[-1]

    def add_lines(self, code, name):
        key = f"{code.co_filename}:{code.co_firstlineno}:{name}"
        if key in self.lines:
            return
        if hasattr(code, "co_lines"):
            found = {line or 0 for _, _, line in code.co_lines()}
        else:
            import dis
            found = {line for _, line in dis.findlinestarts(code)}
        # 0: some code has no line.
        self.lines[key] = sorted(found | {code.co_firstlineno})
        # Generators, coroutines and asynchronous generators.
        if code.co_flags & (0x20 | 0x80 | 0x200):
            self.makers[key] = True

    def trace(self, frame, event, arg):
        if frame.f_code.co_filename == __file__ and frame.f_code.co_name in IGNORED:
            return
        stack = self.native.setdefault(threading.get_ident(), [])
        if event == "c_call":
            stack.append((frame, getattr(arg, "__qualname__", str(arg))))
        elif event in ("c_return", "c_exception"):
            if stack and stack[-1][0] is frame:
                stack.pop()
        elif event == "call":
            between = stack[-1][1] if stack and stack[-1][0] is frame.f_back else None
            self.node(frame, between)

    def write(self, path):
        with open(path, "w") as file:
            json.dump({"version": list(sys.version_info[:3]), "file": __file__,
                       "nodes": self.nodes, "lines": self.lines,
                       "makers": self.makers}, file)

    def adopt(self, pid):
        """Takes the nodes of a child's tree, which began with those of this one."""
        path = f"{self.path}.{pid}"
        with open(path) as file:
            child_tree = json.load(file)
        os.unlink(path)
        rows = {-1: -1}
        for at, node in enumerate(child_tree["nodes"]):
            key = (rows[node[0]], *node[1:5])
            same = [row for row in self.index.get(key, ()) if self.nodes[row][5] == node[5]]
            if not same:
                self.nodes.append([rows[node[0]], *node[1:]])
                same = [len(self.nodes) - 1]
                self.index.setdefault(key, []).append(same[0])
            rows[at] = same[0]
        self.lines.update(child_tree["lines"])
        self.makers.update(child_tree["makers"])


IGNORED = ("finish_child", "adopt_child", "trace", "node", "write", "adopt", "add_lines")
tree = None


def finish_child():
    if tree:
        sys.setprofile(None)
        tree.write(f"{tree.path}.{os.getpid()}")


def adopt_child(pid):
    if tree:
        sys.setprofile(None)
        tree.adopt(pid)
        sys.setprofile(tree.trace)


def run(scene):
    before = time.process_time() + sum(os.times()[2:4])
    scene()
    return 1000 * (time.process_time() + sum(os.times()[2:4]) - before)


def main(seconds, scenes):
    spent = {scene.__name__: 0 for scene in scenes}
    end = time.process_time() + sum(os.times()[2:4]) + seconds
    rounds = 0
    while rounds < 1 or time.process_time() + sum(os.times()[2:4]) < end:
        for scene in scenes:
            spent[scene.__name__] += run(scene)
        rounds += 1
        if tree and rounds == 3:
            break
    return rounds, spent


def begin():
    global tree
    # A collection could call __del__ anywhere.
    gc.disable()
    args = sys.argv[1:]
    if args[0] == "--tree":
        tree = Tree(args[1])
        args[:2] = ["1000"]
        threading.setprofile(tree.trace)
        sys.setprofile(tree.trace)
    scenes = [scene for scene in SCENES if not args[1:] or scene.__name__ in args[1:]]
    rounds, spent = main(float(args[0]), scenes)
    sys.setprofile(None)
    threading.setprofile(None)
    if tree:
        tree.write(tree.path)
    else:
        print(json.dumps({"rounds": rounds, "ms": spent}))


if __name__ == "__main__":
    begin()
