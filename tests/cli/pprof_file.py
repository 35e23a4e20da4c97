#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes pprof files, and shows what is in one.

    pprof_file.py make NAME FILE    NAME: one of FILES below
    pprof_file.py show FILE         a line for each field and sample, sorted
    pprof_file.py mappings FILE     a line for each mapping, in order: range, offset, file, known parts
"""

import collections
import gzip
import sys


def varint(number):
    number &= (1 << 64) - 1
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


class Writer:
    def __init__(self):
        self.strings = [""]

    def text(self, text):
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def type(self, both):
        name, unit = both.split("/")
        return field(1, self.text(name)) + field(2, self.text(unit))

    def label(self, key, value):
        out = field(1, self.text(key))
        if isinstance(value, str):
            return out + field(2, self.text(value))
        number, unit = value if isinstance(value, tuple) else (value, "")
        return out + field(3, number) + (field(4, self.text(unit)) if unit else b"")

    def profile(self, types, samples, period=0, period_type="", default="", duration=0, drop="", keep="",
                comments=(), doc_url="", files=None, mapping=(0x1000, 0x9000, 0)):
        """A place of a stack is a function, or "inlined>its caller", or "?" and anything: code without a name."""
        places = sorted({place for stack, _, _ in samples for place in stack})
        functions = sorted({f for place in places if place[0] != "?" for f in place.split(">")})
        out = b"".join(field(1, self.type(t)) for t in types)
        for stack, values, labels in samples:
            out += field(2, field(1, b"".join(varint(1 + places.index(f)) for f in stack)) +
                         field(2, b"".join(map(varint, values))) +
                         b"".join(field(3, self.label(*label)) for label in labels))
        start, limit, offset = mapping
        out += field(3, field(1, 1) + field(2, start) + field(3, limit) + field(4, offset) +
                     field(5, self.text("/bin/app")) + field(7, 1))
        for number, place in enumerate(places, 1):
            lines = [1 + functions.index(f) for f in place.split(">") if f in functions]
            out += field(4, field(1, number) + field(2, 1) + field(3, start + 16 * number) +
                         b"".join(field(4, field(1, line) + field(2, 10 + line)) for line in lines))
        for number, name in enumerate(functions, 1):
            out += field(5, field(1, number) + field(2, self.text(name)) +
                         field(4, self.text((files or {}).get(name, "a.c"))) + field(5, number))
        if drop:
            out += field(7, self.text(drop))
        if keep:
            out += field(8, self.text(keep))
        if duration:
            out += field(10, duration)
        if period_type:
            out += field(11, self.type(period_type)) + field(12, period)
        for comment in comments:
            out += field(13, self.text(comment))
        if default:
            out += field(14, self.text(default))
        if doc_url:
            out += field(15, self.text(doc_url))
        return out + b"".join(field(6, text.encode()) for text in self.strings)


HEAP = ["alloc_objects/count", "alloc_space/bytes", "inuse_objects/count", "inuse_space/bytes"]
CPU = ["samples/count", "cpu/nanoseconds"]
MEMORY = {"period": 524288, "period_type": "space/bytes"}


def heap(leaky):
    return [(["steady", "main"], [100, 12_000_000, 80, 10_000_000], [("bytes", 4096)]),
            (["leaky", "main"], [9, leaky + 1_000_000, 9, leaky], [("bytes", (65536, "bytes"))]),
            (["churn", "main"], [90_000, 900_000_000, 0, 0], [("bytes", 16)])]


FILES = {
    # No default: the last type.
    "heap": lambda: Writer().profile(HEAP, heap(5_000_000), **MEMORY),
    "heap-later": lambda: Writer().profile(HEAP, heap(30_000_000), **MEMORY),
    "allocs": lambda: Writer().profile(HEAP, heap(5_000_000), default="alloc_space", **MEMORY),
    "delays": lambda: Writer().profile(
        ["contentions/count", "delay/nanoseconds"],
        [(["lock", "main"], [90, 1_500_000], []), (["wait", "main"], [10, 98_500_000], [])],
        period=1, period_type="contentions/count"),
    "micro": lambda: Writer().profile(["wait/\u03bcs"], [(["wait", "main"], [98_500], [])]),
    "counts": lambda: Writer().profile(
        ["samples/count"], [(["a", "main"], [50], []), (["b", "main"], [50], [])], period=1, period_type="samples/count"),
    # The clock as time alone, and as samples alone.
    "cpu-time": lambda: Writer().profile(
        ["cpu/nanoseconds"], [(["a", "main"], [20_000_000], []), (["b", "main"], [60_000_000], [])],
        period=10_000_000, period_type="cpu/nanoseconds"),
    "cpu-samples": lambda: Writer().profile(
        ["samples/count"], [(["a", "main"], [2], []), (["b", "main"], [6], [])],
        period=10_000_000, period_type="cpu/nanoseconds", duration=90_000_000),
    "labels": lambda: Writer().profile(
        CPU,
        [(["a", "main"], [5, 50_000_000], [("request", "alpha"), ("size", (512, "bytes"))]),
         (["a", "main"], [8, 80_000_000], [("request", "beta"), ("span_id", "123"), ("negative", -7)]),
         (["b", "main"], [2, 20_000_000], [("pid", 7), ("tid", 9), ("thread", "pool")]),
         (["b", "main"], [3, 30_000_000], [("pid", "77"), ("comm", "nginx"), ("thread id", 5)]),
         (["b", "main"], [1, 10_000_000], [("thread", "all")])],
        period=10_000_000, period_type="cpu/nanoseconds", duration=150_000_000, comments=["app -x", "second"],
        doc_url="https://example.org/doc", drop="never", keep="ever"),
    # Samples in a row with the same labels, and one with them later.
    "runs": lambda: Writer().profile(
        CPU,
        [([name, "main"], [1, 10_000_000], [("request", request), ("size", 512)])
         for name, request in (("a", "alpha"), ("b", "alpha"), ("c", "beta"), ("d", "alpha"))],
        period=10_000_000, period_type="cpu/nanoseconds"),
    "drop": lambda: Writer().profile(
        ["objects/count", "space/bytes"],
        [(["malloc(unsigned long)", "operator new", "parse", "main"], [10, 1000], []),
         (["malloc(unsigned long)", "operator new", "index", "main"], [5, 9000], []),
         (["copy", "malloc_keep", "main"], [1, 1], []),
         (["malloc"], [2, 2], [])],
        default="space", drop="malloc.*|operator new", keep="malloc_keep"),
    # A wrapper by which main calls a method, and one into which another method is inlined.
    "go": lambda: Writer().profile(
        CPU,
        [(["main.T.get.abi0", "main.(*T).get", "main.main"], [3, 30_000_000], []),
         (["main.(*T).get", "main.main"], [1, 10_000_000], []),
         (["main.T.put>main.(*T).put", "main.main"], [2, 20_000_000], []),
         (["main.work", "main.run.deferwrap1", "main.run", "main.main"], [4, 40_000_000], []),
         (["main.(*T).put"], [5, 50_000_000], [])],
        period=10_000_000, period_type="cpu/nanoseconds", files={
            "main.(*T).get": "<autogenerated>", "main.(*T).put": "<autogenerated>", **dict.fromkeys((
                "main.T.get.abi0", "main.T.put", "main.main", "main.work", "main.run", "main.run.deferwrap1"),
                "/src/main.go")}),
    # Code that has no name yet, of a file whose code is linked at other addresses than its offsets.
    "nameless": lambda: Writer().profile(
        CPU, [(["?leaf", "main"], [2, 20_000_000], []), (["main"], [1, 10_000_000], [])],
        period=10_000_000, period_type="cpu/nanoseconds", mapping=(0x402000, 0x40b000, 0x1000)),
    "wall": lambda: Writer().profile(
        ["wall/count", "wall/nanoseconds", "cpu/count"],
        [(["a", "main"], [2, 2000, 3], [])], default="wall"),
}


def message(data):
    """{field: [value]}: numbers and bytes."""
    fields, at = collections.defaultdict(list), 0

    def number():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = number()
        value = number()
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        fields[key >> 3].append(value)
    return fields


def packed(values):
    out = []
    for value in values:
        if isinstance(value, int):
            out.append(value)
        else:
            out += message(b"".join(b"\x08" + b for b in split(value)))[1]
    return out


def split(data):
    start = 0
    for at, byte in enumerate(data):
        if byte < 128:
            yield data[start:at + 1]
            start = at + 1


def show(data):
    fields = message(data)
    strings = [text.decode() for text in fields[6]]

    def one(of, number):
        return of[number][-1] if of[number] else 0

    def kind(of):
        of = message(of)
        return f"{strings[one(of, 1)]}/{strings[one(of, 2)]}"

    def label(of):
        of = message(of)
        value = f'"{strings[one(of, 2)]}"' if of[2] else str(one(of, 3))
        return f"{strings[one(of, 1)]}={value}{strings[one(of, 4)]}"

    functions = {one(row, 1): (strings[one(row, 2)], strings[one(row, 4)], one(row, 5))
                 for row in map(message, fields[5])}
    locations = {one(row, 1): [f"0x{one(row, 3):x}"] if not row[4] else [f"{functions[one(line, 1)][0]} {functions[one(line, 1)][1]}:{one(line, 2)}"
                               f" of {functions[one(line, 1)][2]}" for line in map(message, row[4])]
                 for row in map(message, fields[4])}
    lines = ["types " + " ".join(map(kind, fields[1]))]
    for sample in map(message, fields[2]):
        stack = [frame for location in packed(sample[1]) for frame in locations[location]]
        lines.append("sample %s %s [%s]" % (packed(sample[2]), ";".join(stack), ", ".join(sorted(map(label, sample[3])))))
    for number, name in ((7, "drop_frames"), (8, "keep_frames"), (14, "default"), (15, "doc_url")):
        lines += [f"{name} {strings[value]}" for value in fields[number] if value]
    lines += [f"comments {[strings[value] for value in packed(fields[13])]}"]
    lines += [f"duration {value}" for value in fields[10]]
    lines += [f"period {one(fields, 12)} of {kind(value)}" for value in fields[11]]
    return sorted(lines)


def mappings(data):
    fields = message(data)
    known = ["functions", "files", "lines", "inlines"]
    for row in map(message, fields[3]):
        start, limit, offset, path, *flags = [row[number][-1] if row[number] else 0 for number in (2, 3, 4, 5, 7, 8, 9, 10)]
        names = " ".join(name for name, flag in zip(known, flags) if flag)
        yield f"0x{start:x}-0x{limit:x} at 0x{offset:x} {fields[6][path].decode()}: {names}"


def main():
    if sys.argv[1] == "make":
        with gzip.open(sys.argv[3], "wb") as file:
            file.write(FILES[sys.argv[2]]())
        return
    with open(sys.argv[2], "rb") as file:
        data = file.read()
    shown = mappings if sys.argv[1] == "mappings" else show
    print("\n".join(shown(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)))


if __name__ == "__main__":
    main()
