#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The flight recorder, --last: what is kept, what asks for it, and that names survive the programs.
# May run beside others.
. "$(dirname "$0")/lib.sh"

export PROF XDG_RUNTIME_DIR=$tmp/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
spin=$workloads/spin

# Begins a recording in the background: sets $recorder, and waits until it records.
begin() { # OPTION... -- COMMAND...
	"$PROF" record "$@" >begin.out 2>begin.err &
	recorder=$!
	wait_until "$PROF" status "$recorder" >/dev/null
}
stop() {
	"$PROF" stop "$recorder"
	wait "$recorder"
}
markers_of() { # FILE
	python3 - "$1" <<'CODE'
import gzip, json, sys
p = json.load(gzip.open(sys.argv[1]))
texts = p["shared"]["stringArray"]
for t in p["threads"]:
    for name, data in zip(t["markers"]["name"], t["markers"]["data"]):
        if texts[name] == "snapshot":
            reason = data["reason"]
            print(texts[reason] if isinstance(reason, int) else reason)
CODE
}

# The end of a recording: as long as was asked for, or one part of an eighth longer.
run "$PROF" record --last 1s -o end.json.gz -- "$spin" die 3
is "end: exit status" "$status" 0
like "end: says so" "$err" 'wrote end\.json\.gz .*: the last 1\.[0-9] s'
judge "end: the last second, whole and named" end.json.gz <<'CODE'
length = p["meta"]["profilingEndTime"] - p["meta"]["profilingStartTime"]
expect(1000 <= length < 2000, f"{length} ms")
rows = samples()
expect(sum(row[2] for row in rows) > 20, len(rows))
expect(min(row[1] for row in rows) < 0.5 * length, min(row[1] for row in rows))
expect(max(row[1] for row in rows) > 0.5 * length, max(row[1] for row in rows))
expect(within("main") > 0.95 * sum(row[2] for row in rows), within("main"))
expect([t["name"] for t in p["threads"]] == ["spin"], [t["name"] for t in p["threads"]])
CODE

# More than a hundred turnovers, of many short programs; each that is kept has names.
cat >churn.sh <<'SCRIPT'
for ((i = 0; i < 20; i++)); do
	cp "$1" ./gone_$i && ./gone_$i die 0 && rm -f gone_$i
done
SCRIPT
run "$PROF" record --last 0.4s,4M -o churn.json.gz -- bash churn.sh "$spin"
is "churn: exit status" "$status" 0
judge "churn: programs that were deleted have names" churn.json.gz <<'CODE'
gone = [t for t in p["threads"] if t["processName"].startswith("gone_")]
expect(gone and all(t["processName"] != "gone_0" for t in gone), [t["processName"] for t in gone])
expect(within("main") > 20, within("main"))
unnamed = [f["name"] for row in samples() for f in row[3] if f["name"].startswith("0x")]
expect(len(unnamed) < 0.02 * sum(len(row[3]) for row in samples()), unnamed[:5])
CODE

# Ask by a command, a signal, a word. The recording goes on.
mkfifo words
exec 5<>words
# shellcheck disable=SC2016 # the inner shell's
begin -q --last 2s -o 'asked-%n.json.gz' --control-fd 5 -- sh -c 'echo $$ >asked.pid; exec "$0" die 60' "$spin"
run "$PROF" snapshot
is "prof snapshot: prints the name" "$status$out" "0$tmp/asked-1.json.gz"
kill -USR2 "$recorder"
wait_until test -s asked-2.json.gz
echo snapshot >words
wait_until test -s asked-3.json.gz
# The file is there a moment before the recorder knows.
counts_three() {
	"$PROF" status --json | grep -q '"snapshots": 3'
}
wait_until counts_three
run "$PROF" status --json
ok "status tells of them" python3 -c 'import json, sys
s = json.loads(sys.argv[1])[0]
assert s["snapshots"] == 3 and s["snapshot_ok"] and s["file"].endswith("asked-3.json.gz"), s
assert s["lost"] == 0, s' "$out"
stop
kill "$(<asked.pid)"
is "stop: the end is written, too" "$(echo asked-*)" "asked-1.json.gz asked-2.json.gz asked-3.json.gz asked-4.json.gz"
is "markers tell who asked" "$(markers_of asked-1.json.gz)" "prof snapshot"
like "markers tell of the signal" "$(markers_of asked-2.json.gz)" 'SIGUSR2'
like "markers of the latest" "$(markers_of asked-3.json.gz)" '--control-fd'
is "prof says nothing with -q" "$(<begin.err)" ""
exec 5>&-

# Triggers. Each fires once within --snapshot-every.
run "$PROF" record --last 5s --when-exit 3 -o exit.json.gz -- \
	bash -c "(exit 2); ls /proc/self/fd/99; $spin die 0.05; (exit 3); $spin die 0.6; (exit 3); exit 7"
