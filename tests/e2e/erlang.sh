#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Functions of Erlang, compiled without any switch, judged by the program's own tree of calls.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

source=$root/tests/workloads/erlang/tree.erl
erlc "$source"
# Stacks are guesses until the code is known, which takes some tenths of a second.
record calls 0 -F 1999 --off-cpu all -- erl -noshell -s tree start 3.5
ok "all chains are paths of the tree, recursion is as deep as it is" \
	python3 "$root/tests/erlang_truth.py" "$source" calls.json.gz --at-least 300 --after 1500
judge "C that functions call has them as callers" calls.json.gz <<'CODE'
found = 0
for _, time, _, frames in samples():
    names = [f["name"] for f in frames]
    if time > 1500 and "ets_insert_2" in names and "tree:filled/2" in names:
        at = names.index("ets_insert_2")
        expect(names[at - 3:at] == ["tree:collecting/0", "tree:filled/2", "global::call_light_bif_shared"], names)
        found += 1
expect(found > 10, found)
CODE
cat >shares.erl <<'CODE'
-module(shares).
-export([start/0]).
start() -> io:format("ready~n"), Pid = spawn(fun() -> loop() end), receive Pid -> ok end.
loop() -> deep(20), loop().
deep(0) -> seventy(7000, 0), thirty(3000, 0), 0;
deep(N) -> deep(N - 1) + 1.
seventy(0, X) -> X; seventy(N, X) -> seventy(N - 1, (X * 31 + N) band 16#ffffff).
thirty(0, X) -> X; thirty(N, X) -> thirty(N - 1, (X * 31 + N) band 16#ffffff).
CODE
erlc shares.erl
erl -noshell -s shares start >ready &
program=$!
wait_until test -s ready
attach_for attached $program 2500 --off-cpu all
kill $program
judge "nearly all stacks are whole, of the right depth and shares" attached.json.gz attached.stats <<'CODE'
import collections, json
stats = json.load(open(args[0]))
# On a busy machine, code is known late.
known = sum(stats[c] for c in ("whole", "truncated", "broken"))
expect(stats["whole"] >= 0.9 * known and stats["guessed"] <= 0.1 * known, stats)
counts, wrong = collections.Counter(), 0
for _, time, _, frames in samples():
    if time < 1000:
        continue
    names = [f["name"] for f in frames]
    own = [n for n in names if n.startswith("shares:")]
    if own and own[-1] in ("shares:seventy/2", "shares:thirty/2"):
        counts[own[-1]] += 1
        wrong += own[:-1] != ["shares:loop/0"] + 21 * ["shares:deep/1"]
total = sum(counts.values())
expect(total > 200 and not wrong, f"{wrong} of {total}: {names}")
share = counts["shares:seventy/2"] / total
expect(abs(share - 0.7) < 3 * (0.21 / total) ** 0.5 + 0.02, share)
CODE
judge "schedulers without work idle" attached.json.gz <<'CODE'
schedulers = [(thread, frames) for thread, time, _, frames in waits()
              if thread["name"].endswith("_scheduler") and time > 1000]
expect(schedulers, "")
for thread, frames in schedulers:
    names = [f["name"] for f in frames]
    expect(names[0] == "global::process_main" or "erts_schedule" not in names, names)
    if "erts_schedule" in names:
        expect(frames[-1]["category"] == "Idle", frames[-1])
CODE
done_testing
