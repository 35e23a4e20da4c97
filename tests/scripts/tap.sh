#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/tap counts the results of programs, and names those that pass only when run again.
set -u
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export PROF_TOTALS=$tmp/totals

program() { # NAME, its text on stdin
	{
		echo '#!/bin/sh'
		cat
	} >"$tmp/$1"
	chmod +x "$tmp/$1"
}
program good <<<'echo "ok 1 - a"; echo "ok 2 - b"; echo "1..2"'
program bad <<<'echo "not ok 1 - a"; echo "1..1"'
program worse <<<'echo "not ok 1 - a"; echo "1..1"'
program skips <<<'echo "ok 1 - a # SKIP no reason"; echo "1..1"'
program silent <<<'exit 0'
program early <<<'echo "ok 1 - a"'
program short <<<'echo "ok 1 - a"; echo "1..2"'
program dies <<<'echo "ok 1 - a"; echo "1..1"; kill -9 $$'
program lies <<<'echo "ok 1 - a"; echo "1..1"; exit 3'
program hangs <<<'exec sleep 600'
program leaves <<<'sleep 600 & echo "ok 1 - a"; echo "1..1"'
# Each fails only the first time; $0 tells where it is.
for name in unsteady too; do
	# shellcheck disable=SC2016 # for the inner shell
	program $name <<<'[ -e "$0.ran" ] || printf "not "; echo "ok 1 - a"; echo "1..1"; : >"$0.ran"'
done
# Passes at the second run alone.
# shellcheck disable=SC2016 # for the inner shell
program odd <<<'[ "$(cat "$0.ran" 2>/dev/null)" = 1 ] || printf "not "; echo "ok 1 - a"; echo "1..1"
printf 1 >>"$0.ran"'

count=0
expect() { # DESCRIPTION STATUS LAST_LINE TOTALS ARGUMENT...
	local description=$1 wanted=$2 line=$3 totals=$4 status why=''
	shift 4
	rm -f "$PROF_TOTALS" "$tmp"/*.ran
	(cd "$tmp" && "$OLDPWD/scripts/tap" "$@") >"$tmp/out" 2>&1
	status=$?
	[ $status = "$wanted" ] || why="exit status $status"
	# shellcheck disable=SC2053 # a pattern
	[[ "$(tail -1 "$tmp/out")" == $line ]] || why+="; $(<"$tmp/out")"
	[ "$(tr '\n' ' ' <"$PROF_TOTALS")" = "$totals" ] || why+="; totals: $(<"$PROF_TOTALS")"
	count=$((count + 1))
	[ -z "$why" ] || printf '# %s\n' "${why//$'\n'/$'\n'# }"
	[ -z "$why" ] || printf 'not '
	echo "ok $count - $description"
}
expect "what passes" 0 'x: 2 passed, 0 failed (*' '2 0 ' --label x ./good
expect "what fails" 1 'x: 2 passed, 1 failed (*' '2 1 ' --label x ./good ./bad
expect "nothing at all" 1 'tests: 0 passed, 1 failed (*' '0 1 '
expect "a program that is not there" 1 'tests: 0 passed, 1 failed (*' '0 1 ' ./none
expect "a test that is skipped" 1 'tests: 0 passed, 1 failed (*' '0 1 ' ./skips
expect "no test" 1 'tests: 0 passed, 1 failed (*' '0 1 ' ./silent
expect "no plan" 1 'tests: 1 passed, 1 failed (*' '1 1 ' ./early
expect "fewer tests than planned" 1 'tests: 1 passed, 1 failed (*' '1 1 ' ./short
expect "a death" 1 'tests: 1 passed, 1 failed (*' '1 1 ' ./dies
expect "a status that no test explains" 1 'tests: 1 passed, 1 failed (*' '1 1 ' ./lies
expect "an end that does not come" 1 'tests: 0 passed, 1 failed (*' '0 1 ' --timeout 0.5 ./hangs
expect "a process that is left behind" 1 'tests: 1 passed, 1 failed (*' '1 1 ' --timeout 1 ./leaves
expect "several at a time" 1 'tests: 2 passed, 2 failed (*' '2 2 ' --jobs 3 ./bad ./good ./worse
expect "--plain: the status counts" 1 'tests: 2 passed, 1 failed (*' '2 1 ' --plain ./good ./silent ./lies

expect "not asked, nothing is run again" 1 'x: 2 passed, 1 failed (*' '2 1 ' --label x ./unsteady ./good
expect "unsteady: named" 0 'x: 3 passed, 0 failed, unsteady: x/unsteady (*' \
	'3 0 unsteady x/unsteady ' --label x --unsteady 1 ./unsteady ./good
expect "two of them" 0 'x: 2 passed, 0 failed, unsteady: x/unsteady x/too (*' \
	'2 0 unsteady x/unsteady unsteady x/too ' --label x --unsteady 2 ./unsteady ./too
expect "a program that fails again is not unsteady" 1 'x: 1 passed, 1 failed, unsteady: x/unsteady (*' \
	'1 1 unsteady x/unsteady ' --label x --unsteady 2 ./unsteady ./bad
expect "nor one that fails at the third run" 1 'x: 0 passed, 1 failed (*' '0 1 ' \
	--label x --unsteady 2 ./odd
expect "more than that many are not run again" 1 'x: 0 passed, 3 failed (*' '0 3 ' \
	--label x --unsteady 2 ./unsteady ./bad ./worse

closes() { # DESCRIPTION STATUS WANTED TOTALS [STEP...]
	local got status why=''
	printf '%b' "$4" >"$tmp/all"
	got=$(scripts/tap --close "$tmp/all" "${@:5}" 2>&1)
	status=$?
	[ $status = "$2" ] || why="exit status $status"
	[ "$got" = "$3" ] || why+="; $got"
	count=$((count + 1))
	[ -z "$why" ] || printf '# %s\n' "${why//$'\n'/$'\n'# }"
	[ -z "$why" ] || printf 'not '
	echo "ok $count - $1"
}
mend="failed, but passed two times when run again; mend the test"
closes "the end: all passed" 0 "5 passed, 0 failed" '2 0\n3 0\n'
closes "the end: a step failed" 1 $'failed: check\n5 passed, 1 failed' '2 0\n3 1\n' check
closes "the end: two steps that counted nothing" 1 $'failed: check; lint\n2 passed, 2 failed' '2 0\n' \
	check lint
closes "the end: a failure of no step" 1 "5 passed, 1 failed" '2 0\n3 1\n'
closes "the end: unsteady" 0 "unsteady: e2e/x: $mend"$'\n'"5 passed, 0 failed" \
	'2 0\n3 0\nunsteady e2e/x\n'
closes "the end: unsteady, and a failure" 1 $'failed: e2e\n'"unsteady: e2e/x: $mend"$'\n'"3 passed, 1 failed" \
	'3 1\nunsteady e2e/x\n' e2e
echo "1..$count"
