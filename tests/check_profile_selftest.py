# SPDX-License-Identifier: MIT
"""Shows that the checker can fail: a valid profile is broken in one way at a time."""

import copy
import gzip
import json

import check_profile


INTERVAL = 1.001001


def _table(**columns):
    return dict(columns, length=len(next(iter(columns.values()))))


def _thread(name, pid, tid, main, stacks, deltas):
    return {
        "name": name, "processName": "make", "isMainThread": main,
        "processType": "default" if pid == "10" else "process",
        "pid": pid, "tid": tid, "pausedRanges": [], "showMarkersInTimeline": True,
        "registerTime": {11: 0.5, "13+": 2.25}.get(tid, 0), "unregisterTime": None,
        "processStartupTime": 0 if pid == "10" else 2.25, "processShutdownTime": 20,
        "samples": dict(_table(stack=stacks, timeDeltas=deltas,
                               threadCPUDelta=[0 if stack is None else 1000000
                                               for stack in stacks]),
                        weight=[0 if stack is None else INTERVAL for stack in stacks],
                        weightType="tracing-ms"),
        "markers": _table(name=[], category=[], data=[], startTime=[], endTime=[], phase=[]),
    }


def valid_profile():
    """Two processes, three threads that wait, the row of a CPU, a chain of inlined functions,
    kernel and anonymous code."""
    strings = ["main", "parse", "next_char", "parse.c", "app", "[kernel.kallsyms]", "do_idle",
               "0x7f0000001000", "exec", "/bin/true", "rename", "worker"]
    meta = {
        "version": 36, "preprocessedProfileVersion": 70, "interval": INTERVAL,
        "startTime": 1.7e12, "endTime": 1.7e12 + 20, "profilingStartTime": 0,
        "profilingEndTime": 20, "processType": 0, "stackwalk": 1, "product": "make",
        "oscpu": "Linux 6.1.0 x86_64", "mainMemory": 1 << 30, "symbolicated": True,
        "startTimeAsClockMonotonicNanosecondsSinceBoot": 12345,
        "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
        "configuration": {"threads": [], "features": ["cpu-clock"], "capacity": 1024},
        "extra": [{"label": "Losses", "entries": [
            {"label": "Ring full", "format": "integer", "value": 0}]}],
        "keepProfileThreadOrder": True, "usesOnlyOneStackType": True,
        "sourceCodeIsNotOnSearchfox": True, "updateChannel": "release",
        "symbolicationNotSupported": True,
        "initialVisibleThreads": [0, 1], "initialSelectedThreads": [1],
        "categories": [{"name": "Other", "color": "grey", "subcategories": ["Other"]},
                       {"name": "User", "color": "yellow", "subcategories": ["Other", "Guess"]},
                       {"name": "Kernel", "color": "orange", "subcategories": ["Other"]}],
        "markerSchema": [{"name": "exec", "display": ["marker-chart"],
                          "tooltipLabel": "{marker.data.program}",
                          "fields": [{"key": "program", "label": "Program",
                                      "format": "unique-string"},
                                     {"key": "count", "format": "integer"}]}],
    }
    libs = [{"name": "app", "path": "/bin/app", "debugName": "app", "debugPath": "/bin/app",
             "arch": "x86_64", "codeId": "510d0a5c19eadf8043f203b4525be9be3dcb9554",
             "breakpadId": "5C0A0D51EA1980DF43F203B4525BE9BE0"},
            {"name": "[kernel.kallsyms]", "path": "[kernel.kallsyms]",
             "debugName": "[kernel.kallsyms]", "debugPath": "[kernel.kallsyms]", "arch": None,
             "codeId": None, "breakpadId": "0" * 33}]
    shared = {
        "stringArray": strings,
        "sources": _table(id=[None], filename=[3], startLine=[1], startColumn=[1],
                          sourceMapURL=[None], content=[None]),
        "sourceLocationTable": _table(source=[], line=[], column=[]),
        "resourceTable": _table(name=[4, 5], host=[None] * 2, type=[1, 1]),
        "nativeSymbols": _table(libIndex=[0, 0, 1], address=[0x1000, 0x2000, 0x40],
                                name=[0, 1, 6], functionSize=[0x100, 0x80, None]),
        "funcTable": _table(name=[0, 1, 2, 6, 7], isJS=[False] * 5, relevantForJS=[False] * 5,
                            resource=[0, 0, 0, 1, -1], source=[0, 0, 0, None, None],
                            lineNumber=[None] * 5, columnNumber=[None] * 5,
                            originalLocation=[None] * 5),
        "frameTable": _table(address=[0x1010, 0x2004, 0x2004, 0x44, -1],
                             lib=[0, 0, 0, 1, -1], inlineDepth=[0, 0, 1, 0, 0],
                             category=[1, 1, 1, 2, 1], subcategory=[0, 0, 1, 0, 0],
                             func=[0, 1, 2, 3, 4], nativeSymbol=[0, 1, 1, 2, None],
                             innerWindowID=[None] * 5, line=[12, 34, 56, None, None],
                             column=[None] * 5, originalLocation=[None] * 5),
        "stackTable": _table(frame=[0, 1, 2, 3, 4], prefixOffset=[0, 1, 1, 1, 4]),
    }
    threads = [_thread("make", "10", 10, True, [2, 2, 3], [0.5, 1.000001, 1]),
               _thread("worker", "10", 11, False, [None, 4, None, None, 4], [0.5, 2.5, 1, 4, 1]),
               _thread("sh", "12", 12, True, [None, 1], [0, 4.5]),
               dict(_thread("cc × 9", "13+", "13+", True, [1, 1], [2.5, 0.5]),
                    profView="folded"),
               dict(_thread("CPU 0", "cpus", "cpu0", False, [2], [0.5]), profView="cpu")]
    threads[0]["markers"] = _table(
        name=[8, 10], category=[0, 0], startTime=[1.5, 2], endTime=[None, 3], phase=[0, 1],
        data=[{"type": "exec", "program": 9, "count": 1}, {"type": "exec", "program": 11}])
    threads[2]["samples"]["weight"] = [0, 3 * INTERVAL]
    return {"meta": meta, "libs": libs, "shared": shared, "threads": threads}


