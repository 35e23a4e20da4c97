#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes small Java flight recordings of every form: make_jfr.py FOLDER.

java*.jfr are the same recording in different encodings. It knows nothing of how prof reads them.
"""

import os
import struct
import sys

START_NS = 1_700_000_000_000_000_000
START_TICKS = 5000
FREQUENCY = 500_000_000  # a tick has 2 ns


class Encoder:
    """Integers, compressed or as of old; sizes padded to a number of bytes."""

    def __init__(self, compressed=True, padding=0):
        self.compressed, self.padding = compressed, padding

    def number(self, value, width=8):
        if not self.compressed:
            return (value & (1 << 8 * width) - 1).to_bytes(width, "big")
        value &= (1 << 64) - 1
        out = bytearray()
        while value >= 128 and len(out) < 8:
            out.append(value & 127 | 128)
            value >>= 7
        out.append(value)
        return bytes(out)

    def int(self, value):
        return self.number(value, 4)

    def sized(self, body):
        """Returns a body after its size, which includes the size itself."""
        if not self.compressed:
            return self.int(len(body) + 4) + body
        width = self.padding or 1
        while len(body) + width >= 1 << 7 * width:
            width += 1
        size = len(body) + width
        return bytes(size >> 7 * i & 127 | (128 if i + 1 < width else 0)
                     for i in range(width)) + body

    def text(self, value, form=None):
        if value is None:
            return b"\0"
        if value == "":
            return b"\1"
        if form == 4:
            units = struct.unpack(f"<{len(value.encode('utf-16-le')) // 2}H",
                                  value.encode("utf-16-le"))
            return b"\4" + self.int(len(units)) + b"".join(self.number(u, 2) for u in units)
        data = value.encode("latin-1" if form == 5 else "utf-8")
        return bytes([form or 3]) + self.int(len(data)) + data


class Constant:
    """A reference to a constant, by its type's name and key."""

    def __init__(self, of, key):
        self.of, self.key = of, key


class Text:
    """A text in a form of its own."""

    def __init__(self, value, form):
        self.value, self.form = value, form


NULL = Constant("", 0)

# Fields: name, type, "ref" or "array" or neither, and an annotation with its value.
TICKS = ("Timestamp", "TICKS")
SPAN = ("Timespan", "TICKS")
START = [("startTime", "long", "", TICKS)]
LASTING = START + [("duration", "long", "", SPAN)]
THREAD = [("eventThread", "java.lang.Thread", "ref", None)]
STACK = [("stackTrace", "jdk.types.StackTrace", "ref", None)]
SAMPLED = START + [("sampledThread", "java.lang.Thread", "ref", None)] + STACK + [
    ("state", "jdk.types.ThreadState", "ref", None)]

PRIMITIVES = ["long", "int", "short", "char", "byte", "boolean", "float", "double",
              "java.lang.String"]
