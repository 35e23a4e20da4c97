#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Spans and resources that programs publish as OpenTelemetry specifies: their samples have the ids of
# their trace and span, in whatever way the thread-local variable is reached.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

source=$root/tests/workloads/otel
flags=(-g -O1 -fno-omit-frame-pointer)
dialect=()
[ "$(uname -m)" != x86_64 ] || dialect=(-mtls-dialect=gnu2)
cc "${flags[@]}" -o work "$source/work.c" -pthread
cc "${flags[@]}" -rdynamic -o whole "$source/work.c" "$source/context.c" -pthread
cc "${flags[@]}" -shared -fPIC -o libtraditional.so "$source/context.c"
cc "${flags[@]}" "${dialect[@]}" -shared -fPIC -o libdescriptor.so "$source/context.c"
cc "${flags[@]}" -ftls-model=initial-exec -shared -fPIC -o libfixed.so "$source/context.c"
# Has too many variables for the room that the dynamic linker keeps for libraries loaded later.
cc "${flags[@]}" "${dialect[@]}" -shared -fPIC -o liblarge.so "$source/context.c" \
	-x c - <<<'__thread char large[1 << 16];'
cat >all.sh <<'SH'
./whole - 50
for library in traditional descriptor fixed large; do
	./work ./lib$library.so 50
done
SH
record spans 0 -F 999 -- sh -e all.sh
judge "each sample has the ids of its span, and no other has" spans.json.gz <<'CODE'
import collections
labels, resources = collections.defaultdict(list), []
for t, _, start, end, data in check_profile.markers(p):
    if data and data["type"] == "sample label":
        labels[t["pid"], t["tid"]].append((start, end, data["key"], data["text"]))
    if data and data["type"] == "resource":
        resources.append(data["attributes"])
expect(resources == ["deployment.environment.name=test,service.name=shop"] * 5, resources)
known, seen = {}, collections.Counter()
for (pid, _), rows in labels.items():
    known[pid] = min([known.get(pid, 1e9), *(start for start, *_ in rows)])
expect(len(known) == 5, f"labels in {len(known)} processes")
for t, time, _, frames in samples():
    names = {f["name"] for f in frames}
    first = 0x11 if t["isMainThread"] else 0x21
    got = {key: text for start, end, key, text in labels[t["pid"], t["tid"]] if start <= time < end}
    for name, byte in ("in_first", first), ("in_second", first + 0x40):
        if name in names:
            wanted = {"trace_id": f"{byte:02x}" * 16, "span_id": f"{byte + 1:02x}" * 8}
            # Until the library was found, there are none.
            expect(got == wanted or not got and time < known[t["pid"]], f"{time}: {got}, not {wanted}")
            seen[t["pid"], t["isMainThread"], name] += got == wanted
    if names & {"before_all", "between", "after_all"}:
        expect(not got, f"{time}: {got} in {names}")
for pid in known:
    expect(seen[pid, True, "in_second"] and seen[pid, False, "in_second"], seen)
CODE

"$PROF" convert --to pprof spans.json.gz -o spans.pb.gz
"$PROF" convert --to firefox spans.pb.gz -o again.json.gz
judge "pprof: the labels of samples" again.json.gz <<'CODE'
texts = {(data["key"], data["text"]) for *_, data in check_profile.markers(p)
         if data and data["type"] == "sample label"}
expect(("trace_id", "51" * 16) in texts and ("span_id", "52" * 8) in texts, texts)
CODE
mkdir -p sink/each
start python3 "$root/tests/fake_engine.py" sink
wait_until test -s sink/port
"$PROF" push -q spans.json.gz "otlp+http://127.0.0.1:$(<sink/port)"
python3 "$root/tests/otlp_rules.py" sink/each/* >rules
ok "OTLP: links, and the service" python3 - rules <<'PYTHON'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
links = {key: n for line in lines for key, n in line["links"].items()}
for first in 0x11, 0x21:
    assert links[f"{first + 0x40:02x}" * 16 + " " + f"{first + 0x41:02x}" * 8] > 0, links
assert {r["service.name"] for line in lines for r in line["resources"]} == {"shop", "sh"}, lines
PYTHON
done_testing
