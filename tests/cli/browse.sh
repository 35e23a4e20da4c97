#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof browse in a terminal: its rows are those of prof report, and it leaves the terminal as it was.
# Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

profiles=$root/${BUILD:-build}/tests/golden/profiles
tmux=(:)
shown=0
# A server that was not killed would stay.
stop_tmux() {
	"${tmux[@]}" kill-server 2>/dev/null
}
at_exit+=(stop_tmux)
export LC_ALL=C.UTF-8
# LeakSanitizer would wait for ever where a signal comes while it looks.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
cat >session <<'CODE'
stty -g >before
"$@"
echo "status $?" >status
stty -g >after
echo "the shell again"
sleep 600
CODE
show() { # COLUMNS LINES COMMAND...
	"${tmux[@]}" kill-server 2>/dev/null
	# A server that is ending would refuse.
	tmux=(tmux -L "browse-$$-$((++shown))" -f /dev/null)
	rm -f before after status
	"${tmux[@]}" new-session -d -x "$1" -y "$2" bash session "${@:3}"
}
screen() {
	"${tmux[@]}" capture-pane -p
}
has() { # REGEX
	screen | grep -qE -- "$1"
}
keys() { # KEY...
	"${tmux[@]}" send-keys "$@"
}
types() { # OPTIONS
	keys :
	keys -l -- "$1"
	keys Enter
}
sees() { # DESCRIPTION REGEX
	wait_until has "$2"
	like "$1" "$(screen | grep -E -- "$2")" "$2"
}
ends() { # DESCRIPTION STATUS
	wait_until test -s after
	is "$1: status" "$(cat status)" "status $2"
	is "$1: modes of the terminal" "$(cat after)" "$(cat before)"
	wait_until has '^the shell again'
	is "$1: nothing of it is left" "$(screen | grep -v '^$')" 'the shell again'
}

# Rows of the screen against those of prof report, which may be cut in their middle.
cat >compare.py <<'CODE'
import json, re, sys

kind, columns = sys.argv[1], int(sys.argv[2])
report = json.load(open("report.json"))
weight = report["summary"]["weight"]
def flat(rows, depth=0):
    for row in rows:
        yield depth, row
        yield from flat(row.get("children", []), depth + 1)
rows = [(d, r) for d, r in flat(report["rows" if kind == "table" else "tree"])]
lines = open("seen.txt").read().splitlines()[3:-1]
seen = [l for l in lines if l.strip()]
def share(row, what):
    return f"{100 * row[what] / weight:.1f} ±{100 * row[what + '_error'] / weight:.1f} %"
def harmless(text):
    return "".join(c if c.isprintable() and c not in "\u202e\u200b" else "?" for c in text)
if not seen or len(seen) > len(rows):
    sys.exit(f"{len(seen)} lines for {len(rows)} rows")
rows = iter(rows)
for line in seen:
    m = re.match(r" *([0-9.]+ ±[0-9.]+ %) +([0-9.]+ ±[0-9.]+ %)  ( *)(?:[-+] )?(.*)$", line)
    if not m:
        sys.exit(f"no row: {line}")
    first, _, last = re.split(r" {2,}", m[4].rstrip())[0].partition("…")
    for depth, row in rows:
        name = harmless(row["function"] or "(no frame)")
        if (m[1], m[2]) == (share(row, "self"), share(row, "total")) and \
                name.startswith(first) and name.endswith(last):
            break
        # Trees show their heavy branches.
        if kind == "table":
            sys.exit(f"{line}\nis not {share(row, 'self')} {share(row, 'total')} {name}")
    else:
        sys.exit(f"no such row: {line}")
    if len(line) > columns:
        sys.exit(f"{len(line)} columns: {line}")
CODE
compares() { # DESCRIPTION KIND COLUMNS
	screen >seen.txt
	run python3 compare.py "$2" "$3"
	is "$1" "$status$out$err" 0
}

printf '%s\n' 'main;parse;lex 50' 'main;parse;a_function_with_a_name_that_no_line_of_eighty_columns_can_hold_as_it_is_written_here 30' \
	$'main;evil\033]0;title\a\xe2\x80\xaename 15' 'main 5' | python3 "$root/tests/cli/stacks_profile.py" one two >stacks.json
