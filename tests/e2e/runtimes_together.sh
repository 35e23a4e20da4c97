#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Several runtimes in one process: stacks have the functions of all.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
python=$(python3 -c 'import sys; print(sys.executable)')
together=$root/tests/workloads/together/together.py
libruby=$(ruby -e 'puts RbConfig::CONFIG["LIBRUBY_SONAME"]')
javac=$(readlink -f "$(command -v javac)")
libjvm=${javac%/bin/javac}/lib/server/libjvm.so

# A part's share of the CPU time of all parts is what the program measured. A function belongs to one part.
cat >shares.py <<'CODE'
own = dict(line.split() for line in open(args[0]))
wanted = dict(zip(args[1::2], args[2::2]))
found = dict.fromkeys(own, 0)
for _, _, weight, frames in samples():
    names = {f["name"].split(".")[-1] for f in frames}
    for part, function in wanted.items():
        found[part] += weight * (function in names)
total = sum(found.values())
expect(total > 300, found)
for part, share in own.items():
    expect(abs(100 * found[part] / total - float(share)) < 8, f"{part}: {found}, own {own}")
CODE
shares() { # TEXT NAME [PART FUNCTION]...
	judge "$1" "$2.json.gz" "$2.out" "${@:3}" <shares.py
}
judge_whole() { # NAME VERSION...
	judge "$1: nearly all stacks have all functions, of $2 and $3" "$1.json.gz" "$1.stats" "${@:2}" <<'CODE'
import json
r = json.load(open(args[0]))["runtimes"]
expect(r["whole"] > 500, r)
expect(r["torn"] + r["unplaced"] + r["missed"] <= 0.02 * r["whole"] + 20, r)
for name in args[1:]:
    expect(name in r["versions"], r)
CODE
}

run javac -d classes "$root/tests/workloads/together/Together.java"
is "the classes are compiled" "$status" 0
record java 0 -F 1999 --syscalls=0 --off-cpu all -- "$python" "$together" java "$libjvm" classes 3
echo "$out" >java.out
for runtime in Python Java; do
	like "$runtime has a line of its own in the summary" "$err" \
		"prof: $runtime [0-9.]+: [0-9.]+ % of [0-9]+ stacks; [0-9]+ functions"
done
judge_whole java Python Java
shares "a virtual machine in Python: shares are those of the program's own clock" java \
	java spin through called_back python python_part
cat >chain.py <<'CODE'
CHAIN = ["run_java", "through_part", "Together.through", "Together.middle", "called_back"]
def is_chain(frames):
    at, names = -1, [f["name"].replace("run_java.<locals>.", "") for f in frames]
    for name in CHAIN:
        if name not in names[at + 1:]:
            return False
        at = names.index(name, at + 1)
    return True
CODE
judge "Python calls Java, which calls Python" java.json.gz <<CODE
$(cat chain.py)
running = waiting = 0
for _, _, weight, frames in samples():
    if any(f["name"] == "called_back" for f in frames):
        # A callback that has just begun, or ends, has no frame of its own.
        running += weight if is_chain(frames) else 0
expect(running > 100, running)
asleep = [(time, f) for _, time, _, f in waits() if any(x["name"] == "called_back" for x in f)]
whole = [time for time, frames in asleep if is_chain(frames)]
expect(len(whole) > 20, len(whole))
for time, frames in asleep:
    # The first stacks are taken before Java's virtual machine is known.
    expect(is_chain(frames) or time < min(whole), [f["name"] for f in frames])
CODE
judge "so do the stacks of markers" java.json.gz <<CODE
$(cat chain.py)
strings = p["shared"]["stringArray"]
found = 0
for t in p["threads"]:
    for name, data in zip(t["markers"]["name"], t["markers"]["data"]):
        if data and "cause" in data and strings[name] == "clock_nanosleep":
            found += is_chain(check_profile.stack_frames(p, data["cause"]["stack"]))
expect(found > 20, found)
CODE

record ruby 0 -F 1999 -- "$python" "$together" ruby "$libruby" 2
echo "$out" >ruby.out
judge_whole ruby Python Ruby
shares "Ruby in Python: shares are those of the program's own clock" ruby \
	ruby ruby_part python python_part
judge "functions of both are on one stack" ruby.json.gz <<'CODE'
import collections
found = collections.Counter()
for _, _, weight, frames in samples():
    names = [f["name"] for f in frames]
    if "Object#ruby_leaf" in names:
        outer = names[:names.index("Object#ruby_leaf")]
        found[any(name.endswith("ruby_part") for name in outer)] += weight
expect(found[True] > 100 and found[False] <= 0.01 * found[True], found)
CODE

for way in mapped loaded_anew; do
	record "$way" 0 -F 1999 -- "$python" "$together" "$way" "$libruby" 1
	judge "a library of Ruby that never starts takes no functions away: $way" "$way.json.gz" "$way.stats" <<'CODE'
import json
found = sum(w for _, _, w, frames in samples() if any(f["name"] == "python_leaf" for f in frames))
expect(found > 300, found)
r = json.load(open(args[0]))["runtimes"]
expect("Ruby" not in r["versions"], r)
CODE
done
done_testing