ANNOTATIONS = ["Label", "Timestamp", "Timespan", "DataAmount", "Percentage", "MemoryAddress"]
CONSTANTS = {
    "java.lang.Thread": [("osName", "java.lang.String", "", None), ("osThreadId", "long", "", None),
                         ("javaName", "java.lang.String", "", None),
                         ("javaThreadId", "long", "", None), ("virtual", "boolean", "", None)],
    "java.lang.Class": [("name", "jdk.types.Symbol", "ref", None)],
    "jdk.types.Symbol": [("string", "java.lang.String", "", None)],
    "jdk.types.ThreadState": [("name", "java.lang.String", "", None)],
    "jdk.types.FrameType": [("description", "java.lang.String", "", None)],
    "jdk.types.Method": [("type", "java.lang.Class", "ref", None),
                         ("name", "jdk.types.Symbol", "ref", None),
                         ("descriptor", "jdk.types.Symbol", "ref", None),
                         ("modifiers", "int", "", None)],
    "jdk.types.StackFrame": [("method", "jdk.types.Method", "ref", None),
                             ("lineNumber", "int", "", None), ("bytecodeIndex", "int", "", None),
                             ("type", "jdk.types.FrameType", "ref", None)],
    "jdk.types.StackTrace": [("truncated", "boolean", "", None),
                             ("frames", "jdk.types.StackFrame", "array", None)],
    "jdk.types.Space": [("used", "long", "", ("DataAmount", "BYTES")), ("bytes", "byte", "array", None)],
}
SIMPLE = ["jdk.types.Symbol", "jdk.types.ThreadState", "jdk.types.FrameType"]
EVENTS = {
    "jdk.ExecutionSample": SAMPLED,
    "jdk.NativeMethodSample": SAMPLED,
    "jdk.CPUTimeSample": START + STACK + THREAD + [
        ("failed", "boolean", "", None), ("samplingPeriod", "long", "", SPAN),
        ("biased", "boolean", "", None)],
    "jdk.ObjectAllocationSample": START + THREAD + STACK + [
        ("weight", "long", "", ("DataAmount", "BYTES"))],
    "jdk.ObjectAllocationInNewTLAB": START + THREAD + STACK + [
        ("allocationSize", "long", "", ("DataAmount", "BYTES")),
        ("tlabSize", "long", "", ("DataAmount", "BYTES"))],
    "jdk.JavaMonitorEnter": LASTING + THREAD + STACK + [
        ("monitorClass", "java.lang.Class", "ref", None)],
    "jdk.JavaMonitorWait": LASTING + THREAD + STACK + [
        ("monitorClass", "java.lang.Class", "ref", None)],
    "jdk.ThreadSleep": LASTING + THREAD + STACK + [
        ("time", "long", "", ("Timespan", "MILLISECONDS"))],
    "jdk.GCPhasePause": LASTING + THREAD + [("name", "java.lang.String", "", None)],
    "jdk.CPULoad": START + [(name, "float", "", ("Percentage", None)) for name in
                            ("jvmUser", "jvmSystem", "machineTotal")],
    "jdk.GCHeapSummary": START + [("space", "jdk.types.Space", "", None),
                                  ("heapUsed", "long", "", ("DataAmount", "BYTES"))],
    "jdk.JVMInformation": START + [("pid", "long", "", None),
                                   ("jvmVersion", "java.lang.String", "", None)],
    "jdk.ActiveSetting": START + [("id", "long", "", None), ("name", "java.lang.String", "", None),
                                  ("value", "java.lang.String", "", None)],
    "profiler.WallClockSample": SAMPLED + [("samples", "int", "", None),
                                           ("timeSpan", "long", "", SPAN)],
    "test.Event": LASTING + THREAD + [
        ("type", "java.lang.String", "", None), ("cause", "char", "", None),
        ("number", "short", "", None), ("real", "double", "", None),
        ("until", "long", "", ("Timestamp", "MILLISECONDS_SINCE_EPOCH")),
        ("address", "long", "", ("MemoryAddress", None))],
}


