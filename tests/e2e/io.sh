#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --io: who asked a disk for which bytes, and what the kernel writes later, of nobody.
. "$(dirname "$0")/lib.sh"

find_disk "io-$$"
file=$disk
rm -f "$file"
record some 0 --io -- "$workloads/io" "$file"
echo "$out" >some.told
judge "each request is a marker of who asked for it" some.json.gz some.told some.stats <<'CODE'
import json
strings = p["shared"]["stringArray"]
told = {name: int(size) for name, size in map(str.split, open(args[0]))}
found, recorded = {}, 0
for t in p["threads"]:
    m = t["markers"]
    for i in range(m["length"]):
        if not strings[m["name"][i]].startswith("I/O "):
            continue
        data = m["data"][i]
        recorded += 1
        who = t["name"]
        if "cause" in data:
            names = {f["name"] for f in check_profile.stack_frames(p, data["cause"]["stack"])}
            who = next((name for name in told if name in names), who)
        key = who, strings[data["operation"]]
        found[key] = found.get(key, 0) + data["bytes"]
        expect(m["endTime"][i] >= m["startTime"][i] and strings[data["device"]], data)
        expect(strings[data["status"]] == "done", data)
# The file system may read and write some blocks of its own.
for who, operation in ("write_directly", "write"), ("read_directly", "read"):
    expect(told[who] <= found.get((who, operation), 0) <= 1.2 * told[who], (who, found))
expect(("write_later", "write") not in found, found)
expect(found.get(("Write-back", "write"), 0) >= told["write_later"], found)
stats = json.load(open(args[1]))["io"]
expect(stats == {"recorded": recorded, "lost": 0}, (stats, recorded))
CODE
like "the summary says how many" "$err" 'io: [0-9]+, 0 lost'
ok "report lists them" sh -c "'$PROF' report --markers --format csv some.json.gz | grep -q 'I/O.*Operation: write, Bytes: 66 kB'"
ok "report selects by them" "$PROF" report --include-idle --during 'I/O *' some.json.gz
ok "they are known to be harmless" sh -c \
	"'$PROF' convert --sanitize -o clean.json.gz some.json.gz && '$PROF' report --markers --format csv clean.json.gz | grep -q 'I/O.*Operation: read'"

record slow 0 --io=3600000 -- "$workloads/io" "$file"
judge "quick ones are left out" slow.json.gz slow.stats <<'CODE'
import json
expect(json.load(open(args[0]))["io"]["recorded"] == 0, "recorded")
CODE
record none 0 -- "$workloads/io" "$file"
judge "without the option there are none" none.json.gz none.stats <<'CODE'
import json
expect("I/O" not in [s["name"] for s in p["meta"]["markerSchema"]], "a schema")
expect("io" not in json.load(open(args[0])), "statistics")
CODE
refuses "a length is a number" 2 "--io" "$PROF" record --io=none -- touch started
done_testing
