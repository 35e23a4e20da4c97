#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof agent and prof record --push: each sample reaches each engine once, whatever is killed meanwhile.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

export PROF XDG_RUNTIME_DIR=$tmp/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
mkdir -p engine/each prof
spin=$workloads/spin
cp "$spin" burner
start python3 "$root/tests/fake_engine.py" engine
wait_until test -s engine/port
url=clickhouse+http://127.0.0.1:$(<engine/port)/many
"$PROF" fleet init "$url" 2>/dev/null

mkdir -p pyroscope/each parca/each
touch parca/parca
start python3 "$root/tests/fake_engine.py" pyroscope
start python3 "$root/tests/fake_grpc.py" parca
wait_until test -s pyroscope/port
wait_until test -s parca/port

begin() { # OPTION...
	rm -f ready status.json
	"$PROF" agent -q -F 99 --every 1 --retry 0.05 --spool-dir "${spool:-$tmp/spool}" --comm burner --push "$url" \
		--push "otlp+http://127.0.0.1:$(<engine/port)" --status status.json --ready-file ready "$@" \
		>agent.out 2>agent.err &
	agent=$!
	wait_until test -s ready
}
end() {
	local before=$EPOCHREALTIME
	kill "$agent"
	wait "$agent"
	status=$?
	took=$(python3 -c "print($EPOCHREALTIME - $before < 5)")
}
# Ticks that the engine has of a host, and those that the collector has in all.
ticks() { # HOST
	"$PROF" fleet windows --json "$url?host=$1" | python3 -c 'import json, sys
print(sum(row["ticks"] for row in json.load(sys.stdin)))'
}
collected() {
	{ python3 "$root/tests/otlp_rules.py" engine/each/* || echo refused; } | python3 -c 'import json, sys
print(sum(json.loads(line)["all"].get("samples", 0) for line in sys.stdin))'
}
of_pprof() { # ENGINE
	{ python3 "$root/tests/engine_rules.py" "$1" "$1"/each/* || echo refused; } | python3 -c 'import json, sys
print(sum(json.loads(line)["all"]["samples"] for line in sys.stdin))'
}
of_status() { # KEY
	python3 -c 'import json, sys; print(json.load(open("status.json"))[sys.argv[1]])' "$1"
}
# The processes below the recorder, which is the agent's only child.
recorder_of() {
	pgrep -P "$agent"
}
below() { # PATTERN of the command line
	pgrep -P "$(pgrep -P "$(recorder_of)" | head -1)" -f "$1"
}

begin --host h1 --push "pyroscope+http://127.0.0.1:$(<pyroscope/port)" --push "parca+http://127.0.0.1:$(<parca/port)"
./burner die 1.5 >/dev/null &
burner=$!
sleep 0.7
is "agent: arguments show no address" "$(below prof-view | while read -r pid; do tr '\0' '\n' <"/proc/$pid/cmdline"; done | grep -c http)" 0
kill -9 "$(below 'prof agent')"
below prof-view | xargs kill -9
wait "$burner"
end
is "agent: exit status" "$status" 0
is "agent: it ends within 5 s" "$took" True
is "agent: nothing is lost" "$(of_status lost) $(of_status lost_windows)" "0 0"
is "agent: the engine has each tick once, although those who send were killed" "$(ticks h1)" "$(of_status ticks)"
ok "agent: that is something" test "$(ticks h1)" -gt 100
is "agent: so has the collector" "$(collected)" "$(ticks h1)"
is "agent: so has Pyroscope" "$(of_pprof pyroscope)" "$(ticks h1)"
is "agent: so has Parca" "$(of_pprof parca)" "$(ticks h1)"
is "agent: the spool is empty" "$(find spool -type f)" ""
run "$PROF" report --json "$url?host=h1"
run "$PROF" fleet services "$url?host=h1"

# The recorder is killed: what it had is sent, and it is started again.
begin --host h2
recorder=$(recorder_of)
./burner die 4 >/dev/null &
burner=$!
sleep 2.7
kill -9 "$recorder"
wait "$burner"
end
is "killed recorder: exit status" "$status" 0
like "killed recorder: it is started again" "$(<agent.err)" 'killed by signal 9: restarting it'
like "killed recorder: what it left is sent" "$(<agent.err)" 'sending the remaining data'
# Without what was not yet written, and what nobody recorded.
ok "killed recorder: little is missing" test "$(ticks h2)" -gt 180
ok "killed recorder: nothing is there twice" test "$(ticks h2)" -lt 440
is "killed recorder: the collector has the same" "$(($(collected) - $(ticks h1)))" "$(ticks h2)"

# A guard that is killed is started again by the recorder.
begin --host h3
./burner die 2 >/dev/null &
burner=$!
sleep 1.2
kill -9 "$(pgrep -P "$(recorder_of)" | head -1)"
wait "$burner"
end
is "killed guard: exit status" "$status" 0
is "killed guard: each tick once" "$(ticks h3)" "$(of_status ticks)"

# Names that take longer than a window are left out of it: one of many has them in time.
has_names() {
	sleep 0.5
	run "$PROF" report "$url?host=h11"
	[[ $out =~ ' spinning '.*burner ]]
}
begin --host h11
start ./burner die 300 >/dev/null
wait_until has_names
kill "$started"
end
like "agent: functions have names" "$out" ' spinning .*burner'

# The configuration is read anew.
mkdir -p "$XDG_CONFIG_HOME/prof"
start python3 -c 'import socket
messages = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
messages.bind("notified")
while True:
    print(messages.recv(99).decode(), flush=True)' >notified.log
wait_until test -S notified
export NOTIFY_SOCKET=$tmp/notified
begin --host h4
unset NOTIFY_SOCKET
printf '[agent]\nlabel = release=new\n' >"$XDG_CONFIG_HOME/prof/config"
is_awake() { # since it began
	test "$(tail -1 notified.log)" = WATCHDOG=1
}
wait_until is_awake
rm ready
kill -HUP "$agent"
wait_until test -s ready
./burner die 0.3 >/dev/null
wait_until is_awake
end
is "SIGHUP: exit status" "$status" 0
like "SIGHUP: the label is there" "$("$PROF" fleet windows "$url?host=h4&label.release=new")" 'h4 '
rm "$XDG_CONFIG_HOME/prof/config"
# Watchdog messages come each second.
is "systemd is told" "$(uniq notified.log | paste -sd' ')" "READY=1 WATCHDOG=1 RELOADING=1 READY=1 WATCHDOG=1 STOPPING=1"

# Processes that say which service they are, and what of it leaves the machine.
begin --host who --label deployment.environment.name=given
OTEL_SERVICE_NAME="a shop" ./burner die 1 >/dev/null &
named=$!
OTEL_RESOURCE_ATTRIBUTES=service.name=cart,service.version=1.2,deployment.environment.name=own,secret=s3cret ./burner die 1 >/dev/null
wait "$named"
end
is "who: services" "$("$PROF" fleet services --json "$url?host=who" |
	python3 -c 'import json, sys; print(*sorted(row["service"] for row in json.load(sys.stdin)), sep=", ")')" "a shop, cart"
is "who: attributes that collectors get" "$(cat engine/each/* | python3 -c 'import re, sys
data = sys.stdin.buffer.read()
print(*(key for key in (b"1.2", b"given", b"own", b"s3cret") if re.search(rb"[\x00-\x1f]" + re.escape(key), data)))')" "b'1.2' b'given'"

# The disk is full: windows wait in memory.
mkdir full
mount -t tmpfs -o size=8k tmpfs full
# A small window would fit, and the next one be refused again.
head -c 8192 /dev/zero >full/rest
at_exit=("umount '$tmp/full'" "${at_exit[@]}")
echo "status 503" >engine/mode
spool=$tmp/full/spool
begin --host h8
./burner die 2 >/dev/null
wait_until grep -q '"failure"' status.json
rm engine/mode
has_all_ticks() {
	test "$(of_status waiting_windows)" = 0 && test "$(ticks h8)" = "$(of_status ticks)"
}
wait_until has_all_ticks
end
is "full disk: exit status" "$status" 0
is "full disk: each tick once" "$(ticks h8)" "$(of_status ticks)"
is "full disk: nothing is lost" "$(of_status lost_windows)" 0
# By each engine's process, and nothing else but that windows will be retried.
is "full disk: said once" "$(sed -E '/will be retried$/d; s,^prof: [^ ]*: (No space),\1,' agent.err)" \
	"No space left on device: windows are kept in memory
No space left on device: windows are kept in memory"

run "$PROF" record -q --push "$url" --host h5 --every 1 -- ./burner die 1.3
is "record: exit status" "$status" 0
ok "record: what it burnt is there" test "$(ticks h5)" -gt 1000
run "$PROF" report "$url?host=h5&service=burner"
like "record: names" "$out" ' spinning .*burner'
OTEL_SERVICE_NAME=own run "$PROF" record -q --push "$url" --host h9 --every 1 -- ./burner die 1.3
ok "record: the command says which service it is" test "$("$PROF" fleet services "$url?host=h9" | grep -c '^ *own ')" = 1
is "record: no file is written" "$(ls ./*.json.gz 2>/dev/null)" ""
echo "status 503" >engine/mode
run "$PROF" record -q --push "$url" --retry 0.05 -- ./burner die 0.1
is "record: nobody takes it: exit status" "$status" 125
like "record: says so" "$err" 'not all windows could be sent'
run "$PROF" record -q --push "$url" --retry 0.05 --host h6 --spool-dir "$tmp/kept" -- ./burner die 0.3
is "record: with a spool: exit status" "$status" 0
run "$PROF" record --push "$url" --retry 0.05 --host h6 --spool-dir "$tmp/kept" -- ./burner die 0.3
like "record: what waits is not said to be sent" "$err" 'recorded [12] windows?; unsent windows are kept in .*/kept: .*503'
rm engine/mode
run "$PROF" record -q --push "$url" --host h7 --spool-dir "$tmp/kept" -- ./burner die 0.1
ok "record: the next one sends it" test "$(find kept -type f | wc -l)" = 0

begin --host h10 --status nowhere/status
wait_until grep -q '^prof agent: --status: cannot write nowhere/status: ' agent.err
end
is "a status that cannot be written: exit status" "$status" 0

refuses "nowhere to send to" 2 'use --push URL' "$PROF" agent
refuses "no address" 2 'push x' "$PROF" agent --push x
refuses "twice the same" 2 'twice' "$PROF" agent --push "$url" --push "$url"
refuses "a file and an engine" 2 'writes no file' "$PROF" record --push "$url" -o x.json -- true
refuses "a window that is too short" 2 'between 1 s and 1 h' "$PROF" agent --push "$url" --every 0.1
refuses "a password that is not there" 125 'read the password' "$PROF" agent --push "$url?password-file=/nowhere"
refuses "push's options without it" 2 'needs --push' "$PROF" record --every 3 -- true
done_testing