class Chunk:
    def __init__(self, encoder, first_id=100, start_ns=START_NS, generation=0, is_async=False):
        self.e, self.start_ns, self.generation = encoder, start_ns, generation
        names = PRIMITIVES + ["jdk.jfr." + name for name in ANNOTATIONS]
        names += list(CONSTANTS) + list(EVENTS) + (["profiler.LiveObject"] if is_async else [])
        self.ids = {name: first_id + 3 * i for i, name in enumerate(names)}
        self.pools = {}
        self.events = b""

    def value(self, of, kind, value):
        if kind == "ref":
            return self.e.number(value.key)
        if kind == "array":
            return self.e.int(len(value)) + b"".join(self.value(of, "", item) for item in value)
        if of == "java.lang.String":
            if isinstance(value, Constant):
                return b"\2" + self.e.number(value.key)
            if isinstance(value, Text):
                return self.e.text(value.value, value.form)
            return self.e.text(value)
        if of in ("boolean", "byte"):
            return bytes([value & 255])
        if of in ("float", "double"):
            return struct.pack(">f" if of == "float" else ">d", value)
        if of in CONSTANTS:
            return self.members(CONSTANTS[of], value)
        return self.e.number(value, {"long": 8, "int": 4}.get(of, 2))

    def members(self, fields, values):
        assert len(fields) == len(values), (fields, values)
        return b"".join(self.value(of, kind, value)
                        for (_, of, kind, _), value in zip(fields, values))

    def constant(self, of, key, *values):
        body = self.e.text(*values) if of == "java.lang.String" else self.members(
            CONSTANTS[of], values)
        self.pools.setdefault(of, []).append((key, body))
        return Constant(of, key)

    def event(self, name, ms, *values):
        ticks = START_TICKS + int(ms * FREQUENCY / 1000)
        self.events += self.e.sized(self.e.number(self.ids[name]) +
                                    self.members(EVENTS[name], (ticks,) + values))

    def metadata(self):
        strings = []

        def string(text):
            if text not in strings:
                strings.append(text)
            return self.e.int(strings.index(text))

        def element(name, attributes, children=()):
            out = string(name) + self.e.int(len(attributes))
            for key, value in attributes.items():
                out += string(key) + string(str(value))
            return out + self.e.int(len(children)) + b"".join(children)

        def field(name, of, kind, unit):
            attributes = {"name": name, "class": self.ids[of]}
            if kind == "ref":
                attributes["constantPool"] = "true"
            if kind == "array":
                attributes["dimension"] = 1
            children = [element("annotation", {"class": self.ids["jdk.jfr." + unit[0]],
                                               "value": unit[1] or ""})] if unit else []
            return element("field", attributes, children)

        classes = []
        for name, number in self.ids.items():
            attributes = {"id": number, "name": name}
            if name in EVENTS:
                attributes["superType"] = "jdk.jfr.Event"
            if name in SIMPLE:
                attributes["simpleType"] = "true"
            fields = EVENTS.get(name, CONSTANTS.get(name, []))
            classes.append(element("class", attributes, [field(*row) for row in fields]))
        root = element("root", {}, [element("metadata", {}, classes),
                                    element("region", {"locale": "en", "gmtOffset": 0})])
        body = self.e.number(0) + 3 * self.e.number(0) + self.e.int(len(strings))
        return self.e.sized(body + b"".join(self.e.text(text, 4) for text in strings) + root)

    def checkpoint(self, pools, delta):
        body = self.e.number(1) + 2 * self.e.number(0) + self.e.number(delta) + b"\1"
        body += self.e.int(len(pools))
        for name, rows in pools:
            body += self.e.number(self.ids[name]) + self.e.int(len(rows))
            for key, row in rows:
                body += self.e.number(key) + row
        return self.e.sized(body)

    def finish(self, flushed=None):
        """The types stand between two lists of constants, the later of which leads to the other."""
        pools = list(self.pools.items())
        half = len(pools) // 2
        body = self.events
        first = 68 + len(body)
        body += self.checkpoint(pools[:half], 0)
        types = 68 + len(body)
        body += self.metadata()
        last = 68 + len(body)
        body += self.checkpoint(pools[half:], first - last)
        return struct.pack(">4sHHqqqqqqqBBH", b"FLR\0", 2, 1, 68 + len(body), last, types,
                           self.start_ns, 900_000_000, START_TICKS, FREQUENCY, self.generation, 0,
                           1 if self.e.compressed else 0) + body


class Code:
    """Constants of threads, methods and stacks of a chunk."""

    def __init__(self, chunk, base=1):
        self.c, self.next, self.known = chunk, base, {}
        self.types = {}

    def key(self):
        self.next += 1
        return self.next

    def once(self, *what):
        if what not in self.known:
            self.known[what] = self.make(*what)
        return self.known[what]

    def make(self, of, *values):
        return self.c.constant(of, self.key(), *values)

    def symbol(self, text, form=None):
        if text not in self.known:
            value = Text(text, form) if form else text
            self.known[text] = self.c.constant("jdk.types.Symbol", self.key(), value)
        return self.known[text]

    def method(self, of, name, descriptor="()V"):
        key = (of, name, descriptor)
        if key not in self.known:
            owner = self.c.constant("java.lang.Class", self.key(), self.symbol(of)) if of else NULL
            self.known[key] = self.c.constant("jdk.types.Method", self.key(), owner,
                                              self.symbol(name), self.symbol(descriptor), 1)
        return self.known[key]

    def frame_type(self, name):
        if name not in self.types:
            self.types[name] = self.c.constant("jdk.types.FrameType", self.key(), name)
        return self.types[name]

    def stack(self, *frames):
        """Frames, the innermost first: (class, method, line, type, descriptor)."""
        rows = [(self.method(of, name, *more), line, 0, self.frame_type(kind))
                for of, name, line, kind, *more in frames]
        return self.c.constant("jdk.types.StackTrace", self.key(), 0, rows)

    def thread(self, tid, name, java=7, virtual=0):
        return self.c.constant("java.lang.Thread", self.key(), f"os {tid}" if tid else None, tid,
                               name, java, virtual)

    def state(self, name):
        return self.once("jdk.types.ThreadState", name)


