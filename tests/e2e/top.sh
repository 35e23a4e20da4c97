#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof top: its windows are what a recording of the same seconds says.
# May run beside others.
. "$(dirname "$0")/lib.sh"

start "$workloads/shares" 60
shares=$started
# Windows of a second, and a recording meanwhile: both see a known program.
"$PROF" top -p "$shares" --batch --window 1 --no-off-cpu --limit 0 >windows.json 2>top.err &
top=$!
has_lines() { # FILE COUNT
	[ "$(wc -l <"$1")" -ge "$2" ]
}
wait_until has_lines windows.json 1
run "$PROF" attach -p "$shares" --no-off-cpu -d 6 -q -o meanwhile.json.gz
wait_until has_lines windows.json 8
kill -INT "$top"
wait "$top"
is "SIGINT ends it" "$?" 0
is "no message" "$(cat top.err)" ''
"$PROF" report meanwhile.json.gz --format json --limit 0 >report.json
cat >judge_top.py <<'CODE'
import json, math, sys

windows = [json.loads(line) for line in open("windows.json")]
report = json.load(open("report.json"))
def share(rows, weight, name):
    return sum(r["total"] for r in rows if r["function"] == name) / weight
def told(text):
    print(text)
    sys.exit(1)
if any(w["until"] - w["from"] != 1 for w in windows):
    told("not windows of a second")
if any(b["from"] != a["until"] for a, b in zip(windows, windows[1:])):
    told("windows do not follow each other")
weight = sum(w["summary"]["weight"] for w in windows[1:7])
rows = [r for w in windows[1:7] for r in w["rows"]]
other = report["summary"]["weight"]
for name, wanted in (("sixty", 0.6), ("thirty", 0.3), ("ten", 0.1), ("main", 1)):
    got, seen = share(rows, weight, name), share(report["rows"], other, name)
    # Four standard deviations of two samples, and what the program's turns may differ by.
    error = 4 * math.sqrt(wanted * (1 - wanted) * (1 / weight + 1 / other)) + 0.02
    if abs(got - seen) > error or abs(got - wanted) > error:
        told(f"{name}: {got} of {weight} in windows, {seen} of {other} in the recording, {error} allowed")
if any(w["lost"] for w in windows):
    told("samples were lost")
named = [w["summary"]["named"] for w in windows[1:]]
if min(named) < 0.9:
    told(f"names are missing: {named}")
CODE
run python3 judge_top.py
is "windows have the shares of a recording of the same seconds" "$status$out" 0

# Trees, and windows that overlap.
run timeout 60 "$PROF" top -p "$shares" --batch --window 2 --every 0.5 --tree -d 4 --limit 5
is "a time: status" "$status" 0
like "the tree begins with the program's entry" "$(grep -oE '"tree": .{30}' <<<"$out" | tail -n 1)" '\[ *\{"function": "_start"'
like "half a second later" "$(grep -oE '"from": .*, "until": [0-9.]*' <<<"$out" | tr '\n' ' ')" '"from": 0.500000000, "until": 2.500000000'

kill "$shares"

# Waits, also of a thread that waits all the time.
start bash -c 'while :; do sleep 3; done'
run timeout 60 "$PROF" top -p "$started" --batch --window 1 -d 8 --include-idle
# Two processes wait all the time, and a tick is about a millisecond.
weights=$(grep -o '"weight": [0-9]*' <<<"$out" | awk 'NR > 1 {sum += $2; n++} END {print n, int(sum / n)}')
like "waits that go on are in windows" "$weights" '^[4-7] (1[6-9]|2[0-3])[0-9][0-9]$'
kill "$started"

# On a terminal.
tmux=(tmux -L "top-$$" -f /dev/null)
stop_tmux() {
	"${tmux[@]}" kill-server 2>/dev/null
}
at_exit+=(stop_tmux)
export LC_ALL=C.UTF-8
start "$workloads/shares" 60
shares=$started
cat >session <<'CODE'
stty -g >before
"$@"
echo "status $?" >status
stty -g >after
sleep 600
CODE
screen() {
	"${tmux[@]}" capture-pane -p
}
has() { # REGEX
	screen | grep -qE -- "$1"
}
sees() { # DESCRIPTION REGEX
	wait_until has "$2"
	like "$1" "$(screen | grep -E -- "$2")" "$2"
}
"${tmux[@]}" new-session -d -x 80 -y 24 bash session "$PROF" top -p "$shares" --total --no-off-cpu
sees "functions, by their total" '^ +[0-9.]+ ±[0-9.]+ % +100.0 ±[0-9.]+ %  main +shares'
sees "one with most of the time" '(59|6[0-9])[0-9.]+ ±[0-9.]+ %  sixty +shares'
"${tmux[@]}" send-keys 2
sees "the call tree" '  *- +main +shares|- main'
"${tmux[@]}" send-keys 5
sees "the thread" "shares $shares +100.0 %"
"${tmux[@]}" send-keys Space
wait_until has frozen
before=$(screen)
sleep 1.5
is "frozen" "$(screen)" "$before"
"${tmux[@]}" send-keys Space +
sees "a longer window" 'prof top +3 s'
recorder=$(pgrep -f "^$PROF top -p $shares" -n)
kill "$shares"
sees "the process has ended, and the recording with it" 'ended'
"${tmux[@]}" send-keys q
wait_until test -s after
is "q: status" "$(cat status)" 'status 0'
is "q: modes of the terminal" "$(cat after)" "$(cat before)"
ok "the recorder is gone" is_gone "$recorder"

"$PROF" top -a --batch >/dev/null 2>&1 &
top=$!
has_child() {
	recorder=$(pgrep -P "$top")
}
wait_until has_child
kill -KILL "$top"
wait_until is_gone "$recorder"
ok "the recorder ends with the program that shows" is_gone "$recorder"

run "$PROF" top -p 999999999 --batch
is "no such process: status" "$status" 125
like "no such process: a line" "$err" '^prof top: .*999999999'
run "$PROF" top -a --no-such-option
is "wrong use: status" "$status" 2
done_testing
