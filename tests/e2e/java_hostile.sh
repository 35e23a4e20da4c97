#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A JVM whose tables lie, beside one of the same file whose tables do not.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

source=$root/tests/workloads/java/Tree.java
run javac -d classes "$source"
is "the program is compiled" "$status" 0

# Starts a JVM, and waits until its tables are there.
start_java() {
	java -XX:+UseSerialGC -cp classes Tree 60000 1 &
	until grep -q libjvm /proc/$!/maps && grep -q "^Threads:.[0-9][0-9]" /proc/$!/status; do
		sleep 0.1
	done
}

for mode in names lies; do
	start_java
	honest=$!
	start_java
	forged=$!
	run python3 "$root/tests/e2e/forge_java.py" "$forged" "$mode"
	diagnose "$err"
	like "$mode: the tables are forged" "$out" '^[0-9]+$'
	run timeout 60 "$PROF" attach -p "$honest" -p "$forged" -d 2 --stats both.stats -o both.json.gz
	is "$mode: both are recorded" "$status" 0
	kill "$honest" "$forged"
	wait "$honest" "$forged"
	judge "$mode: each stack has a fate, and the other JVM its names" both.json.gz both.stats "$honest" <<'CODE'
import json
r = json.load(open(args[0]))["runtimes"]
expect(sum(r[key] for key in ("whole", "idle", "threadless", "copied", "torn", "cut", "unplaced")) >=
       r["samples"], r)
named = java = 0
for thread, _, _, frames in samples():
    if str(thread["pid"]).split(".")[0] == args[1] and any(f["category"] == "Java" for f in frames):
        java += 1
        named += any(f["name"].startswith("Tree.") for f in frames)
expect(java > 20 and named > 0.9 * java, f"{named} of {java}")
CODE
done
done_testing
