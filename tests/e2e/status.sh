#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The exit status is the command's, and the command runs as it would without prof.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

record zero 0 -- true
record one 1 -- false
record fortytwo 42 -- sh -c 'exit 42'
is "in --stats, too" "$(stat_of fortytwo exit_status)" 42
record term 143 -- sh -c 'kill -TERM $$'
record killed 137 -- sh -c 'kill -KILL $$'
record crash 139 -- "$workloads/crash"
judge "a crash: what came before it" crash.json.gz <<<'expect(within("before_crash") > 80, len(samples()))'

refuses "a command that is not there: 127" 127 'no-such-command' \
	"$PROF" record -o x.json.gz -- no-such-command
refuses "a path that is not there: 127" 127 './no-such-path' \
	"$PROF" record -o x.json.gz -- ./no-such-path
echo 'just text' >text
refuses "a file that is not executable: 126" 126 './text' "$PROF" record -o x.json.gz -- ./text
refuses "a folder: 126" 126 "$tmp" "$PROF" record -o x.json.gz -- "$tmp"

printf 'exit 7\n' >no-shebang
chmod +x no-shebang
run "$PROF" record -o y.json.gz -- ./no-shebang
like "a script without #!: as a shell runs it (7), or refused (126)" "$status" '^(7|126)$'

run "$PROF" record -q -o y.json.gz -- cat <<<"from stdin"
is "standard input is the command's" "$out" "from stdin"
# shellcheck disable=SC2016 # for the inner shell
run env VARIABLE=value "$PROF" record -q -o y.json.gz -- sh -c 'echo $VARIABLE; pwd; umask'
is "environment, working directory and umask, too" "$out" "value"$'\n'"$tmp"$'\n'"$(umask)"
run "$PROF" record -q -o y.json.gz -- sh -c 'ls /proc/self/fd | wc -l'
is "it inherits no descriptor of prof's" "$out" "$(sh -c 'ls /proc/self/fd | wc -l')"
run "$PROF" record -q -o y.json.gz sh -c 'echo "$@"' x --frequency 5 -o z
is "options after the command are the command's" "$out" "--frequency 5 -o z"
run "$PROF" record -q -o y.json.gz -- true
is "--quiet says nothing" "$err" ""

done_testing
