#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Recording only when it is wanted: --start-paused, --delay, signals, the control socket, words on a
# descriptor. Whoever may not ask is refused, and whoever hangs disturbs nobody.
# May run beside others.
. "$(dirname "$0")/lib.sh"

export PROF XDG_RUNTIME_DIR=$tmp/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
cp "$workloads/library.so" own.so

# Only the middle is recorded, with the names of a library that was loaded before.
stats_of() { # NAME
	python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))
print(s["pauses"], s["lost"])' "$1.stats"
}
# shellcheck disable=SC2016 # for its shells
record middle 0 --start-paused -- "$workloads/around" ./own.so 300 '$PROF resume' '$PROF pause'
used=$out
is "middle: two pauses, nothing lost" "$(stats_of middle)" "2 0"
judge "middle: nothing of what came before and after" middle.json.gz "$used" <<'CODE'
expect(within("outside") <= 2, f'{within("outside")} samples outside')
expect(within("inside") > 100 and within("library_work") > 100, within("inside"))
main = next(t for t in p["threads"] if t["isMainThread"] and t["name"] == "around")
cpu = sum(main["samples"]["threadCPUDelta"]) / 1e6
expect(abs(cpu - float(args[0])) <= 0.02 * float(args[0]) + 3, f"{cpu} ms of {args[0]}")
markers = [p["shared"]["stringArray"][n] for n in main["markers"]["name"]]
expect(markers.count("recording paused") == 2, markers)
sleeper = next(t for t in p["threads"] if not t["isMainThread"] and t["processName"] == "around")
waited = sum(sleeper["samples"]["weight"] or [0])
length = p["meta"]["profilingEndTime"]
paused = sum(e - s for n, s, e in zip(main["markers"]["name"], main["markers"]["startTime"],
                                      main["markers"]["endTime"])
             if p["shared"]["stringArray"][n] == "recording paused")
expect(abs(waited - (length - paused)) < 0.1 * length, f"{waited} of {length} - {paused}")
CODE

# Signals to prof itself; the command goes on as if nothing was.
# shellcheck disable=SC2016 # for the command
record signals 0 -- sh -c 'kill -USR1 $PPID; sleep .5; kill -USR1 $PPID; sleep .2'
judge "signals: one pause" signals.json.gz signals.stats <<'CODE'
import json
stats = json.load(open(args[0]))
expect(stats["pauses"] == 1 and 300 < stats["paused_ms"] < stats["duration_ms"], stats)
CODE

# The duration begins with the end of the delay.
record delay 0 -d 0.5 --delay 0.5 --kill -- "$workloads/spin" forever
judge "delay: the time after it is recorded" delay.json.gz delay.stats <<'CODE'
import json
stats = json.load(open(args[0]))
expect(stats["paused_ms"] >= 400 and stats["duration_ms"] - stats["paused_ms"] >= 400, stats)
expect(stats["pauses"] == 1 and stats["cpu_samples"] > 0, stats)
CODE

is_halved_twice() {
	[ "$(grep -c 'half as many samples' costly.err)" -ge 2 ]
}
# Fewer samples are taken if recording costs too much, and weigh more.
"$PROF" record -o costly.json.gz --stats costly.stats --max-overhead 0.0001 -- "$workloads/spin" forever \
	>/dev/null 2>costly.err &
recorder=$!
wait_until is_halved_twice
"$PROF" stop "$recorder"
wait "$recorder"
pkill -f "$workloads/spin forever" || :
judge "max-overhead: samples weigh more, and sum up to the CPU time" costly.json.gz costly.stats <<'CODE'
import json
stats = json.load(open(args[0]))
weights = [row[2] for row in samples()]
expect(stats["tick_weight"] >= 2 and max(weights) > 1.5 * min(weights), (stats["tick_weight"], max(weights)))
thread = next(t for t in p["threads"] if t["name"] == "spin")
cpu = sum(thread["samples"]["threadCPUDelta"]) / 1e6
expect(abs(sum(weights) - cpu) < 0.1 * cpu, f"{sum(weights)} of {cpu}")
CODE
refuses "max-overhead: a number" 2 'max-overhead' "$PROF" record --max-overhead x -- true

# Words on a descriptor, with answers.
mkfifo words acks
exec 5<>words 6<>acks
record words 0 --start-paused --control-fd 5,6 -- bash -c "
	echo ping >$tmp/words; read -r first <$tmp/acks
	echo enable >$tmp/words; read -r second <$tmp/acks
	sleep .1
	echo nonsense >$tmp/words; echo disable >$tmp/words; read -r third <$tmp/acks
	echo \"\$first \$second \$third\" >$tmp/answers"