# The fault (as statements on p, the profile), and the checker's expected message.
BREAKAGES = [
    ("del p['meta']", "profile.meta is missing"),
    ("p['meta']['preprocessedProfileVersion'] = 69", "preprocessedProfileVersion is not 70"),
    ("p['meta']['interval'] = 0", "meta.interval"),
    ("del p['meta']['startTime']", "meta.startTime is missing"),
    ("p['meta']['profilingEndTime'] = -1", "meta.profilingEndTime"),
    ("p['meta']['profilingStartTime'] = 21", "profilingEndTime is before"),
    ("p['meta']['endTime'] = 1", "endTime is before"),
    ("p['meta']['product'] = ''", "meta.product"),
    ("p['meta']['symbolicated'] = 1", "meta.symbolicated"),
    ("p['meta']['toolkit'] = 'gtk'", "meta.toolkit"),
    ("p['meta']['appBuildID'] = '0.1'", "meta.appBuildID"),
    ("del p['meta']['updateChannel']", "meta.updateChannel"),
    ("p['meta']['symbolicated'] = False", "meta.symbolicationNotSupported"),
    ("del p['meta']['symbolicationNotSupported']", "meta.symbolicationNotSupported"),
    ("p['meta']['categories'].append(dict(name='Idle', color='transparent', "
     "subcategories=['Other']))", "Idle, is used by no frame"),
    ("p['meta']['mainMemory'] = 0", "meta.mainMemory"),
    ("p['meta']['oscpu'] = None", "meta.oscpu"),
    ("p['meta']['sampleUnits']['threadCPUDelta'] = 'us'", "sampleUnits.threadCPUDelta"),
    ("p['meta']['configuration']['features'] = [1]", "configuration.features"),
    ("p['meta']['configuration']['duration'] = 0", "configuration.duration"),
    ("p['meta']['extra'][0]['entries'][0]['value'] = '0'", "entries[0].value"),
    ("p['meta']['extra'][0]['entries'][0]['format'] = 'unique-string'", "entries[0].format"),
    ("p['meta']['initialVisibleThreads'] = [0, 5]", "is not a thread"),
    ("p['meta']['initialVisibleThreads'] = []", "initialVisibleThreads is empty"),
    ("p['meta']['initialVisibleThreads'] = [1, 1]", "has a thread twice"),
    ("p['meta']['initialSelectedThreads'] = [2]", "has no thread that is visible"),
    ("p['meta']['categories'] = []", "meta.categories has 0 entries"),
    ("p['meta']['categories'][0]['color'] = 'gray'", "categories[0].color"),
    ("p['meta']['categories'][0]['color'] = 'red'", "no grey one"),
    ("p['meta']['categories'][1]['name'] = 'Other'", "same name"),
    ("p['meta']['categories'][1]['subcategories'] = []", "does not start with Other"),
    ("p['meta']['markerSchema'][0]['display'] = ['chart']", "display has"),
    ("p['meta']['markerSchema'][0]['fields'][1]['format'] = 'int'", "fields[1].format"),
    ("p['meta']['markerSchema'][0]['fields'][1]['key'] = 'program'", "same key"),
    ("p['meta']['markerSchema'][0]['tooltipLabel'] = '{marker.data.name}'", "is no field"),
    ("p['meta']['markerSchema'].append(p['meta']['markerSchema'][0])", "same name"),
    ("p['meta']['markerSchema'] = []", "has no schema"),
    ("p['libs'][0]['debugName'] = 'a/b'", "contains a slash"),
    ("p['libs'][0]['breakpadId'] = 'x' * 33", "libs[0].breakpadId"),
    ("p['libs'][0]['breakpadId'] = 'A' * 33", "does not belong to its codeId"),
    ("p['libs'][0]['codeId'] = 'ABC'", "libs[0].codeId"),
    ("p['libs'][0]['path'] = ''", "libs[0].path"),
    ("del p['libs'][0]['arch']", "libs[0].arch is missing"),
    ("p['libs'][1].update(p['libs'][0])", "same (debugName, breakpadId)"),
    ("p['libs'].append(dict(p['libs'][0], debugName='c'))", "libs[2] is used by no frame"),
    ("p['shared']['stringArray'][1] = 'main'", "same string"),
    ("p['shared']['stringArray'][1] = None", "is not a string"),
    ("p['shared']['stringArray'][1] = '\\ud800'", "surrogate"),
    ("p['shared']['stringArray'].append('more')", "used by nothing"),
    ("p['shared']['stringArray'][0] = ''", "funcTable.name[0] is empty"),
    ("p['shared']['sources']['filename'][0] = 12", "sources.filename[0]"),
    ("p['shared']['sources']['startLine'][0] = 0", "sources.startLine[0]"),
    ("del p['shared']['sourceLocationTable']", "sourceLocationTable is not an object"),
    ("p['shared']['resourceTable']['type'][0] = 6", "resourceTable.type[0]"),
    ("p['shared']['nativeSymbols']['libIndex'][2] = 2", "nativeSymbols.libIndex[2]"),
    ("p['shared']['nativeSymbols']['address'][1] = 0x1000", "same (lib, address)"),
    ("p['shared']['nativeSymbols']['functionSize'][0] = 0", "functionSize[0]"),
    ("p['shared']['nativeSymbols']['functionSize'][0] = 0x10", "outside its native symbol"),
    ("p['shared']['nativeSymbols']['address'][0] = 0x1011", "outside its native symbol"),
    ("p['shared']['funcTable']['isJS'][0] = 0", "funcTable.isJS[0]"),
    ("p['shared']['funcTable']['source'][0] = 1", "funcTable.source[0]"),
    ("p['shared']['funcTable']['resource'][0] = -2", "funcTable.resource[0]"),
    ("p['shared']['funcTable']['name'][1] = 0", "same (name, resource, source, line)"),
    ("p['shared']['funcTable']['lineNumber'].append(None)", "6 values instead of 5"),
    ("p['shared']['frameTable']['address'][0] = 2**31", "frameTable.address[0]"),
    ("p['shared']['frameTable']['address'][0] = None", "frameTable.address[0]"),
    ("p['shared']['frameTable']['address'][0] = 4112.0", "frameTable.address[0]"),
    ("p['shared']['frameTable']['lib'][0] = -1", "has lib -1 but address 4112"),
    ("p['shared']['frameTable']['address'][0] = -1", "has lib 0 but address -1"),
    ("p['shared']['frameTable']['lib'][3] = 0", "native symbol of another lib"),
    ("p['shared']['frameTable']['inlineDepth'][0] = 256", "inlineDepth[0]"),
    ("p['shared']['frameTable']['category'][0] = 3", "frameTable.category[0]"),
    ("p['shared']['frameTable']['subcategory'][0] = None", "subcategory None"),
    ("p['shared']['frameTable']['subcategory'][0] = 2", "unknown in its category"),
    ("p['shared']['frameTable']['func'][0] = None", "frameTable.func[0]"),
    ("p['shared']['frameTable']['line'][0] = 0", "frameTable.line[0]"),
    ("del p['shared']['frameTable']['innerWindowID']", "innerWindowID is not a column"),
    ("p['shared']['stackTable']['frame'][4] = 5", "stackTable.frame[4]"),
    ("p['shared']['stackTable']['prefixOffset'][0] = 1", "leads before the table"),
    ("p['shared']['stackTable']['prefixOffset'][4] = -1", "prefixOffset[4]"),
    ("p['shared']['stackTable'].update(frame=[0, 1, 2, 3, 0], prefixOffset=[0, 1, 1, 1, 0])",
     "same (parent, frame)"),
    ("p['shared']['stackTable']['prefixOffset'][2] = 0", "has no caller"),
    ("p['shared']['stackTable']['prefixOffset'][2] = 2", "at another place than its caller"),
    ("p['shared']['frameTable']['inlineDepth'][2] = 2", "has depth 2, its caller 0"),
    ("p['shared']['frameTable']['address'][2] += 1", "at another place than its caller"),
    ("p['threads'] = []; p['meta'].update(initialVisibleThreads=[], initialSelectedThreads=[])",
     "threads is empty"),
    ("p['threads'][0]['name'] = ''", "threads[0].name"),
    ("p['threads'][0]['pid'] = 10", "threads[0].pid"),
    ("p['threads'][1]['tid'] = 10", "same tid"),
    ("p['threads'][0]['processType'] = 'plugin'", "threads[0].processType"),
    ("p['threads'][1]['processType'] = 'process'", "threads[1] of process 10 has type process"),
    ("p['threads'][2]['processType'] = 'default'", "threads[2] of process 12 has type default"),
    ("p['threads'][4]['isMainThread'] = True", "comes first in process cpus"),
    ("p['threads'][4]['profView'] = 'cpus'", "threads[4].profView"),
    ("p['threads'][3]['pid'] = '13'", "has pid 13 and profView folded"),
    ("p['threads'][2]['profView'] = 'folded'", "has pid 12 and profView folded"),
    ("del p['threads'][3]['profView']", "has pid 13+ and profView None"),
    ("p['threads'][2]['samples'].update(stack=[1, 1], timeDeltas=[0.5, 0.5], "
     "threadCPUDelta=[0, 1000000], weight=[1.001001] * 2)", "more than the time that"),
    ("p['threads'][1]['profView'] = None", "threads[1].profView"),
    ("del p['threads'][4]['profView']", "has pid cpus and profView None"),
    ("p['threads'][1]['profView'] = 'cpu'", "has pid 10 and profView cpu"),
    ("p['threads'][0]['profView'] = 'event'", "is a main thread and a row of an event"),
    ("p['threads'].insert(3, dict(p['threads'][2], tid='12.1', name='ssh (faults)', "
     "isMainThread=False, profView='event'))", "is called ssh (faults), not after sh"),
    ("p['threads'].insert(3, dict(p['threads'][2], tid='9', pid='9', name='sh (faults)', "
     "isMainThread=False, profView='event'))", "without its thread before it"),
    ("p['threads'][4]['samples']['stack'] = [3]", "has a sample at 500000 ns that no thread has"),
    ("p['threads'][4]['samples']['weight'] = [2.002002]", "has a sample at 500000 ns that no thread has"),
    ("p['threads'][0]['isMainThread'] = False", "is not its main thread"),
    ("p['threads'][1]['isMainThread'] = True", "one more main thread"),
    ("p['threads'][1]['processName'] = 'other'", "differs within process"),
    ("p['threads'].insert(2, p['threads'].pop(1))", "apart from the other threads"),
    ("p['threads'][2]['processStartupTime'] = -0.5", "processStartupTime"),
    ("p['threads'].insert(0, dict(p['threads'][0], pid='cpus', tid='cpu0'))",
     "behind the rows of CPUs"),
    ("p['threads'].insert(3, dict(p['threads'][2], pid='13', tid=13, processStartupTime=1))",
     "started before the one in front"),
    ("p['threads'].insert(2, dict(p['threads'][1], tid=13, registerTime=0.25))",
     "started before the thread in front"),
    ("p['threads'][0]['unregisterTime'] = -1", "unregisterTime"),
    ("p['threads'][1]['unregisterTime'] = 0.25", "unregisterTime is before"),
    ("p['threads'][0]['processShutdownTime'] = '20'", "processShutdownTime"),
    ("del p['threads'][0]['pausedRanges']", "pausedRanges is missing"),
    ("del p['threads'][0]['samples']", "samples.weight is missing"),
    ("p['threads'][0]['samples']['stack'].pop()", "samples.stack has 2 values instead of 3"),
    ("p['threads'][0]['samples']['stack'][0] = 5", "samples.stack[0]"),
    ("p['threads'][0]['samples']['timeDeltas'][1] = -0.1", "samples.timeDeltas[1]"),
    ("p['threads'][0]['samples']['time'] = [1, 2, 3]", "both or neither"),
    ("del p['threads'][0]['samples']['timeDeltas']", "both or neither"),
    ("s = p['threads'][0]['samples']; del s['timeDeltas']; s['time'] = [1, 3, 2]",
     "is before the one before it"),
    ("p['threads'][0]['samples']['weightType'] = 'ticks'", "weightType"),
    ("p['threads'][0]['samples']['weightType'] = 'samples'", "weightType is samples"),
    ("p['threads'][2]['samples']['weight'][1] = 3", "weight[1] is 3, not a multiple of 1.001001"),
    ("p['threads'][2]['samples']['weight'][0] = -1", "samples.weight[0]"),
    ("p['threads'][2]['samples']['weight'][1] = 0", "is 0 in a row with a stack"),
    ("p['threads'][1]['samples']['threadCPUDelta'][2] = 1", "in a row without a sample"),
    ("s = p['threads'][1]['samples']; s['stack'][2] = s['stack'][3] = 4",
     "rows of a gap are missing"),
    ("p['threads'][2]['samples']['timeDeltas'][0] = 1.1", "begins long after the thread"),
    ("p['threads'][0]['samples']['threadCPUDelta'][1] = -5", "threadCPUDelta[1]"),
    ("del p['threads'][0]['samples']['threadCPUDelta']", "threadCPUDelta is not a column"),
    ("p['threads'][0]['samples']['threadCPUDelta'][1] = 1000002", "more than the time that"),
    ("p['threads'][0]['registerTime'] = 0.500001", "before the thread's registerTime"),
    ("p['threads'][0]['unregisterTime'] = 2.5", "after the thread's unregisterTime"),
    ("p['threads'][0]['markers']['name'][0] = 12", "markers.name[0]"),
    ("p['threads'][0]['markers']['category'][0] = None", "markers.category[0]"),
    ("p['threads'][0]['markers']['phase'][0] = 4", "markers.phase[0]"),
    ("p['threads'][0]['markers']['endTime'][0] = 2", "has phase 0 and endTime 2"),
    ("p['threads'][0]['markers']['startTime'][0] = None", "has phase 0 and startTime None"),
    ("p['threads'][0]['markers']['endTime'][1] = 1", "ends before it starts"),
    ("p['threads'][0]['markers']['data'][0] = 1", "markers.data[0]"),
    ("p['threads'][0]['markers']['data'][0]['type'] = 'fork'", "has no schema"),
    ("p['threads'][0]['markers']['data'][0]['program'] = 'x'", "data.program"),
    ("p['threads'][0]['markers']['data'][0]['count'] = '1'", "data.count"),
    ("p['threads'][0]['markers']['data'][0]['other'] = 1", "no field of its schema"),
    ("p['threads'][0]['markers']['data'][0]['cause'] = {'stack': 9}", "cause.stack"),
    ("p['threads'][0]['markers']['length'] = 3", "markers.name has 2 values instead of 3"),
]