is "when-exit: the command's status" "$status" 7
like "when-exit: the marker" "$(markers_of exit.json.gz)" '^process [0-9]+ ended with status 3$'
run "$PROF" record --last 5s --when-exit fail --when-exit KILL -o killed.json.gz -- \
	bash -c "$spin die 0.05; kill -KILL \$\$"
is "when-exit: killed" "$status" 137
like "when-exit: the command itself" "$(markers_of killed.json.gz)" '^SIGKILL ended process [0-9]+$'
run "$PROF" record --last 5s --when-exit 3 -o none.json.gz -- "$spin" die 0.3
is "no trigger: exit status" "$status" 0
is "no trigger: says so" "$err" "prof: no snapshot was requested: no profile was written"
ok "no trigger: no file" test ! -e none.json.gz
# The recorder may look late: commands end once the file is there.
until_written() { # FILE COMMAND
	echo "until test -s $1; do $2; done"
}
run "$PROF" record --last 5s --when-file "$tmp/signal" -o file.json.gz -- \
	timeout 120 bash -c "$spin die 0.2; touch signal; $(until_written file.json.gz "$spin die 0.1")"
is "when-file" "$(markers_of file.json.gz)" "$tmp/signal was written"
run "$PROF" record --last 5s --when-stall 500 -o stall.json.gz -- \
	timeout 120 bash -c "$spin die 0.2; $(until_written stall.json.gz 'sleep 2')"
is "when-stall" "$(markers_of stall.json.gz)" "nothing ran for 500 ms"
run "$PROF" record --last 5s --syscalls=1 --when-marker 'clock_nanosleep>300' -o slow.json.gz -- \
	timeout 120 bash -c "sleep 0.1; $(until_written slow.json.gz 'sleep 0.4')"
like "when-marker" "$(markers_of slow.json.gz)" '^clock_nanosleep took [0-9.e+]+ ms$'
# shellcheck disable=SC2016 # for its shell
run "$PROF" record --last 5s --when-psi cpu=20 -o cpu.json.gz -- \
	timeout 120 bash -c 'for ((i = 0; i < 3 * $(nproc); i++)); do
		'"$(until_written cpu.json.gz "$spin die 0.5")"' & done; wait'
like "when-psi" "$(markers_of cpu.json.gz)" '^tasks waited for cpu [0-9]+ % of a second$'

# --after goes on for a while.
run "$PROF" record --last 5s --after 0.5 --when-file "$tmp/again" -o after.json.gz -- \
	timeout 120 bash -c "$spin die 0.2; touch again; $(until_written after.json.gz "$spin die 0.2")"
judge "after: what came then is in it" after.json.gz <<'CODE'
texts = p["shared"]["stringArray"]
at = [start for t in p["threads"] for name, start in zip(t["markers"]["name"], t["markers"]["startTime"])
      if texts[name] == "snapshot"]
end = p["meta"]["profilingEndTime"]
expect(len(at) == 1 and 400 < end - at[0] < 5000, f"{at} of {end}")
CODE

# Refuse what cannot be.
refuses "with --raw" 2 '--last: not with --raw' "$PROF" record --last 5 --raw x.cap -- true
# shellcheck disable=SC2016 # for the inner shell
refuses "to a folder that nobody can write to" 125 'cannot write snapshots to \.: .*name another file: -o FILE' \
	unshare -m sh -c 'mount -t tmpfs -o ro none /mnt && cd /mnt && "$0" record --last 5 -- true' "$PROF"
refuses "to standard output" 125 'cannot write snapshots to standard output' "$PROF" record --last 5 -o - -- true
refuses "a folder that is not there" 125 'cannot write snapshots to nowhere/: No such file' "$PROF" record --last 5 -o nowhere/x.gz -- true
refuses "a trigger alone" 2 '--when-exit: needs --last' "$PROF" record --when-exit 3 -- true
refuses "a pattern that is none" 2 '% must be followed by' "$PROF" record -o 'x%y.gz' -- true
for value in '' x 5,1K 0; do
	run "$PROF" record --last "$value" -- true
	is "--last '$value'" "$status" 2
done
for option in --when-exit=256 --when-exit=SIGNONE --when-psi=cpu --when-psi=disk=5 --when-psi=io=0 \
	--when-marker='>5' --when-marker='x>y' --when-stall=0 --when-file=; do
	run "$PROF" record --last 5 "$option" -- true
	is "$option" "$status" 2
done
# Names of plain recordings.
run "$PROF" record -q -o '%c-%n-%%.json' -- true
run "$PROF" record -q -o '%c-%n-%%.json' -- true
is "names" "$(echo true-*)" "true-1-%.json true-2-%.json"
done_testing
