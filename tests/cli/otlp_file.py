#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes files of OpenTelemetry's profiles: otlp_file.py NAME FILE. NAME: one of FILES below."""

import struct
import sys

from pprof_file import Writer, field, varint

START = 1_700_000_000_000_000_000


def fixed(number, value):
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def numbers(values):
    return b"".join(map(varint, values))


def value(what):
    return field(1, what.encode()) if isinstance(what, str) else field(3, what)


class Message(Writer):
    """Row 0 of each table is empty. A place of a stack is "function file:line" or (mapping, address)."""

    def __init__(self):
        super().__init__()
        self.tables = {number: [b""] for number in (1, 2, 3, 4, 6, 7)}

    def row(self, table, content):
        rows = self.tables[table]
        if content not in rows:
            rows.append(content)
        return rows.index(content)

    def attribute(self, key, what, unit=""):
        return self.row(6, field(1, self.text(key)) + field(2, value(what)) + field(3, self.text(unit)))

    def location(self, place):
        if isinstance(place, tuple):
            build_id = self.attribute("process.executable.build_id.gnu", "0123456789abcdef")
            mapping = self.row(1, field(1, 0x1000) + field(2, 0x9000) + field(3, 0x400) +
                               field(4, self.text(place[0])) + field(5, varint(build_id)))
            return self.row(2, field(1, mapping) + field(2, place[1]))
        lines = b""
        for one in place.split(">"):
            name, at = one.split()
            file, line = at.split(":")
            function = self.row(3, field(1, self.text(name)) + field(3, self.text(file)))
            lines += field(3, field(1, function) + field(2, int(line)))
        kernel = self.attribute("profile.frame.type", "kernel") if name.startswith("sys_") else 0
        return self.row(2, lines + field(4, varint(kernel)))

    def sample(self, stack, values=(), times=(), attributes=(), link=0):
        out = field(1, self.row(7, field(1, numbers(map(self.location, stack)))))
        out += field(2, numbers(self.attribute(*a) for a in attributes)) + field(3, link)
        return out + field(4, numbers(values)) + field(5, b"".join(struct.pack("<Q", START + t) for t in times))

    def profile(self, kind, samples, period=0, period_type="", duration=0):
        out = field(1, self.type(kind)) + b"".join(field(2, sample) for sample in samples)
        out += fixed(3, START) + field(4, duration)
        return field(2, out + (field(5, self.type(period_type)) if period_type else b"") + field(6, period))

    def message(self, resources):
        """Lists attributes of a resource, and its profiles. The dictionary comes last."""
        out = b""
        for attributes, profiles in resources:
            pairs = b"".join(field(1, field(1, key.encode()) + field(2, value(what))) for key, what in attributes)
            out += field(1, field(1, pairs) + field(2, b"".join(profiles)))
        dictionary = b"".join(field(table, row) for table, rows in self.tables.items() for row in rows)
        return out + field(2, dictionary + b"".join(field(5, text.encode()) for text in self.strings))


def host(number):
    """Makes what a profiler of a host sends: times, threads, CPUs, a trace, and waits by their length."""
    m = Message()
    link = m.row(4, field(1, bytes(range(1, 17))) + field(2, bytes(range(1, 9))))
    main = [("thread.name", "main"), ("thread.id", 11), ("cpu.logical_number", 3)]
    other = [("thread.name", "other"), ("thread.id", 12), ("request", "alpha"), ("size", 512, "bytes")]
    ms = 1_000_000
    samples = [m.sample(["leaf a.c:3>work a.c:7", ("/bin/app", 0x1234)], times=[50 * ms, 150 * ms], attributes=main),
               m.sample(["sys_read k.c:1", ("/bin/app", 0x1234)], times=[100 * ms], attributes=other, link=link)]
    waits = [m.sample(["sys_wait k.c:2"], [7 * ms, 8 * ms], [60 * ms, 160 * ms], other)]
    app = [("process.pid", 11), ("process.executable.name", "app"), ("service.name", "shop, west"), ("k8s.pod.name", "p")]
    box = [("container.id", "c0ffee"), ("service.name", "")]
    return m.message([
        (app, [m.profile("samples/count", samples, 50 * ms, "cpu/nanoseconds", 200 * ms),
               m.profile("off_cpu/nanoseconds", waits, duration=200 * ms)]),
        (box, [m.profile("samples/count", [m.sample(["box b.c:1"], times=[(20 + number) * ms])], 50 * ms,
                         "cpu/nanoseconds", 200 * ms)])])


def sums():
    """Makes what a profiler of a process sends: sums without times."""
    m = Message()
    samples = [m.sample(["run A.java:1"], [30_000_000], attributes=[("thread.name", "[main tid=5]")]),
               m.sample(["idle A.java:2"], [10_000_000], attributes=[("thread.name", "[tid=6]")])]
    return m.message([([], [m.profile("cpu/ns", samples, 10_000_000, "cpu/ns", 50_000_000)])])


def heap():
    m = Message()
    samples = [m.sample(["byte[]_[i] A.java:0", "run A.java:1"], [3 << 20]), m.sample(["other A.java:2"], [1 << 20])]
    return m.message([([("service.name", "shop")], [m.profile("alloc/bytes", samples, 1 << 19, "alloc/bytes", 3_000_000_000)])])


def old():
    """A draft had the samples' locations in field 3 of a profile."""
    m = Message()
    return field(1, field(2, field(2, field(1, m.type("samples/count")) + field(3, numbers([1]))))) + \
        field(2, field(5, b"") + field(5, b"samples"))


def several():
    return b"".join(struct.pack(">I", len(one)) + one for one in (host(0), host(5)))


FILES = {"host": lambda: host(0), "several": several, "sums": sums, "heap": heap, "old": old}

if __name__ == "__main__":
    with open(sys.argv[2], "wb") as file:
        file.write(FILES[sys.argv[1]]())
