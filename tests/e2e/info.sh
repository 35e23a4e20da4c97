#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Output of prof info for a profile, and its refusal of other files.
# May run beside others.
. "$(dirname "$0")/lib.sh"

says() { # LABEL: what stands behind it
	sed -n "s/^  $1  *//p" <<<"$out"
}
stat_of_losses() {
	python3 -c 'import json; print(json.load(open("stats"))["lost"])'
}
run "$PROF" record -e page-faults -o profile.json.gz --stats stats -- "$workloads/shares" 0.3
samples=$(python3 -c 'import json; print(json.load(open("stats"))["cpu_samples"])')
run "$PROF" info profile.json.gz
is "exit status" "$status" 0
is "nothing on standard error" "$err" ""
is "product" "$(says Product)" shares
is "command line" "$(says 'Command line')" "$workloads/shares 0.3"
is "samples" "$(says Samples | grep -o '[0-9]* ticks')" "$samples ticks"
is "processes" "$(says Processes)" 1
like "another event" "$(says page-faults)" '^[1-9][0-9]* samples'
like "threads" "$out" $'\nThreads, with their tids:\n  shares +[0-9]+\n'
like "files with names" "$(says shares)" $'\n[1-9][0-9]* of [1-9]'
is "whether anything was lost" "$(says 'Lost samples')" "$(stat_of_losses)"
like "whole stacks" "$(says 'Whole stacks')" '^[0-9.]+ %$'
"$PROF" info profile.json.gz >named.txt
run "$PROF" info --json profile.json.gz
is "JSON: exit status" "$status" 0
cat >check.py <<'CODE'
import json, re, sys
page, stats = open(sys.argv[1]).read(), json.load(open("stats"))
info = json.load(sys.stdin)
named = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"^\.It Cm (.*) No \(", page, re.M))))
assert named == set(info), named ^ set(info)
kinds = {"text": str, "number": (int, float), "object": dict, "array": list}
for names, kind in re.findall(r"^\.It Cm (.*) No \((\w+)\)", page, re.M):
    for name in names.split(" , "):
        assert info[name] is None and kind == "text" or isinstance(info[name], kinds[kind]), name
assert info["schema"] == "prof-info/1" and info["product"] == "shares" and info["processes"] == 1, info
assert info["samples"]["weight"] == stats["cpu_samples"], info["samples"]
[event] = info["events"]
assert event["name"] == "page-faults" and event["unit"] == "count" and event["samples"] > 0, event
[thread] = info["threads"]
assert isinstance(thread["tid"], int) and thread["tid"] == thread["pid"] and thread["name"] == "shares", thread
assert any(file["name"] == "shares" and 0 < file["named"] <= file["frames"] for file in info["files"]), info["files"]
CODE
is "JSON: what the page says" "$(python3 check.py "$root/man/prof-info.1" 2>&1 <<<"$out")" ""
gunzip -c profile.json.gz | "$PROF" info - >stdin.txt
is "standard input: the same" "$(tail -n +2 stdin.txt)" "$(tail -n +2 named.txt)"

gunzip -c profile.json.gz |
	sed 's/"product": *"shares"/"product":"a\\u001b[31m\\nb\\u202ec"/' >hostile.json
run "$PROF" info hostile.json
is "names steer no terminal and add no lines" "$(says Product)" 'a?[31m?b?c'
gunzip -c profile.json.gz | sed 's/"preprocessedProfileVersion": *[0-9]*/"preprocessedProfileVersion":999/' >newer.json

head -c 1000 profile.json.gz >cut.json.gz
echo text >text
refuses "a file that is cut off" 125 'cut.json.gz: the gzip data is truncated' "$PROF" info cut.json.gz
refuses "a newer version" 125 'newer.json: version 999 .* is too new' "$PROF" info newer.json
refuses "no profile" 125 'text: not a profile in a supported format' "$PROF" info text
refuses "another object" 125 'standard input: ' "$PROF" info - <<<'{"a": 1}'
refuses "a folder" 125 'Is a directory' "$PROF" info /tmp
refuses "a device without anything" 125 '/dev/null: not a profile' "$PROF" info /dev/null
refuses "no such file" 125 'No such file' "$PROF" info nowhere
refuses "no file" 2 'no file given' "$PROF" info
refuses "two files" 2 'more than one file' "$PROF" info a b
refuses "an unknown option" 2 '--samples' "$PROF" info --samples a
done_testing