def _containers(text):
    """(bytes of a file, what must be said about it)"""
    packed = gzip.compress(text)
    return [
        (text, None), (packed, None),
        (packed + gzip.compress(b""), "more than one member"),
        (packed + b"\0", "1 bytes behind the member"),
        (packed[:-1], "cut off"),
        (packed[:-4] + b"\0\0\0\0", "gzip"),
        (text[:-1], "JSON"),
        (text + b" {}", "JSON"),
        (b"[]", "not an object"),
        (text.replace(b'"worker"', b'"work\xe9r"'), "not UTF-8"),
        (text.replace(b"1.001001", b"NaN"), "NaN"),
        (text.replace(b'"version": 36', b'"version": 36, "version": 36'), "twice"),
    ]


def _reading():
    """Checks the functions that tests read profiles with; yields what is wrong."""
    p = valid_profile()
    rows = list(check_profile.samples(p))
    expected = [("make", 0.5, 1), ("make", 1.500001, 1), ("make", 2.500001, 1),
                ("worker", 3.0, 1), ("worker", 9.0, 1), ("sh", 4.5, 3), ("cc × 9", 2.5, 1),
                ("cc × 9", 3.0, 1), ("CPU 0", 0.5, 1)]
    if [(t["name"], time, weight) for t, time, weight, _ in rows] != expected:
        yield f"samples: {rows}"
    names = [[frame["name"] for frame in frames] for _, _, _, frames in rows]
    chain = ["main", "parse", "next_char"]
    jit = ["main", "0x7f0000001000"]
    if names != [chain, chain, chain + ["do_idle"], jit, jit, *3 * [chain[:2]], chain]:
        yield f"names: {names}"
    frame = {"name": "next_char", "file": "parse.c", "line": 56, "lib": "app",
             "inlineDepth": 1, "address": 0x2004, "category": "User", "subcategory": "Guess",
             "symbol": "parse"}
    if rows[0][3][-1] != frame or check_profile.stack_frames(p, 2)[-1] != frame:
        yield f"frame: {rows[0][3][-1]}"
    own, total = check_profile.shares(p)
    if (own["parse"], own["next_char"], total["main"]) != (5 / 11, 3 / 11, 1):
        yield f"shares: {own} {total}"
    if (check_profile.sample_count(p), check_profile.total_weight(p)) != (9, 11):
        yield "sample_count or total_weight"
    if check_profile.gap_rows(p) != 4 or check_profile.gap_rows(p, p["threads"][2]) != 1:
        yield "gap_rows"
    if [check_profile.view(t) for t in p["threads"]] != [None, None, None, "folded", "cpu"]:
        yield "view"
    if [m[1:] for m in check_profile.markers(p)] != [
            ("exec", 1.5, None, {"type": "exec", "program": "/bin/true", "count": 1}),
            ("rename", 2, 3, {"type": "exec", "program": "worker"})]:
        yield f"markers: {list(check_profile.markers(p))}"
    if list(check_profile.processes(p)) != ["10", "12", "13+", "cpus"]:
        yield "processes"
    if check_profile.thread_names(p)[1] != ("10", 11, "make", "worker"):
        yield "thread_names"


