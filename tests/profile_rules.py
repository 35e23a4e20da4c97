# SPDX-License-Identifier: MIT
"""Rules for processed profiles of format version 70; used through check_profile."""

import collections
import itertools
import json
import re

VERSION = 70
MAX_REPEATS = 3  # problems of one kind that are spelled out

COLORS = ("transparent purple green orange yellow lightblue blue brown magenta red lightred "
          "darkgrey grey").split()
WAITS = ("Idle",)
DISPLAYS = ("marker-chart marker-table timeline-overview timeline-memory timeline-ipc "
            "timeline-fileio timeline-network").split()
INDEX_FORMATS = ("unique-string", "flow-id", "terminating-flow-id")
TEXT_FORMATS = ("url", "file-path", "sanitized-string", "string")
NUMBER_FORMATS = ("duration time seconds milliseconds microseconds nanoseconds bytes percentage "
                  "integer decimal hexadecimal").split()
ID_FORMATS = ("pid", "tid")
FORMATS = INDEX_FORMATS + TEXT_FORMATS + tuple(NUMBER_FORMATS) + ID_FORMATS + ("list",)
INT32_MAX = 2**31 - 1
VIEWS = ("cpu", "event", "folded")


def _is_int(value):
    return type(value) is int


def _is_number(value):
    return type(value) in (int, float) and abs(value) < float("inf")


def _is_text(value):
    return type(value) is str and bool(value)


class _Rule:
    """Rules for the values of a column."""

    def __init__(self, what, holds):
        self.what, self.holds = what, holds

    def or_null(self):
        return _Rule(f"{self.what} or null", lambda v: v is None or self.holds(v))

    def or_minus_one(self):
        return _Rule(f"{self.what} or -1", lambda v: (_is_int(v) and v == -1) or self.holds(v))


def _integer(low, high=2**53):
    return _Rule(f"an integer from {low} to {high}", lambda v: _is_int(v) and low <= v <= high)


def _index(count, table):
    return _Rule(f"an index into {table} (length {count})",
                 lambda v: _is_int(v) and 0 <= v < count)


def _only(value):
    return _Rule(json.dumps(value), lambda v: v == value and type(v) is type(value))


NUMBER = _Rule("a number", _is_number)
POSITIVE = _Rule("a number above 0", lambda v: _is_number(v) and v > 0)
NOT_NEGATIVE = _Rule("a number from 0", lambda v: _is_number(v) and v >= 0)
TEXT = _Rule("a non-empty string", _is_text)
BOOL = _Rule("a boolean", lambda v: type(v) is bool)
LIST = _Rule("an array", lambda v: type(v) is list)


