#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks a request of pprof profiles by what its engine refuses: engine_rules.py pyroscope|parca FILE... Prints, as
JSON, sums of the clock's samples by innermost function, of all types, and the labels of the series.

The rules are those of Pyroscope 2.0 (pkg/validation, pkg/distributor, with the limits that it has by default,
but for the age of profiles) and of Parca 0.24 (pkg/normalizer, pkg/profilestore)."""

import collections
import gzip
import json
import os
import re
import sys
import uuid

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from otlp_rules import Refusal, demand, message, numbers, one  # noqa: E402

BURST = 2 << 20


def unpack(raw, limit):
    data = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    demand(len(data) <= limit, "uncompressed profile payload size exceeds limit")
    return data


def labels_of(pairs):
    labels = [(one(pair, 1, b"").decode(), one(pair, 2, b"").decode()) for pair in map(message, pairs)]
    names = [name for name, _ in labels]
    for name in names:
        demand(re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name), f"invalid label name {name!r}")
    demand(len(set(names)) == len(names), f"duplicate label names: {sorted(names)}")
    demand(dict(labels).get("__name__"), "missing __name__ label")
    return dict(labels)


def texts_of(profile):
    """The strings, once every number of one is known to be there."""
    texts = [text.decode() for text in profile[6]]
    demand(texts and texts[0] == "", "string 0 should be empty")

    def check(row, *fields):
        for field in fields:
            demand(one(row, field) < len(texts), "string index out of range")

    for row in map(message, profile[1]):
        check(row, 1, 2)
    for row in map(message, profile[3]):
        check(row, 5, 6)
    for row in map(message, profile[5]):
        check(row, 2, 3, 4)
    return texts


def check_profile(data):
    """Checks what both engines demand. Returns the names of the types, and sums by type and innermost function."""
    profile = message(data)
    texts = texts_of(profile)
    types = [(texts[one(row, 1)], texts[one(row, 2)]) for row in map(message, profile[1])]
    demand(types, "empty profile")
    for field, what in ((3, "mapping"), (4, "location"), (5, "function")):
        demand([one(message(row), 1) for row in profile[field]] == list(range(1, len(profile[field]) + 1)),
               f"{what} id is not sequential")
    locations = [message(row) for row in profile[4]]
    functions = [message(row) for row in profile[5]]
    for row in locations:
        demand(one(row, 2) <= len(profile[3]), "location has invalid mapping id")
        for line in map(message, row[4]):
            demand(0 < one(line, 1) <= len(functions), "location has invalid function id")
    sums, totals = collections.Counter(), collections.Counter()
    for sample in map(message, profile[2]):
        values, ids = numbers(sample, 2), numbers(sample, 1)
        demand(len(values) == len(types), "sample value length mismatch")
        demand(all(0 < number <= len(locations) for number in ids), "location is out of range")
        demand(not sample[3], "labels of samples")
        for (name, _), value in zip(types, values):
            totals[name] += value
        if ids and types[0][0] == "samples":
            line = message(locations[ids[0] - 1][4][0])
            sums[texts[one(functions[one(line, 1) - 1], 2)]] += values[0]
    period = message(one(profile, 11, b""))
    return profile, types, (texts[one(period, 1)], texts[one(period, 2)]), sums, totals


def pyroscope(data):
    for series in map(message, message(data)[1]):
        labels = labels_of(series[1])
        demand(labels.get("service_name"), "service name is not provided")
        demand(len(labels) <= 30, "too many label names")
        demand(all(len(name) <= 1024 and len(value.encode()) <= 2048 for name, value in labels.items()), "label too long")
        for sample in map(message, series[2]):
            uuid.UUID(one(sample, 2).decode())
            raw = unpack(one(sample, 1), 4 << 20)
            demand(len(raw) + sum(map(len, labels)) <= BURST, "push rate limit exceeded")
            profile, types, _, sums, totals = check_profile(raw)
            demand(len(profile[2]) <= 16000, "too many samples")
            demand(not any("-" in name for name, _ in types), "sample type contains -")
            yield labels, sums, totals


def parca(data):
    for series in map(message, message(data)[2]):
        labels = labels_of(message(one(series, 1))[1])
        for sample in map(message, series[2]):
            _, types, period, sums, totals = check_profile(unpack(one(sample, 1), 64 << 20))
            for kind in types:
                name = ":".join((labels["__name__"], *kind, *period))
                demand(re.fullmatch("[a-zA-Z_:][a-zA-Z0-9_:]*", name), f"invalid profile type {name}")
            yield labels, sums, totals


SELECTOR = re.compile(r'\{([a-zA-Z_][a-zA-Z0-9_]*="(\\.|[^"\\])*"(,(?!\})|(?=\})))*\}')


def judge_query(engine, data):
    """Checks a request for a merged profile. Returns the type with its labels, and the times in seconds."""
    row = message(data)
    if engine == "pyroscope":
        query, selector = one(row, 1).decode(), one(row, 2).decode()
        start, end = one(row, 3) / 1000, one(row, 4) / 1000
        parts = 5
    else:
        demand(one(row, 1) == 2 and one(row, 5) == 1, "a merge as pprof is the only mode")
        merge = message(one(row, 3))
        query, selector = re.match("([^{]*)(.*)", one(merge, 1).decode(), re.DOTALL).groups()
        start, end = (one(message(one(merge, field)), 1) for field in (2, 3))
        parts = 6
        demand(query.endswith(":delta"), f"profile-type selection must be of the form <name>:...:delta: {query}")
    demand(len(query.split(":")) == parts, f"profile type {query} is not valid")
    demand(SELECTOR.fullmatch(selector), f"parse error: {selector}")
    demand(0 < start < end, f"invalid time range: {start} to {end}")
    demand(end - start <= 86400, "the query time range exceeds the limit")
    return query + selector, start, end


def keep_query(folder, engine, data):
    with open(f"{folder}/asked", "w") as out:
        print(*judge_query(engine, data), file=out)


def judge(engine, data):
    all_sums, all_totals, series = collections.Counter(), collections.Counter(), []
    for labels, sums, totals in {"pyroscope": pyroscope, "parca": parca}[engine](data):
        series.append(labels)
        all_sums += sums
        all_totals += totals
    demand(series, "no profiles received")
    return {"self": all_sums, "all": all_totals, "series": series}


if __name__ == "__main__":
    for argument in sys.argv[2:]:
        print(json.dumps(judge(sys.argv[1], open(argument, "rb").read()), sort_keys=True))
