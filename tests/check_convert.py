#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what prof convert writes with an independent reading of the same profiles; speaks TAP.

    check_convert.py PROF FILE...
    check_convert.py --golden FILE.FORMAT...    each beside the JSON of the same case, FILE.json
"""

import array
import base64
import collections
import concurrent.futures
import gzip
import itertools
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "readers"), os.path.join(HERE, "cli")]

import perfetto_file  # noqa: E402
import stacks as reading  # noqa: E402

# Makes names safe to print; signs in a row that are not printable count as one.
NAMELESS = re.compile("0x[0-9a-f]+$|fun_[0-9a-f]+$|code made |unnamed code|$")
UNSAFE = re.compile("[^\\x20-\\x7e\\xa1-\\xac\\xae-\\u2009]+|\\?+")


def plain(text):
    return UNSAFE.sub("?", text or "")


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def message(data):
    """{field: [value]}: numbers and bytes."""
    fields, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise ValueError("a field is cut off")
        else:
            raise ValueError(f"wire type {key & 7}")
        fields[key >> 3].append(value)
    return fields


def packed(fields, number):
    values = []
    for data in fields[number]:
        at = 0
        while at < len(data):
            value, at = varint(data, at)
            values.append(value)
    return values


def one(fields, number):
    return fields[number][-1] if fields[number] else 0


class Pprof:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.fields = message(file.read())
        self.strings = [text.decode() for text in self.fields[6]]
        if self.strings[0] != "" or any(re.search("[\\x00-\\x1f\\x7f-\\x9f]", s) for s in self.strings):
            raise ValueError(f"strings: {self.strings}")
        self.functions = self.rows(5)
        self.mappings = self.rows(3)
        self.locations = self.rows(4)
        self.types = [self.strings[one(message(t), 1)] for t in self.fields[1]]

    def rows(self, number):
        rows = [message(data) for data in self.fields[number]]
        by_id = {one(row, 1): row for row in rows}
        if len(by_id) != len(rows) or 0 in by_id:
            raise ValueError(f"ids of field {number}")
        return by_id

    def frames(self, location):
        """(name, file, line, mapping's last component, is inlined), the innermost first."""
        row = self.locations[location]
        mapping = one(row, 2)
        lib = self.strings[one(self.mappings[mapping], 5)].rpartition("/")[2] if mapping else None
        lines = [message(line) for line in row[4]]
        if not lines:
            yield f"0x{one(row, 3):x}", "", 0, lib, False
        for number, line in enumerate(lines):
            function = self.functions[one(line, 1)]
            yield (self.strings[one(function, 2)], self.strings[one(function, 4)], one(line, 2),
                   lib, number < len(lines) - 1)

    def samples(self):
        """({label: value}, values by type, frames from the outermost on)"""
        for data in self.fields[2]:
            sample = message(data)
            labels = {}
            for label in map(message, sample[3]):
                labels[self.strings[one(label, 1)]] = self.strings[one(label, 2)] or one(label, 3)
            frames = [f for location in packed(sample, 1) for f in self.frames(location)]
            yield labels, dict(zip(self.types, packed(sample, 2))), frames[::-1]


def compare(what, got, wanted):
    if got != wanted:
        raise ValueError(f"{what}: {dict(got)}, and read here {dict(wanted)}")


def check_pprof(path, samples, interval_ns):
    got, wanted = collections.Counter(), collections.Counter()
    profile = Pprof(path)
    for labels, values, frames in profile.samples():
        if values["cpu"] != values["samples"] * interval_ns:
            raise ValueError(f"CPU time: {values}")
        if values["samples"]:
            got[labels["pid"], labels["tid"], labels.get("thread", ""),
                tuple((n, f, line, inlined) for n, f, line, _, inlined in frames)] += values["samples"]
    for s in samples:
        frames = tuple((plain_name(f.name), plain_name(f.file), f.line or 0, f.inlined)
                       for f in s.frames)
        wanted[number(s.thread["pid"]), number(s.thread["tid"]), plain_name(reading.show.thread_name(s.thread)),
               frames] += s.weight
    if {k[:2] for k in got} != {k[:2] for k in wanted}:
        raise ValueError("pprof: pids and tids")
    fold = lambda rows: collections.Counter(  # noqa: E731
        {}) + sum((collections.Counter({(k[0], k[1], folded(k[2]), folded(k[3])): w})
                   for k, w in rows.items()), collections.Counter())
    compare("pprof", fold(got), fold(wanted))


def folded(value):
    return plain(value) if isinstance(value, str) else tuple(map(folded, value)) \
        if isinstance(value, tuple) else value


def plain_name(text):
    return text or ""


def number(text):
    return int(re.match(r"\d*", str(text))[0] or 0)


def by_function(samples):
    rows = collections.Counter()
    for s in samples:
        for name in {plain(f.name) for f in s.frames}:
            rows[name] += s.weight
    return rows


def check_speedscope(path, samples, interval_ms):
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    names = [plain(f["name"]) for f in profile["shared"]["frames"]]
    rows = collections.Counter()
    for thread in profile["profiles"]:
        if thread["unit"] == "none" and interval_ms:
            continue
        if len(thread["samples"]) != len(thread["weights"]):
            raise ValueError("speedscope: samples and weights")
        for stack, weight in zip(thread["samples"], thread["weights"]):
            for name in {names[frame] for frame in stack} - {"(no frame)"}:
                rows[name] += weight
    wanted = by_function(samples)
    got = collections.Counter({name: round(w / (interval_ms or 1)) for name, w in rows.items()})
    compare("speedscope", got, wanted)


def check_gecko(path, samples):
    """By function; nameless ones are called by other addresses there."""
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    rows = collections.Counter()
    for process in [profile] + profile["processes"]:
        for thread in process["threads"]:
            stacks = []
            for prefix, frame in thread["stackTable"]["data"]:
                name = thread["stringTable"][thread["frameTable"]["data"][frame][0]]
                name = re.sub(r" \((in [^()]*|[^()]+:\d+(:\d+)?)\)$", "", name)
                stacks.append((stacks[prefix] if prefix is not None else frozenset()) | {plain(name)})
            for stack, *_ in thread["samples"]["data"]:
                rows.update(stacks[stack] if stack is not None else ())
    compare("gecko", collections.Counter({n: w for n, w in rows.items() if not NAMELESS.match(n)}),
            collections.Counter({n: w for n, w in by_function(samples).items()
                                 if not NAMELESS.match(n)}))


def unpack_jslb(path):
    """The JSON, with the columns in it."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:8] != b"\xdc\xdfJSLB\x01\x00":
        raise ValueError("jslb: no magic")
    version, count, root = struct.unpack_from("<III", data, 8)
    slabs = []
    for row in range(count):
        kind, offset, size = struct.unpack_from("<III", data, 20 + 12 * row)
        part = data[offset:offset + size]
        slabs.append(part if kind == 10 else list(array.array("bBhHiIfdqQ"[kind], part)))

    def fill(value):
        return slabs[value["$s"]] if set(value) == {"$s"} else value
    if version != 1:
        raise ValueError(f"jslb: version {version}")
    return json.loads(slabs[root], object_hook=fill)


def is_alike(a, b):
    """A slab has no null, and no more digits than a double."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(is_alike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(is_alike, a, b))
    if isinstance(a, (int, float)) or isinstance(b, (int, float)):
        return abs((a or 0) - (b or 0)) < 1e-6 * max(1, abs(b or 0))
    return a == b


def check_jslb(path, json_path):
    with open(json_path, encoding="utf-8") as file:
        if not is_alike(unpack_jslb(path), json.load(file)):
            raise ValueError("jslb: it says something else")


def check_graph(path, samples):
    """Each rectangle has the width of its samples; what is too narrow may be missing."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    root = xml.etree.ElementTree.fromstring(text[text.index("<svg"):text.index("</svg>") + 6])
    if re.search("[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\u202a-\\u202e]", text):
        raise ValueError(f"{path}: control characters")
    total, wanted, got = sum(s.weight for s in samples), collections.Counter(), {}
    for s in samples:
        for depth in range(1, len(s.frames) + 1):
            wanted[tuple(plain(f.name) for f in s.frames[:depth])] += s.weight
    rows, top = collections.Counter(), None
    for node in root.iter("{http://www.w3.org/2000/svg}g"):
        title, rect = node.find("{*}title"), node.find("{*}rect")
        if title is None:
            continue
        if title.text == "all":
            top = float(rect.get("y"))
            continue
        match = re.fullmatch(r"(.*) \(([0-9,]+) samples?, [0-9.]+ %\)", title.text)
        weight = int(match[2].replace(",", ""))
        if abs(float(rect.get("width")) - 1200 * weight / total) > 0.006:
            raise ValueError(f"{path}: width of {title.text}")
        rows[(float(rect.get("y")) - top) / 17] += weight
        got[plain(match[1])] = weight
    for stack, weight in wanted.items():
        # Behind an address stands its file.
        name = stack[-1]
        if 1200 * weight / total > 0.11 and not any(k == name or k.startswith(name + " [")
                                                    for k in got):
            raise ValueError(f"{path}: no {name} in {sorted(got)}")
    # Functions of all processes and threads are merged: the outermost are the first row.
    framed = sum(s.weight for s in samples if s.frames)
    if rows[1] != framed:
        raise ValueError(f"{path}: {rows[1]} of {framed}")


def convert(prof, out, *arguments):
    done = subprocess.run([prof, "convert", *arguments, "-o", out], text=True, capture_output=True,
                          check=False)
    if done.returncode == 125 and "no matching samples" in done.stderr:
        return False
    if done.returncode:
        raise ValueError(f"{arguments}: {done.stderr}")
    return True


def identity(sample):
    return (sample.time, sample.weight, sample.cpu, sample.frames, str(sample.thread["pid"]),
            str(sample.thread["tid"]))


def check_again(prof, path, scratch, reader):
    """A profile again: the same samples; twice as one: each twice."""
    out = os.path.join(scratch, "again.json")
    if not convert(prof, out, path):
        return
    again = reading.Reader(out)
    compare("again", collections.Counter(map(identity, again.clock(True))),
            collections.Counter(map(identity, reader.clock(True))))
    if sorted(again.marks()) != sorted(reader.marks()):
        raise ValueError("markers of the profile that was written again")
    convert(prof, out, path, path)
    both = by_function(reading.Reader(out).clock(True))
    compare("twice", both, by_function(list(reader.clock(True)) * 2))


def check_blocks(path):
    """The data of a page are whole."""
    page = open(path, encoding="utf-8").read()
    blocks = re.findall(r'<script type="application/octet-stream" id="prof-(\w+)">([^<]*)<', page)
    if [name for name, _ in blocks] != ["engine", "script", "meta", "tables", "samples", "markers", "texts"]:
        raise ValueError("blocks of the page")
    for name, text in blocks:
        data = gzip.decompress(base64.b64decode(text))
        if name != "script" and not data.startswith(b"\0asm" if name == "engine" else b"PROFSLAB"):
            raise ValueError(f"block {name}")


def check_page(prof, page, path, scratch):
    """A page is read back as the profile that it was made of."""
    same, back = os.path.join(scratch, "same.json"), os.path.join(scratch, "back.json")
    check_blocks(page)
    convert(prof, same, path)
    convert(prof, back, page)
    if open(same, "rb").read() != open(back, "rb").read():
        raise ValueError("the page is another profile")


def check(prof, path):
    reader = reading.Reader(path)
    samples, interval = list(reader.clock()), reader.meta["interval"]
    with tempfile.TemporaryDirectory() as scratch:
        out = {suffix: os.path.join(scratch, "out" + suffix)
               for suffix in (".pb", ".svg", ".html", ".speedscope")}
        check_again(prof, path, scratch, reader)
        for suffix, file in out.items():
            if not convert(prof, file, path):
                return
            if not samples:
                continue
            if suffix == ".pb":
                check_pprof(file, samples, round(interval * 10**6))
            elif suffix == ".svg":
                check_graph(file, samples)
            elif suffix == ".html":
                check_page(prof, file, path, scratch)
            elif suffix == ".speedscope":
                check_speedscope(file, list(reader.clock(True)), float(interval))
        leaf = next((s.frames[-1].name for s in samples if s.frames), "")
        if leaf.isidentifier():
            convert(prof, out[".pb"], path, "--focus", f"^{leaf}$")
            check_pprof(out[".pb"], [s for s in samples if any(f.name == leaf for f in s.frames)],
                        round(interval * 10**6))


def pprof_functions(path):
    rows = collections.Counter()
    for _, values, frames in Pprof(path).samples():
        for name in {plain(frame[0]) for frame in frames}:
            rows[name] += values["samples"]
    return +rows


def by_page(rows):
    """Names of nameless code by their place in a page: from the file's start in JSON, as linked in pprof."""
    merged = collections.Counter()
    for name, weight in rows.items():
        merged[f"0x{int(name, 16) % 4096:x}" if re.fullmatch("0x[0-9a-f]+", name) else name] += weight
    return merged


def check_perfetto(path, samples):
    got = collections.Counter(stack for event, _, stack in perfetto_file.Trace(path).samples
                              if event == "cpu-clock")
    wanted = collections.Counter()
    for sample in samples:
        wanted[tuple(frame.name for frame in sample.frames)] += sample.weight
    compare("perfetto", got, wanted)


def check_cpuprofile(path, samples, interval_ms):
    """The samples of one thread, by function; each lasts until the next one."""
    with open(path, encoding="utf-8") as file:
        profile = json.load(file)
    nodes = {node["id"]: node for node in profile["nodes"]}
    callers = {callee: node["id"] for node in profile["nodes"] for callee in node["children"]}
    times = [*itertools.accumulate(profile["timeDeltas"]), profile["endTime"]]
    rows = collections.Counter()
    for node, begin, end in zip(profile["samples"], times, times[1:]):
        names = set()
        while node in callers:
            names.add(plain(nodes[node]["callFrame"]["functionName"]))
            node = callers[node]
        for name in names - {"(idle)", "(program)"}:
            rows[name] += (end - begin) / 1000 / interval_ms
    got = {n: round(w) for n, w in rows.items() if not NAMELESS.match(n)}
    threads = collections.defaultdict(list)
    for sample in samples:
        threads[str(sample.thread["pid"]), str(sample.thread["tid"])].append(sample)
    most = max((sum(s.weight for s in rows) for rows in threads.values()), default=0)
    wanted = [{n: w for n, w in by_function(rows).items() if not NAMELESS.match(n)}
              for rows in threads.values() if sum(s.weight for s in rows) == most]
    if got not in (wanted or [{}]):
        raise ValueError(f"cpuprofile: {got}, not {wanted}")


def check_pgo(path, samples):
    """All samples are there, but not the kernel's frames, unless a stack has no others."""
    got, wanted = by_page(pprof_functions(path)), by_page(by_function(samples))
    more = {name for name, weight in got.items() if weight > wanted[name]}
    weight = sum(values["samples"] for _, values, _ in Pprof(path).samples())
    if more or weight != sum(s.weight for s in samples):
        raise ValueError(f"pgo: {weight} samples, more than there are of {sorted(more)}")


def judge_golden(paths):
    """Prints "FILE: ok" for each that tells what the JSON beside it tells."""
    for path in paths:
        stem, _, kind = path.rpartition(".")
        reader = reading.Reader(stem + ".json")
        samples = list(reader.clock(True))
        try:
            if kind == "pprof":
                compare("pprof", by_page(pprof_functions(path)), by_page(by_function(samples)))
            elif kind == "pgo":
                check_pgo(path, samples)
            elif kind == "speedscope":
                check_speedscope(path, samples, float(reader.meta["interval"]))
            elif kind == "gecko":
                check_gecko(path, samples)
            elif kind == "jslb":
                check_jslb(path, stem + ".json")
            elif kind == "html":
                check_blocks(path)
            elif kind == "perfetto":
                check_perfetto(path, reader.clock())
            elif kind == "cpuprofile":
                check_cpuprofile(path, samples, float(reader.meta["interval"]))
            elif kind != "flamegraph":
                raise ValueError(f"no judge of {kind}")
            elif samples:
                check_graph(path, samples)
            print(f"{path}: ok")
        except (AssertionError, ValueError, OSError, xml.etree.ElementTree.ParseError) as e:
            print(f"{path}: {e}")
    return 0


def judge(prof, path):
    try:
        check(prof, path)
        return path, None
    except (ValueError, xml.etree.ElementTree.ParseError) as e:
        return path, str(e)


def main(prof, files):
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for count, (path, why) in enumerate(pool.map(lambda p: judge(prof, p), files), 1):
            if why:
                failed += 1
                print(f"# {why}"[:4000].replace("\n", "\n# "))
            print(f"{'not ' if why else ''}ok {count} - conversions of {path}")
    print(f"1..{len(files)}")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(judge_golden(sys.argv[2:]) if sys.argv[1] == "--golden" else main(sys.argv[1], sys.argv[2:]))