class _Check:
    def __init__(self, profile):
        self.profile = profile
        self.problems = []
        self.repeats = collections.Counter()
        self.used_strings = set()

    def say(self, text):
        kind = re.sub(r"\d+", "#", text)
        self.repeats[kind] += 1
        if self.repeats[kind] <= MAX_REPEATS:
            self.problems.append(text)

    def field(self, where, obj, key, rule):
        if key not in obj:
            self.say(f"{where}.{key} is missing")
        elif not rule.holds(obj[key]):
            self.say(f"{where}.{key} = {_short(obj[key])} is not {rule.what}")
        else:
            return True
        return False

    def fields(self, where, obj, rules):
        if type(obj) is not dict:
            self.say(f"{where} is not an object")
            return False
        return all([self.field(where, obj, key, rule) for key, rule in rules.items()])

    def table(self, where, table, rules, optional=()):
        """All columns present, of one length, with values that follow their rules."""
        if not self.fields(where, table, {"length": _integer(0)}):
            return False
        length, good = table["length"], True
        for name, rule in rules.items():
            column = table.get(name)
            if name not in table and name in optional:
                continue
            if type(column) is not list:
                self.say(f"{where}.{name} is not a column")
                good = False
                continue
            if len(column) != length:
                self.say(f"{where}.{name} has {len(column)} values instead of {length}")
                good = False
                continue
            holds = rule.holds
            for i, value in enumerate(column):
                if not holds(value):
                    self.say(f"{where}.{name}[{i}] = {_short(value)} is not {rule.what}")
                    good = False
        return good

    def unique(self, where, keys, what):
        first = {}
        for i, key in enumerate(keys):
            if key in first:
                self.say(f"{where}[{i}] is the same {what} as [{first[key]}]: {_short(key)}")
            else:
                first[key] = i

    def run(self):
        p = self.profile
        if not self.fields("profile", p, {"meta": _Rule("an object", lambda v: type(v) is dict),
                                          "libs": LIST, "threads": LIST,
                                          "shared": _Rule("an object",
                                                          lambda v: type(v) is dict)}):
            return
        if p["meta"].get("preprocessedProfileVersion") != VERSION:
            self.say(f"meta.preprocessedProfileVersion is not {VERSION}")
            return
        # Later rules rely on those before.
        if self.meta() and self.libs() and self.shared():
            if self.threads():
                self.processes()
                self.unused_strings()
        if not self.problems:
            self.cpu_rows()

    def finish(self):
        self.problems += [f"({count} times: {kind})" for kind, count in self.repeats.items()
                          if count > MAX_REPEATS]
        return self.problems

    # meta

    def meta(self):
        meta = self.profile["meta"]
        good = self.fields("meta", meta, {
            "version": _integer(0), "interval": POSITIVE, "startTime": POSITIVE,
            "endTime": POSITIVE, "profilingStartTime": NOT_NEGATIVE,
            "profilingEndTime": NOT_NEGATIVE, "processType": _only(0), "stackwalk": _only(1),
            "product": TEXT, "categories": LIST, "markerSchema": LIST, "symbolicated": BOOL,
            "startTimeAsClockMonotonicNanosecondsSinceBoot": _integer(0),
            "sampleUnits": _Rule("an object", lambda v: type(v) is dict),
            "configuration": _Rule("an object", lambda v: type(v) is dict),
            "keepProfileThreadOrder": BOOL, "usesOnlyOneStackType": BOOL,
            "sourceCodeIsNotOnSearchfox": BOOL, "updateChannel": _only("release"),
            "initialVisibleThreads": LIST, "initialSelectedThreads": LIST})
        if "toolkit" in meta:
            self.say("meta.toolkit is set: it hides parts of oscpu")
        if "appBuildID" in meta:
            self.say("meta.appBuildID is set: no build of prof has one")
        for key in ("oscpu", "abi", "CPUName", "arguments"):
            if key in meta:
                self.field("meta", meta, key, TEXT)
        for key in ("physicalCPUs", "logicalCPUs", "mainMemory"):
            if key in meta:
                self.field("meta", meta, key, _integer(1))
        if not good:
            return False
        # A profile with names need not be sent anywhere for them.
        if meta.get("symbolicationNotSupported", False) is not meta["symbolicated"]:
            self.say("meta.symbolicationNotSupported is not what meta.symbolicated is")
        if meta["profilingEndTime"] < meta["profilingStartTime"]:
            self.say("meta.profilingEndTime is before profilingStartTime")
        if meta["endTime"] < meta["startTime"]:
            self.say("meta.endTime is before startTime")
        self.fields("meta.sampleUnits", meta["sampleUnits"], {
            "time": _only("ms"), "eventDelay": _only("ms"),
            "threadCPUDelta": _Rule('"ns" or "µs"', lambda v: v in ("ns", "µs"))})
        self.configuration(meta["configuration"])
        self.extra(meta.get("extra", []))
        self.initial_threads(meta)
        return self.categories(meta["categories"]) and self.schemas(meta["markerSchema"])

    def configuration(self, configuration):
        texts = _Rule("an array of strings",
                      lambda v: type(v) is list and all(type(s) is str for s in v))
        self.fields("meta.configuration", configuration, {
            "threads": texts, "features": texts, "capacity": _integer(0)})
        if "duration" in configuration:
            self.field("meta.configuration", configuration, "duration", POSITIVE)

    def extra(self, sections):
        if type(sections) is not list:
            self.say("meta.extra is not an array")
            return
        for i, section in enumerate(sections):
            where = f"meta.extra[{i}]"
            if not self.fields(where, section, {"label": TEXT, "entries": LIST}):
                continue
            for j, entry in enumerate(section["entries"]):
                here = f"{where}.entries[{j}]"
                allowed = TEXT_FORMATS + tuple(NUMBER_FORMATS)
                if self.fields(here, entry, {
                        "label": TEXT, "format": _Rule("a format", lambda v: v in allowed)}):
                    number = entry["format"] in NUMBER_FORMATS
                    self.field(here, entry, "value", NUMBER if number else
                               _Rule("a string", lambda v: type(v) is str))

    def initial_threads(self, meta):
        count = len(self.profile["threads"])
        for key in ("initialVisibleThreads", "initialSelectedThreads"):
            for i, position in enumerate(meta[key]):
                if not (_is_int(position) and 0 <= position < count):
                    self.say(f"meta.{key}[{i}] = {_short(position)} is not a thread")
            if not meta[key]:
                self.say(f"meta.{key} is empty")
            elif len({_short(v) for v in meta[key]}) != len(meta[key]):
                self.say(f"meta.{key} has a thread twice")
        # Selected rows may be hidden: they are all of the recording, of which the busiest are shown.
        if not any(position in meta["initialVisibleThreads"]
                   for position in meta["initialSelectedThreads"]):
            self.say("meta.initialSelectedThreads has no thread that is visible")

    def categories(self, categories):
        good = bool(categories) and len(categories) < 256
        if not good:
            self.say(f"meta.categories has {len(categories)} entries")
        for i, category in enumerate(categories):
            where = f"meta.categories[{i}]"
            if not self.fields(where, category, {
                    "name": TEXT, "subcategories": LIST,
                    "color": _Rule("a category colour", lambda v: v in COLORS)}):
                good = False
            elif category["subcategories"][:1] != ["Other"]:
                self.say(f"{where}.subcategories does not start with Other")
                good = False
        if not good:
            return False
        if not any(category["color"] == "grey" for category in categories):
            self.say("meta.categories has no grey one, the default")
        self.unique("meta.categories", [category["name"] for category in categories], "name")
        return True

    def schemas(self, schemas):
        good = True
        for i, schema in enumerate(schemas):
            where = f"meta.markerSchema[{i}]"
            if not self.fields(where, schema, {"name": TEXT, "display": LIST, "fields": LIST}):
                good = False
                continue
            for display in schema["display"]:
                if display not in DISPLAYS:
                    self.say(f"{where}.display has {_short(display)}")
            keys = []
            for j, field in enumerate(schema["fields"]):
                if self.fields(f"{where}.fields[{j}]", field, {
                        "key": TEXT,
                        "format": _Rule("a format", lambda v: type(v) is str and v in FORMATS)}):
                    keys.append(field["key"])
                else:
                    good = False
            self.unique(f"{where}.fields", keys, "key")
            for label in ("tooltipLabel", "tableLabel", "chartLabel"):
                text = schema.get(label, "")
                if type(text) is not str:
                    self.say(f"{where}.{label} is not a string")
                    continue
                for key in re.findall(r"\{\s*marker\.data\.(\w+)", text):
                    if key not in keys:
                        self.say(f"{where}.{label} names {key}, which is no field")
        if good:
            self.unique("meta.markerSchema", [schema["name"] for schema in schemas], "name")
        return good

    # libs

    def libs(self):
        good, libs = True, self.profile["libs"]
        breakpad = _Rule("a breakpad id (33 … 40 upper-case hex digits)",
                         lambda v: type(v) is str and re.fullmatch("[0-9A-F]{33,40}", v))
        code = _Rule("a code id", lambda v: type(v) is str and re.fullmatch("[0-9a-f]+", v))
        for i, lib in enumerate(libs):
            where = f"libs[{i}]"
            if not self.fields(where, lib, {
                    "name": TEXT, "path": TEXT, "debugName": TEXT, "debugPath": TEXT,
                    "arch": TEXT.or_null(), "breakpadId": breakpad, "codeId": code.or_null()}):
                good = False
                continue
            if "/" in lib["debugName"]:
                self.say(f"{where}.debugName = {_short(lib['debugName'])} contains a slash")
            if lib["codeId"] is not None and breakpad_id(lib["codeId"]) != lib["breakpadId"]:
                self.say(f"{where}.breakpadId does not belong to its codeId")
        if good:
            self.unique("libs", [(lib["debugName"], lib["breakpadId"]) for lib in libs],
                        "(debugName, breakpadId)")
        return good

    # shared

    def shared(self):
        shared = self.profile["shared"]
        if not self.field("shared", shared, "stringArray", LIST):
            return False
        strings = shared["stringArray"]
        bad = [i for i, text in enumerate(strings) if type(text) is not str]
        if bad:
            self.say(f"shared.stringArray[{bad[0]}] is not a string")
            return False
        self.unique("shared.stringArray", strings, "string")
        for i, text in enumerate(strings):
            if any("\ud800" <= c <= "\udfff" for c in text):
                self.say(f"shared.stringArray[{i}] has half a surrogate pair")
        if not self.shared_columns(shared):
            return False
        self.shared_uniqueness(shared)
        self.frames(shared)
        self.parents(shared)
        return True

    def shared_columns(self, shared):
        def length(name):
            table = shared.get(name)
            count = table.get("length") if type(table) is dict else None
            return count if _is_int(count) else 0

        def index(name):
            return _index(length(name), f"shared.{name}")

        string = _index(len(shared["stringArray"]), "shared.stringArray")
        lib = _index(len(self.profile["libs"]), "libs")
        null = _only(None)
        category = _index(len(self.profile["meta"]["categories"]), "meta.categories")
        tables = {
            "sources": {"id": null, "filename": string, "startLine": _only(1),
                        "startColumn": _only(1), "sourceMapURL": string.or_null(),
                        "content": _Rule("a string", lambda v: type(v) is str).or_null()},
            "sourceLocationTable": {"source": index("sources"), "line": _integer(1),
                                    "column": _integer(1)},
            "resourceTable": {"name": string, "host": string.or_null(), "type": _integer(0, 5)},
            "nativeSymbols": {"libIndex": lib, "address": _integer(0, INT32_MAX),
                              "name": string, "functionSize": _integer(1).or_null()},
            "funcTable": {"name": string, "isJS": BOOL, "relevantForJS": BOOL,
                          "resource": index("resourceTable").or_minus_one(),
                          "source": index("sources").or_null(),
                          "lineNumber": _integer(1).or_null(),
                          "columnNumber": _integer(1).or_null(),
                          "originalLocation": index("sourceLocationTable").or_null()},
            "frameTable": {"address": _integer(0, INT32_MAX).or_minus_one(),
                           "lib": lib.or_minus_one(), "inlineDepth": _integer(0, 255),
                           "category": category.or_null(), "subcategory": _integer(0).or_null(),
                           "func": index("funcTable"),
                           "nativeSymbol": index("nativeSymbols").or_null(),
                           "innerWindowID": _integer(0).or_null(), "line": _integer(1).or_null(),
                           "column": _integer(1).or_null(),
                           "originalLocation": index("sourceLocationTable").or_null()},
            "stackTable": {"frame": index("frameTable"), "prefixOffset": _integer(0)},
        }
        good = True
        for name, rules in tables.items():
            if not self.table(f"shared.{name}", shared.get(name), rules):
                good = False
        return good

    def shared_uniqueness(self, shared):
        def rows(name, *columns):
            return zip(*(shared[name][column] for column in columns))

        self.unique("shared.sources", rows("sources", "filename"), "file")
        self.unique("shared.nativeSymbols", rows("nativeSymbols", "libIndex", "address"),
                    "(lib, address)")
        self.unique("shared.funcTable",
                    rows("funcTable", "name", "resource", "source", "lineNumber", "columnNumber"),
                    "(name, resource, source, line)")
        self.unique("shared.stackTable", ((i - offset if offset else -1, frame) for
                                          i, (frame, offset) in
                                          enumerate(rows("stackTable", "frame", "prefixOffset"))),
                    "(parent, frame)")
        strings = shared["stringArray"]
        for table, column in (("sources", "filename"), ("resourceTable", "name"),
                              ("nativeSymbols", "name"), ("funcTable", "name")):
            self.used_strings.update(shared[table][column])
            for i, string in enumerate(shared[table][column]):
                if not strings[string]:
                    self.say(f"shared.{table}.{column}[{i}] is empty")
        for column in (shared["resourceTable"]["host"], shared["sources"]["sourceMapURL"]):
            self.used_strings.update(string for string in column if string is not None)

    def frames(self, shared):
        frames, symbols = shared["frameTable"], shared["nativeSymbols"]
        categories = self.profile["meta"]["categories"]
        used = set()
        self.used_categories(frames["category"], categories)
        for i in range(frames["length"]):
            lib, address, symbol = (frames[c][i] for c in ("lib", "address", "nativeSymbol"))
            where = f"shared.frameTable[{i}]"
            used.add(lib)
            if (lib == -1) != (address == -1):
                self.say(f"{where} has lib {lib} but address {address}")
            category, subcategory = frames["category"][i], frames["subcategory"][i]
            if (category is None) != (subcategory is None):
                self.say(f"{where} has category {category} but subcategory {subcategory}")
            elif category is not None and \
                    subcategory >= len(categories[category]["subcategories"]):
                self.say(f"{where} has subcategory {subcategory}, unknown in its category")
            if symbol is None:
                continue
            start, size = symbols["address"][symbol], symbols["functionSize"][symbol]
            if symbols["libIndex"][symbol] != lib:
                self.say(f"{where} has a native symbol of another lib")
            elif address < start or (size is not None and address >= start + size):
                self.say(f"{where} lies outside its native symbol")
        for i in range(len(self.profile["libs"])):
            if i not in used:
                self.say(f"libs[{i}] is used by no frame")

    def used_categories(self, column, categories):
        """Only categories that occur, and the grey one for frames without a category."""
        for i, category in enumerate(categories):
            if category["color"] != "grey" and i not in column:
                self.say(f"meta.categories[{i}], {category['name']}, is used by no frame")

    def parents(self, shared):
        """Parents come first, and an inlined function directly below its caller."""
        stacks, frames = shared["stackTable"], shared["frameTable"]
        depths = frames["inlineDepth"]
        for i, (frame, offset) in enumerate(zip(stacks["frame"], stacks["prefixOffset"])):
            if offset > i:
                self.say(f"shared.stackTable.prefixOffset[{i}] = {offset} leads before the table")
                continue
            if depths[frame] == 0:
                continue
            where = f"shared.stackTable[{i}]: inlined frame {frame}"
            if offset == 0:
                self.say(f"{where} has no caller")
                continue
            outer = stacks["frame"][i - offset]
            if depths[outer] + 1 != depths[frame]:
                self.say(f"{where} has depth {depths[frame]}, its caller {depths[outer]}")
            elif any(frames[c][outer] != frames[c][frame]
                     for c in ("address", "lib", "nativeSymbol")):
                self.say(f"{where} is at another place than its caller")

    def unused_strings(self):
        for i in range(len(self.profile["shared"]["stringArray"])):
            if i not in self.used_strings:
                self.say(f"shared.stringArray[{i}] is used by nothing")

    # threads

    def threads(self):
        good = True
        if not self.profile["threads"]:
            self.say("threads is empty")
            return False
        for i, thread in enumerate(self.profile["threads"]):
            where = f"threads[{i}]"
            if not self.fields(where, thread, {
                    "name": TEXT, "processName": TEXT,
                    "processType": _Rule('"default" or "process"',
                                         lambda v: v in ("default", "process")),
                    "pid": _Rule("a pid in a string", lambda v: type(v) is str and
                                 re.fullmatch(r"\d+(\.\d+)?\+?|cpus", v)),
                    "tid": _Rule("a tid", lambda v: (_is_int(v) and v >= 0) or _is_text(v)),
                    "isMainThread": BOOL, "pausedRanges": LIST, "showMarkersInTimeline": BOOL,
                    "registerTime": NOT_NEGATIVE, "unregisterTime": NOT_NEGATIVE.or_null(),
                    "processStartupTime": NOT_NEGATIVE,
                    "processShutdownTime": NOT_NEGATIVE.or_null()}):
                good = False
                continue
            for start, end in (("registerTime", "unregisterTime"),
                               ("processStartupTime", "processShutdownTime")):
                if thread[end] is not None and thread[end] < thread[start]:
                    self.say(f"{where}.{end} is before its {start}")
            self.view(where, thread)
            self.samples(f"{where}.samples", thread)
            self.markers(f"{where}.markers", thread.get("markers"))
        if good:
            self.unique("threads", [str(t["tid"]) for t in self.profile["threads"]], "tid")
            self.event_rows()
        return good

    def view(self, where, thread):
        """Rows with samples of other rows, or of several threads, say so."""
        view = thread.get("profView")
        if "profView" in thread and view not in VIEWS:
            self.say(f"{where}.profView = {_short(view)} is none of {', '.join(VIEWS)}")
        elif (view == "cpu") != (thread["pid"] == "cpus"):
            self.say(f"{where} has pid {thread['pid']} and profView {view}")
        elif thread["pid"].endswith("+") != (view == "folded") and view != "event":
            self.say(f"{where} has pid {thread['pid']} and profView {view}")
        elif view == "event" and thread["isMainThread"]:
            self.say(f"{where} is a main thread and a row of an event")

    def event_rows(self):
        """The row of an event is right behind that of its thread."""
        owner = None
        for i, thread in enumerate(self.profile["threads"]):
            if thread.get("profView") != "event":
                owner = thread
            elif owner is None or owner["pid"] != thread["pid"]:
                self.say(f"threads[{i}] is a row of an event, without its thread before it")
            elif not re.fullmatch(re.escape(owner["name"]) + r" \(.+\)", thread["name"], re.S):
                self.say(f"threads[{i}] is called {thread['name']}, not after {owner['name']}")

    def inner_stacks(self):
        """For each stack the one without its outermost frame; None if there is none."""
        table, found, inner = self.profile["shared"]["stackTable"], {}, []
        for i, (frame, distance) in enumerate(zip(table["frame"], table["prefixOffset"])):
            found[i - distance if distance else None, frame] = i
        for i, (frame, distance) in enumerate(zip(table["frame"], table["prefixOffset"])):
            parent = inner[i - distance] if distance else -1
            is_first = distance and not table["prefixOffset"][i - distance]
            inner.append(found.get((None if is_first else parent, frame)) if distance else None)
        return inner

    def cpu_rows(self):
        """Samples in the row of a CPU are in that of a thread, too, without the program's frame."""
        counts = collections.Counter()
        inner = self.inner_stacks()
        for i, thread in enumerate(self.profile["threads"]):
            table, view = thread["samples"], thread.get("profView")
            if view == "event":
                continue
            rows = weights(self.profile, table)
            for row in zip(sample_times_ns(table), table["stack"], rows, gap_rows(table)):
                if view == "cpu" and not counts[row] and row[1] is not None:
                    row = row[0], inner[row[1]], row[2], row[3]
                counts[row] += -1 if view == "cpu" else 1
                if counts[row] < 0 and not row[3]:
                    self.say(f"threads[{i}] has a sample at {row[0]} ns that no thread has")

    def samples(self, where, thread):
        table = thread.get("samples")
        stack = _index(self.profile["shared"]["stackTable"]["length"], "shared.stackTable")
        rules = {"stack": stack.or_null(), "time": NOT_NEGATIVE, "timeDeltas": NOT_NEGATIVE,
                 "weight": NOT_NEGATIVE, "threadCPUDelta": NOT_NEGATIVE}
        if type(table) is not dict or "weight" not in table:
            self.say(f"{where}.weight is missing")
            return
        if table["weight"] is None:
            del rules["weight"]
        if ("time" in table) == ("timeDeltas" in table):
            self.say(f"{where} has both or neither of time and timeDeltas")
            return
        self.field(where, table, "weightType",
                   _Rule("a type of weight", lambda v: v in ("samples", "tracing-ms", "bytes")))
        if self.table(where, table, rules, optional=("time", "timeDeltas")):
            self.sample_times(where, table, thread)
            self.weights(where, table, thread)
            self.gap_rows(where, table, thread.get("profView") == "folded")
            self.gaps(where, table, thread)
            self.waits(where, table, thread)

    def is_wait(self, stack):
        """Is the innermost frame a label that says what the thread waits for?"""
        if stack is None:
            return False
        shared = self.profile["shared"]
        category = shared["frameTable"]["category"][shared["stackTable"]["frame"][stack]]
        return category is not None and \
            self.profile["meta"]["categories"][category]["name"] in WAITS

    def waits(self, where, table, thread):
        """A wait is a label without a place, in a column of weights, and on no CPU."""
        frames, stacks = self.profile["shared"]["frameTable"], self.profile["shared"]["stackTable"]
        for i, stack in enumerate(table["stack"]):
            if not self.is_wait(stack):
                continue
            frame = stacks["frame"][stack]
            if frames["lib"][frame] != -1 or frames["address"][frame] != -1:
                self.say(f"{where}[{i}] waits in a frame that has an address")
            if table["weight"] is None:
                self.say(f"{where} has a wait, and no weights")
                return
            if thread["pid"] == "cpus":
                self.say(f"{where}[{i}] waits on a CPU")

    def weights(self, where, table, thread):
        """Samples of the clock weigh what time they stand for, those of events how many, bytes or us."""
        is_event = thread.get("profView") == "event"
        unit = next((event.get("unit") for event in self.profile["meta"].get("profEvents", [])
                     if thread["name"].endswith(f" ({event['name']})")), None)
        is_time = not is_event or unit == "microseconds"
        if table["weightType"] != ("tracing-ms" if is_time else "bytes" if unit == "bytes" else "samples"):
            self.say(f"{where}.weightType is {table['weightType']}")
            return
        unit = 0.001 if is_event and is_time else self.profile["meta"]["interval"] if is_time else 1
        for i, weight in enumerate(table["weight"] or []):
            if abs(weight - round(weight / unit) * unit) > 1e-9 * (1 + weight):
                self.say(f"{where}.weight[{i}] is {weight}, not a multiple of {unit}")

    def gap_rows(self, where, table, is_folded):
        """Rows that stand for nothing have no weight. Only the last row of a thread, or of one of
        the threads that share a row, may have CPU time that no sample has."""
        for i, is_gap in enumerate(gap_rows(table)):
            weight = 1 if table["weight"] is None else table["weight"][i]
            is_last = i + 1 == len(table["stack"]) or is_folded
            if is_gap and not is_last and table["threadCPUDelta"][i]:
                self.say(f"{where}.threadCPUDelta[{i}] is not 0 in a row without a sample")
            if weight == 0 and table["stack"][i] is not None:
                self.say(f"{where}.weight[{i}] is 0 in a row with a stack")

    def gaps(self, where, table, thread):
        """A stack ends where its thread was off the CPU for long."""
        times, interval = sample_times_ns(table), self.profile["meta"]["interval"] * 1e6
        ticks = weights(self.profile, table)
        for i in range(1, len(times)):
            passed, used = times[i] - times[i - 1], table["threadCPUDelta"][i]
            if self.is_wait(table["stack"][i - 1]):
                # It goes on until the thread uses CPU time again, or to the row with its weight.
                same = table["stack"][i] == table["stack"][i - 1] and \
                    ticks[i] + 2 >= passed // round(interval)
                passed = passed if used and not same else 0
            if table["stack"][i - 1] is not None and passed > 2 * interval + 1 and \
                    used + 1.01 * interval < passed:
                self.say(f"{where}[{i}] comes {passed} ns after the stack before it: "
                         "rows of a gap are missing")
        if times and times[0] > round(thread["registerTime"] * 1e6) + interval + 1:
            self.say(f"{where} begins long after the thread, without a row that says so")

    def sample_times(self, where, table, thread):
        """Ascending, within the thread's life; no more CPU time between two samples than time passed."""
        times = sample_times_ns(table)
        unit = self.profile["meta"]["sampleUnits"].get("threadCPUDelta")
        unit = 1 if unit == "ns" else 1000
        deltas = table["threadCPUDelta"]
        for i in range(1, len(times)):
            if times[i] < times[i - 1]:
                self.say(f"{where}.time[{i}] is before the one before it")
            # Several threads together may take more.
            elif thread.get("profView") != "folded" and deltas[i] * unit > times[i] - times[i - 1]:
                self.say(f"{where}.threadCPUDelta[{i}] is more than the time that passed")
        if not times:
            return
        if times[0] < round(thread["registerTime"] * 1e6):
            self.say(f"{where} begins before the thread's registerTime")
        end = thread["unregisterTime"]
        if end is not None and times[-1] > round(end * 1e6):
            self.say(f"{where} ends after the thread's unregisterTime")

    def markers(self, where, table):
        strings = len(self.profile["shared"]["stringArray"])
        categories = len(self.profile["meta"]["categories"])
        if not self.table(where, table, {
                "name": _index(strings, "shared.stringArray"),
                "category": _index(categories, "meta.categories"),
                "data": _Rule("an object or null", lambda v: v is None or type(v) is dict),
                "startTime": NOT_NEGATIVE.or_null(), "endTime": NOT_NEGATIVE.or_null(),
                "phase": _integer(0, 3)}):
            return
        self.used_strings.update(table["name"])
        schemas = {schema["name"]: schema for schema in self.profile["meta"]["markerSchema"]}
        for i in range(table["length"]):
            here = f"{where}[{i}]"
            start, end, phase = (table[c][i] for c in ("startTime", "endTime", "phase"))
            # 0: an instant, 1: an interval, 2 and 3: its start and its end apart
            if (start is not None) != (phase in (0, 1, 2)):
                self.say(f"{here} has phase {phase} and startTime {start}")
            elif (end is not None) != (phase in (1, 3)):
                self.say(f"{here} has phase {phase} and endTime {end}")
            elif phase == 1 and end < start:
                self.say(f"{here} ends before it starts")
            if table["data"][i] is not None:
                self.marker_data(f"{here}.data", table["data"][i], schemas)

    def marker_data(self, where, data, schemas):
        if not self.field(where, data, "type", TEXT):
            return
        schema = schemas.get(data["type"])
        if schema is None:
            self.say(f"{where} has type {_short(data['type'])}, which has no schema")
            return
        formats = {field["key"]: field["format"] for field in schema["fields"]}
        string = _index(len(self.profile["shared"]["stringArray"]), "shared.stringArray")
        stack = _index(self.profile["shared"]["stackTable"]["length"], "shared.stackTable")
        for key, value in data.items():
            if key == "type":
                continue
            if key == "cause":
                self.fields(f"{where}.cause", value, {"stack": stack.or_null()})
            elif key not in formats:
                self.say(f"{where}.{key} is no field of its schema")
            elif formats[key] in INDEX_FORMATS:
                if self.field(where, data, key, string):
                    self.used_strings.add(value)
            elif formats[key] in NUMBER_FORMATS:
                self.field(where, data, key, NUMBER)
            elif formats[key] in TEXT_FORMATS:
                self.field(where, data, key, _Rule("a string", lambda v: type(v) is str))

    def is_of_machine(self):
        """Are processes in the order of their CPU time?"""
        configuration = self.profile["meta"].get("configuration")
        features = configuration.get("features") if isinstance(configuration, dict) else None
        return isinstance(features, list) and "all-processes" in features

    def processes(self):
        """Each has one main thread, which comes first; the first process is the only "default" one,
        the others stand in order of their start."""
        done, previous = set(), None
        root = self.profile["threads"][0]["pid"]
        by_start = not self.is_of_machine()
        for i, thread in enumerate(self.profile["threads"]):
            pid, before = thread["pid"], previous
            previous = thread
            where = f"threads[{i}]"
            if (thread["processType"] == "default") != (pid == root):
                self.say(f"{where} of process {pid} has type {thread['processType']}")
            if before is not None and before["pid"] == pid:
                for key in ("processName", "processStartupTime", "processShutdownTime"):
                    if thread[key] != before[key]:
                        self.say(f"{where}.{key} differs within process {pid}")
                if thread["isMainThread"]:
                    self.say(f"{where} is one more main thread of process {pid}")
                elif not before["isMainThread"] and \
                        thread["registerTime"] < before["registerTime"]:
                    self.say(f"{where} started before the thread in front of it")
                continue
            if pid in done:
                self.say(f"{where} is apart from the other threads of process {pid}")
                continue
            done.add(pid)
            if thread["isMainThread"] != (pid != "cpus"):
                self.say(f"{where} comes first in process {pid} but is not its main thread")
            # Rows of CPUs are no process, have no main thread, and come last.
            if before is not None and before["pid"] == "cpus":
                self.say(f"{where} is behind the rows of CPUs")
            elif by_start and before is not None and pid != "cpus" and before["pid"] != root and \
                    thread["processStartupTime"] < before["processStartupTime"]:
                self.say(f"{where}: process {pid} started before the one in front of it")


def breakpad_id(build_id):
    """The breakpad id of a build id, both in hex."""
    text = (build_id + "0" * 32)[:32].upper()
    data = bytes.fromhex(text)
    return (data[3::-1] + data[5:3:-1] + data[7:5:-1] + data[8:]).hex().upper() + "0"


def _short(value):
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def sample_times_ns(table):
    """Absolute times of samples, in whole ns: cumulated rounding would show in comparisons."""
    if "time" in table:
        return [round(time * 1e6) for time in table["time"]]
    return list(itertools.accumulate(round(delta * 1e6) for delta in table["timeDeltas"]))


def weights(profile, table):
    """By row of the samples: the ticks or events that it stands for."""
    if table["weight"] is None:
        return [int(stack is not None) for stack in table["stack"]]
    unit = profile["meta"]["interval"] if table["weightType"] == "tracing-ms" else 1
    return [round(weight / unit) for weight in table["weight"]]


def gap_rows(table):
    """By row of the samples: True if it only says that the thread did not run."""
    weights = table["weight"] or [0] * table["length"]
    return [stack is None and not weight for stack, weight in zip(table["stack"], weights)]


def check(profile):
    """The profile's problems, one string each."""
    state = _Check(profile)
    state.run()
    return state.finish()