for size in '80 24' '200 60'; do
	read -r columns lines <<<"$size"
	for file in stacks.json "$profiles"/{inline,kernel-frames,shared-stacks,waits}.json; do
		name=$(basename "$file" .json)
		show "$columns" "$lines" "$PROF" browse "$file"
		wait_until has 'FUNCTION'
		"$PROF" report "$file" --format json --limit 0 >report.json
		compares "$name, $columns columns: functions" table "$columns"
		keys 2
		wait_until has '^ *[0-9.]+ ±[0-9.]+ % +[0-9.]+ ±[0-9.]+ %  *[-+ ] '
		"$PROF" report "$file" --format json --limit 0 --min 0.05 --tree >report.json
		compares "$name, $columns columns: a tree" tree "$columns"
	done
done

show 80 24 "$PROF" browse stacks.json
sees "the first line has the summary" 'prof browse +stacks: .*\(200 ticks'
keys / lex Enter
keys f
sees "a filter is in the second line" '--focus .\^lex'
"$PROF" report stacks.json --format json --focus '^lex$' >report.json
compares "rows of a filter" table 80
keys u
types '--process one'
sees "options of prof report" '--process one'
keys '!'
sees "the equal command" 'prof report --process one stacks.json'
types '--focus ('
sees "a wrong option is said" 'focus'
keys R 4
sees "flame graph" '^ main'
sees "callees below" '^ parse .* evil'
keys 5
sees "threads" '^ one 100 +[0-9.]+ %'
sees "the time at the cursor is told from the ends" "THREAD +SHARE +0.000 s +at [0-9.]+ s +[0-9.]+ s"
keys Enter
sees "a thread is chosen" '--process 100 --thread 1'
keys u 1 '?'
sees "help" 'Ctrl-L'
keys q
"${tmux[@]}" resize-window -x 150 -y 30
keys 1
sees "after a resize: the whole name" 'a_function_with_a_name_that_no_line_of_eighty_columns'
"${tmux[@]}" resize-window -x 15 -y 4
sees "a small terminal" 'too small'
"${tmux[@]}" resize-window -x 80 -y 24
sees "and a larger one again" 'FUNCTION'
keys q
ends "q" 0

for signal in TERM HUP SEGV KILL; do
	show 80 24 env TERM=screen "$PROF" browse stacks.json
	wait_until has FUNCTION
	kill -"$signal" "$(pgrep -P "$("${tmux[@]}" display -p '#{pane_pid}')" -n)"
	wait_until test -s after
	[ "$signal" != KILL ] || break
	is "SIG$signal: status" "$(cat status)" "status $((128 + $(kill -l "$signal")))"
	is "SIG$signal: modes of the terminal" "$(cat after)" "$(cat before)"
	wait_until has 'the shell again'
	unlike "SIG$signal: nothing of it is left" "$(screen)" FUNCTION
done

# Two files: what prof diff says, and both of them.
show 140 30 "$PROF" browse "$profiles/waits.json" "$profiles/shared-stacks.json"
wait_until has 'prof browse'
keys 1
sees "side A" 'prof browse +A: '
keys d
sees "side B" 'prof browse +B: '
keys q
ends "two files" 0
sed 's/"lex"/"lexer"/' stacks.json >other.json
"$PROF" diff stacks.json other.json >difference
show 140 30 "$PROF" browse stacks.json other.json
sees "a new function" ' new +lexer'
is "rows are those of prof diff" "$(screen | tail -n +4 | head -n -1 | grep . | grep -v a_function | tr -s ' ')" \
	"$(sed -n '/^ *A  *B /,$p' difference | tail -n +2 | grep -v a_function | tr -s ' ')"
keys q
ends "a difference" 0

show 80 24 env NO_COLOR=1 "$PROF" browse stacks.json
wait_until has FUNCTION
unlike "NO_COLOR: no colours" "$("${tmux[@]}" capture-pane -pe)" $'\033\\[(1;)?(3|4|9)[0-8]'
keys 4
sees "a flame graph without colours" '^ main'
keys q
ends "without colours" 0
show 80 24 env LC_ALL=C "$PROF" browse stacks.json
wait_until has FUNCTION
is "C locale: ASCII alone" "$(screen | tr -d ' -~\n')" ''
like "C locale: shares" "$(screen)" '50.0 ~[0-9.]+ %'
keys q
ends "C locale" 0
show 80 24 env TERM=dumb "$PROF" browse stacks.json
wait_until test -s after
is "TERM=dumb: status" "$(cat status)" 'status 2'
like "TERM=dumb: a hint" "$(screen)" 'prof report stacks.json'

run "$PROF" browse stacks.json
is "no terminal: status" "$status" 2
like "no terminal: a hint" "$err" 'prof report stacks.json'
show 80 24 "$PROF" browse no-such-file
wait_until test -s after
is "no file: status" "$(cat status)" 'status 125'
done_testing