is "words: answers" "$(<answers)" "ack ack ack"
like "words: an unknown one is told" "$err" 'unknown command nonsense'
is "words: pauses" "$(stats_of words)" "2 0"
exec 5>&- 6>&-
refuses "a descriptor that is not open" 125 'control-fd 77' "$PROF" record -o x.json.gz --control-fd 77 -- true
run "$PROF" record --control-fd x -- true
is "a descriptor that is none" "$status" 2

# A recording that goes on, and whoever asks it.
"$PROF" record -q -o long.json.gz -- "$workloads/spin" forever >long.out 2>long.err &
recorder=$!
socket=$XDG_RUNTIME_DIR/prof/$recorder.sock
wait_until test -S "$socket"
is "the folder is its user's alone" "$(stat -c %a "$XDG_RUNTIME_DIR/prof")" 700
wait_until "$PROF" pause
run "$PROF" status
like "status" "$out" "^$recorder  spin  paused for [0-9]+ s, [0-9,]+ samples, 0 lost, .*$tmp/long.json.gz\$"
"$PROF" resume "$recorder"
ok "status --json" python3 -c 'import json, sys
all = json.loads(sys.argv[1])
assert [a["state"] for a in all] == ["recording"], all' "$("$PROF" status --json)"
refuses "no such recording" 125 'the recording with pid 1 does not answer' "$PROF" pause 1
refuses "a snapshot of a recording without --last" 125 'last' "$PROF" snapshot
run "$PROF" pause 1 2
is "two pids" "$status" 2
cat >clients.py <<'CODE'
import json, os, socket, sys, threading, time
path, act = sys.argv[1:]
def connect():
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    s.settimeout(20)
    return s
def ask(s, line):
    s.sendall(line)
    return json.loads(s.makefile().readline())
if act == "many":
    idle = []
    for i in range(1000):
        idle.append(connect())
        idle[-1].send(b'{"command":"sta')
    assert ask(connect(), b'{"command":"status"}\n')["ok"]
elif act == "wrong":
    for line in (b'\n', b'{}\n', b'[1]\n', b'{"command":7}\n', b'{"command":"sing"}\n', b'\0\xff\n',
                 b'{"command":"status","command":"stop"}\n'):
        answer = ask(connect(), line)
        assert answer["ok"] is False and answer["error"], (line, answer)
    long = connect()
    try:
        long.sendall(b"x" * 100000)
        assert long.recv(100) == b""
    except (BrokenPipeError, ConnectionResetError):
        pass
elif act == "deaf":
    deaf = connect()
    try:
        while True:
            deaf.sendall(b'{"command":"status"}\n' * 100)
    except (BrokenPipeError, ConnectionResetError):
        pass
elif act == "pauses":
    s = connect()
    for i in range(1000):
        assert ask(s, b'{"command":"pause"}\n')["state"] == "paused"
        assert ask(s, b'{"command":"resume"}\n')["state"] == "recording"
CODE
ok "a thousand who say nothing" python3 clients.py "$socket" many
ok "requests that are none" python3 clients.py "$socket" wrong
ok "who does not read answers is dropped" python3 clients.py "$socket" deaf
ok "a thousand pauses" python3 clients.py "$socket" pauses
chmod 711 "$XDG_RUNTIME_DIR" "$XDG_RUNTIME_DIR/prof"
chmod 777 "$socket"
run setpriv --reuid=65534 --clear-groups /usr/bin/python3 clients.py "$socket" pauses
like "another user is refused" "$status$err" '^1.*(JSONDecodeError|ConnectionReset|BrokenPipe)'
chmod 700 "$XDG_RUNTIME_DIR" "$XDG_RUNTIME_DIR/prof"
run "$PROF" stop
is "stop: exit status" "$status" 0
ok "stop: the profile is there" test -s long.json.gz
wait "$recorder"
is "stop: exit status of the recorder" $? 0
pkill -f "$workloads/spin forever" || :
is "nothing is left of the socket" "$(ls "$XDG_RUNTIME_DIR/prof")" ""
is "who records hears of it only what the command says" "$(<long.err)" ""
run "$PROF" status
is "status of nothing" "$status$err" "0prof: no recording in progress that this user may control"

# Sockets of killed recorders are removed by the next one; a folder that is a link is not used.
python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' \
	"$XDG_RUNTIME_DIR/prof/1.sock"
"$PROF" record -q -o x.json.gz -- true
is "a stale socket" "$(ls "$XDG_RUNTIME_DIR/prof")" ""
rmdir "$XDG_RUNTIME_DIR/prof"
mkdir elsewhere
ln -s ../elsewhere "$XDG_RUNTIME_DIR/prof"
# shellcheck disable=SC2016 # likewise
run "$PROF" record -q -o x.json.gz -- sh -c 'echo "$PROF_CONTROL"'
is "a folder that is a link" "$status$out$(ls elsewhere)" "0"
done_testing