def _paths(value, path=()):
    """Places of all values inside this one, as keys to follow."""
    keys = value if isinstance(value, dict) else range(len(value)) \
        if isinstance(value, list) else ()
    for key in keys:
        yield path + (key,)
        yield from _paths(value[key], path + (key,))


def _rubbish():
    """The checker reports garbage and does not crash on it; yields its crashes."""
    for path in _paths(valid_profile()):
        for wrong in (None, -1, 10**30, "x", [], {}):
            profile = valid_profile()
            inner = profile
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = wrong
            try:
                check_profile.check(profile)
            except Exception as e:
                yield f"{path} = {wrong!r} raises {e!r}"


def run():
    wrong = [f"valid profile: {problem}" for problem in check_profile.check(valid_profile())]
    for statements, expected in BREAKAGES:
        profile = copy.deepcopy(valid_profile())
        exec(statements, {"p": profile})
        try:
            found = check_profile.check(profile)
        except Exception as e:  # a checker that breaks is no checker
            found = [f"raises {e!r}"]
        if not any(expected in problem for problem in found):
            wrong.append(f"{statements}: expected {expected!r}, found {found}")
    containers = _containers(json.dumps(valid_profile(), ensure_ascii=False).encode())
    for i, (data, expected) in enumerate(containers):
        try:
            check_profile.parse(data)
            found = None
        except check_profile.ProfileError as e:
            found = str(e)
        if (expected is None) != (found is None) or expected and expected not in found:
            wrong.append(f"container {i}: expected {expected!r}, found {found!r}")
    wrong += [f"reading: {problem}" for problem in _reading()]
    wrong += [f"rubbish: {problem}" for problem in _rubbish()]
    for problem in wrong:
        print(problem)
    print(f"self-test: {len(BREAKAGES)} breakages, {len(containers)} containers, "
          f"{len(wrong)} wrong")
    return 1 if wrong else 0