def java(encoder, generation=0):
    """All that Java itself records, in all forms of texts."""
    c = Chunk(encoder, generation=generation)
    code = Code(c)
    run = code.state("STATE_RUNNABLE")
    main, worker = code.thread(4712, "main"), code.thread(4713, Text("wörker 中\U0001f600", 4))
    c.constant("java.lang.Thread", 900, None, 0, None, 31, 1)
    virtual = Constant("java.lang.Thread", 900)
    hot = code.stack(("demo/Hot", "spin", 7, "JIT compiled"), ("demo/Hot", "main", 3, "Interpreted"))
    lam = code.stack(("demo/Hot$$Lambda/0x00007f0011223344", "run", -1, "Inlined"),
                     ("java/lang/Thread", "run", 840, "Interpreted"))
    remove = code.stack(("java/lang/Object", "wait", -1, "Native"),
                        ("java/lang/ref/ReferenceQueue", "remove", 155, "Interpreted"),
                        ("java/lang/Thread", "run", 840, "Interpreted"))
    period = c.constant("java.lang.String", 77, "20 ms", 5)
    array = c.constant("java.lang.Class", 901, code.symbol("[[Ljava/lang/String;", 5))

    # The settings and the pid follow the samples.
    c.event("jdk.ExecutionSample", 10, main, hot, run)
    c.event("jdk.ExecutionSample", 30, main, hot, run)
    c.event("jdk.ExecutionSample", 30, worker, lam, run)
    c.event("jdk.ExecutionSample", 20, virtual, lam, run)
    c.event("jdk.NativeMethodSample", 40, worker, hot, run)
    c.event("jdk.ObjectAllocationSample", 41, main, hot, 5_000_000_000)
    c.event("jdk.ObjectAllocationInNewTLAB", 42, main, lam, 24, 1000)
    c.event("jdk.JavaMonitorEnter", 50, 25_000_000, main, hot, array)
    c.event("jdk.ThreadSleep", 130, 20_000_000, worker, lam, -1 << 63)
    c.event("jdk.JavaMonitorWait", 180, 100_000_000, worker, remove, array)
    c.event("jdk.JavaMonitorWait", 400, 15_000_000, worker, lam, array)
    c.event("jdk.GCPhasePause", 200, 1_500_000, NULL, "GC Pause")
    c.event("jdk.CPULoad", 250, 0.25, 0.125, 1.0)
    c.event("jdk.CPULoad", 750, 0.5, 0.125, 0.75)
    c.event("jdk.GCHeapSummary", 300, (11, [1, 2, 3]), 4096)
    c.event("jdk.GCHeapSummary", 400, (12, []), 1024)
    c.event("test.Event", 500, 5_000_000, main, Text("ä", 5), 0xffff, -3, 2.5,
            START_NS // 1_000_000 + 1, 0xdead)
    c.event("test.Event", 400, 0, Constant("java.lang.Thread", 12345), None, 0, 0, 0.0, -1 << 63, 0)
    c.event("jdk.ActiveSetting", 0, c.ids["jdk.ExecutionSample"], "period", period)
    c.event("jdk.JVMInformation", 0, 4711, "demo VM")
    return c.finish()


def later(generation=0):
    """A chunk of the same program with other ids, in which the main thread has a new name."""
    c = Chunk(Encoder(padding=4), first_id=2000, start_ns=START_NS + 1_000_000_000,
              generation=generation)
    code = Code(c)
    stack = code.stack(("demo/Late", "run", 9, "Interpreted"))
    c.event("jdk.JVMInformation", 0, 4711, "demo VM")
    c.event("jdk.ActiveSetting", 0, c.ids["jdk.ExecutionSample"], "period", "40 ms")
    c.event("jdk.ExecutionSample", 10, code.thread(4712, "renamed"), stack,
            code.state("STATE_RUNNABLE"))
    return c.finish()


def cpu_time():
    """Samples of CPU time, each with its own period, are the clock where there are any."""
    c = Chunk(Encoder(padding=4))
    code = Code(c)
    main = code.thread(4712, "main")
    stack = code.stack(("demo/Hot", "spin", 7, "JIT compiled"))
    c.event("jdk.JVMInformation", 0, 4711, "demo VM")
    c.event("jdk.ExecutionSample", 10, main, stack, code.state("STATE_RUNNABLE"))
    for ms, period, failed in ((20, 10, 0), (30, 10, 0), (60, 30, 0), (80, 20, 1)):
        c.event("jdk.CPUTimeSample", ms, NULL if failed else stack, main, failed,
                period * FREQUENCY // 1000, 0)
    return c.finish()


def async_profiler():
    """async-profiler: native functions and those of the kernel, wall-clock samples, padded sizes."""
    c = Chunk(Encoder(padding=5), is_async=True)
    code = Code(c)
    main, run = code.thread(4712, "main"), code.state("STATE_DEFAULT")
    kernel = code.stack((None, "clear_page", 0, "Kernel", "(Lk;)L;"),
                        ("libc.so.6", "memset", 0, "Native", "()L;"),
                        ("demo/Hot", "spin", 7, "JIT compiled"))
    c.event("jdk.JVMInformation", 0, 4711, "demo VM")
    c.event("jdk.ActiveSetting", 0, c.ids["jdk.ExecutionSample"], "interval", "0")
    c.event("jdk.ExecutionSample", 10, main, kernel, run)
    c.event("jdk.ExecutionSample", 20, main, kernel, code.state("STATE_SLEEPING"))
    c.event("profiler.WallClockSample", 0, main, kernel, run, 130, FREQUENCY // 2)
    return c.finish()


def old_wall():
    """async-profiler before 4.0: only a setting says that samples are of wall-clock time."""
    c = Chunk(Encoder(padding=5), is_async=True)
    code = Code(c)
    stack = code.stack(("demo/Hot", "spin", 7, "JIT compiled"))
    c.event("jdk.ActiveSetting", 0, c.ids["jdk.JVMInformation"], "event", "wall")
    c.event("jdk.ActiveSetting", 0, c.ids["jdk.ExecutionSample"], "interval", "5000000")
    c.event("jdk.ExecutionSample", 10, code.thread(4712, "main"), stack,
            code.state("STATE_RUNNABLE"))
    return c.finish()


def files():
    whole = java(Encoder())
    yield "java.jfr", whole
    yield "java-padded.jfr", java(Encoder(padding=4))
    yield "java-wide.jfr", java(Encoder(compressed=False))
    yield "java-unfinished.jfr", java(Encoder(padding=8), generation=4)
    yield "two.jfr", whole + later()
    yield "types.jfr", cpu_time() * 2 + async_profiler() + cpu_time()  # repeats them, brings others, returns to them
    yield "java-cut.jfr", whole + later()[:-1]
    yield "cpu-time.jfr", cpu_time()
    yield "async.jfr", async_profiler()
    yield "old-wall.jfr", old_wall()
    # Errors.
    yield "bad-empty.jfr", whole[:68]
    yield "bad-never-finished.jfr", struct.pack(">4sHHqqqqqqqBBH", b"FLR\0", 2, 0, 1 << 30, 0, 0,
                                                START_NS, 0, 0, 1, 1, 0, 1)
    yield "bad-old.jfr", whole[:5] + b"\1" + whole[6:]
    yield "bad-clock.jfr", whole[:56] + bytes(8) + whole[64:]
    yield "bad-loop.jfr", whole[:16] + whole[24:32] + whole[24:]


def main():
    for name, data in files():
        with open(os.path.join(sys.argv[1], name), "wb") as file:
            file.write(data)


main()
