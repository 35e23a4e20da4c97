#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Parts of captures that are read by themselves: the same samples as all of it has then.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

# Processes that began before and in the part, threads, forks without exec, generated stacks.
cat >work.sh <<'CODE'
"$1"/shares 1.5 >/dev/null &
"$1"/threads >/dev/null &
python3 -c '
import os, time
def work(n):
    return n if n < 2 else work(n - 1) + work(n - 2)
end = time.monotonic() + 1.5
while time.monotonic() < end:
    work(12)
    if os.fork() == 0:
        work(14)
        os._exit(0)
    os.wait()' &
for i in $(seq 10); do "$1"/tour >/dev/null; done
wait
CODE
run "$PROF" record -q --epoch 0.25 --no-off-cpu --counter-interval 50 --raw epochs.prof -- sh work.sh "$workloads"
is "recorded with epochs" "$status$err" 0

# The samples of a profile, by time, with names.
cat >samples.py <<'CODE'
import json
import sys
def samples(path, begin, end):
    profile = json.load(open(path))
    shared, found = profile["shared"], []
    strings, stacks = shared["stringArray"], shared["stackTable"]
    def names(row):
        while row is not None:
            func = shared["frameTable"]["func"][stacks["frame"][row]]
            yield strings[shared["funcTable"]["name"][func]]
            row = row - stacks["prefixOffset"][row] if stacks["prefixOffset"][row] else None
    for thread in profile["threads"]:
        now, table = 0, thread["samples"]
        for delta, stack, weight in zip(table["timeDeltas"], table["stack"],
                                        table["weight"] or [1] * table["length"]):
            now += round(delta * 1e6)
            if stack is not None and begin <= now < end:
                found.append((now, thread["processName"], thread["name"],
                              str(thread["pid"]), weight, tuple(names(stack))))
    return sorted(found)
begin, end = (1e9 * float(text) for text in sys.argv[3:5])
whole, part = (samples(path, begin, end) for path in sys.argv[1:3])
print(len(whole), "samples")
for row in list(set(whole) ^ set(part))[:4]:
    print("#", "missing" if row in whole else "wrong", row)
# A sample may be in flight when an epoch begins.
sys.exit(not whole or len(set(whole) ^ set(part)) > 2)
CODE

# Counters: a level begins with what it was before, a rate with the part.
cat >counters.py <<'CODE'
import json
import sys
def counters(path):
    return {(str(c["pid"]), c["name"]): c["samples"] for c in json.load(open(path))["counters"]}
def total(samples, begin, end):
    return sum(count for time, count in zip(samples["time"], samples["count"]) if begin <= time < end)
begin, end = (1000 * float(text) for text in sys.argv[3:5])
whole, part = counters(sys.argv[1]), counters(sys.argv[2])
for key, samples in part.items():
    if sum(samples["count"]) not in (total(whole[key], 0, end), total(whole[key], begin, end)):
        sys.exit(f"{key}: {sum(samples['count'])}")
sys.exit(not part)
CODE

# Names of files take long, and the stream has nothing to do with them.
"$PROF" convert -q --no-symbols --all-threads epochs.prof -o whole.json
for part in "0 0.3" "0.4 0.9" "1 100" "0.6 0.7"; do
	read -r from to <<<"$part"
	run "$PROF" convert -q --no-symbols --all-threads --from "$from" --to "$to" epochs.prof \
		-o part.json --stats part.stats
	is "$part: converted" "$status$err" 0
	ok "$part: the samples that all of it has then" python3 samples.py whole.json part.json "$from" "$to"
	ok "$part: its counters" python3 counters.py whole.json part.json "$from" "$to"
	ok "$part: valid" python3 "$root/tests/check_profile.py" part.json
	ok "$part: complete" grep -q '"cut": false' part.stats
done

# Damage in the first frames: the next epoch brings back processes and files.
epoch=$(python3 - <<'CODE'
import struct
data = bytearray(open("epochs.prof", "rb").read())
at, states = 56, 0
start, = struct.unpack_from("<Q", data, 32)
while at < len(data):
    flags, = struct.unpack_from("<I", data, at + 4)
    packed, = struct.unpack_from("<I", data, at + 48)
    if flags & 8:
        states += 1
        if states == 1:
            print((struct.unpack_from("<Q", data, at + 24)[0] - start) / 1e9)
    if not states and not flags & 2:
        data[at + 70] ^= 1
    at += 64 + packed
assert states > 2, states
open("damaged.prof", "wb").write(data)
CODE
)
run "$PROF" convert --no-symbols --all-threads damaged.prof -o damaged.json --stats damaged.stats
is "damaged: exit status" "$status" 0
like "damaged: says so" "$err" 'are damaged and were left out'
ok "damaged: what is lost was in the capture" python3 -c '
import json
lost = json.load(open("damaged.stats"))["lost_by"]
assert lost["capture"] > 0 and not lost["stack"], lost'
ok "damaged: from the next epoch on all is there" python3 samples.py whole.json damaged.json "$epoch" 100

refuses "--from of a profile" 125 'need a capture: use --time' \
	"$PROF" convert --from 1 whole.json -o x.json
refuses "--from without a number" 2 'must be a time in seconds' \
	"$PROF" convert --from soon epochs.prof -o x.json
refuses "--to before --from" 2 'nothing was recorded in that time' \
	"$PROF" convert --from 2 --to 1 epochs.prof -o x.json
refuses "--from of two" 2 'need exactly one capture' \
	"$PROF" convert --from 1 epochs.prof epochs.prof -o x.json
refuses "a part after the end" 125 'no matching samples' \
	"$PROF" convert -q --from 1000 epochs.prof -o x.json
done_testing
