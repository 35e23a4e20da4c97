#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof convert of real recordings, and prof record in other formats; what is wrong is refused.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

record one 0 -- "$workloads/shares" 0.3
record two 0 -e page-faults -- "$workloads/shares" 0.3
weight() { # FILE: ticks of the clock
	"$PROF" report --format json --include-idle "$1" | python3 -c \
		'import json, sys; print(json.load(sys.stdin)["summary"]["weight"])'
}
run "$PROF" convert one.json.gz two.json.gz -o both.json.gz
is "two recordings as one: exit status" "$status" 0
is "its samples are those of both" "$(weight both.json.gz)" \
	"$(($(weight one.json.gz) + $(weight two.json.gz)))"
is "and it is valid" "$(python3 "$root/tests/check_profile.py" both.json.gz)" "both.json.gz: ok"
ok "processes follow one another by wall clock" python3 -c '
import gzip, json
threads = json.load(gzip.open("both.json.gz"))["threads"]
first, second = sorted({t["processStartupTime"] for t in threads})[:2]
assert second > first + 100, (first, second)'
for name in shares.pb.gz shares.pb shares.svg shares.html shares.speedscope.json shares.folded; do
	run "$PROF" convert --process shares one.json.gz -o $name
	is "$name: exit status" "$status" 0
	is "$name: nothing is said" "$out$err" ""
done
ok "$(ls -1 shares.*.gz): compressed" gunzip -t shares.pb.gz
"$PROF" convert one.json.gz --to folded -o - >stdout.folded
is "on standard output: the same" "$(sort stdout.folded)" "$(sort shares.folded)"
run "$PROF" record -q -o recorded.svg -- "$workloads/shares" 0.2
like "record -o FILE.svg: a flame graph" "$(<recorded.svg)" '<title>burn_a_little \([0-9,]+ samples'
run "$PROF" record -q -o recorded.html -- "$workloads/shares" 0.2
is "record -o FILE.html: a page" "$(grep -c '"prof-engine"' recorded.html)" 1
ok "which report reads" "$PROF" report recorded.html
run "$PROF" record -q --format pprof -o recorded -- "$workloads/shares" 0.1
ok "record --format pprof: compressed" gunzip -t <recorded

run "$PROF" convert --diff one.json.gz two.json.gz -o same.svg
is "the difference of two that are alike: exit status" "$status" 0
# The start of a program may take longer once.
ok "is grey nearly everywhere: $(grep -c '#d0d0d0' same.svg) of $(grep -c '<g><title>' same.svg)" \
	test "$(grep -c '#d0d0d0' same.svg)" -gt $(($(grep -c '<g><title>' same.svg) * 9 / 10 - 2))
"$PROF" convert --hide '^sixty$' one.json.gz -o changed.json.gz
run "$PROF" convert --diff changed.json.gz one.json.gz -o changed.svg
like "what is new is red" "$(grep '<title>sixty ' changed.svg)" 'fill="#ff3c3c"'

wrong() { # REGEX ARGUMENT...
	local regex=$1
	shift
	refuses "convert $*" 2 "$regex" "$PROF" convert "$@"
}
wrong 'no file to convert' -o x.svg
wrong 'no file to write' one.json.gz
wrong 'cannot tell the format from the name: use --to' one.json.gz -o x.y
wrong 'no such format; must be one of: .*pprof' one.json.gz -o x --to nonsense
wrong 'only flame graphs' one.json.gz -o x.pb --diff two.json.gz
wrong 'read only once' - - -o x.svg
wrong 'must not be empty' '' -o x.svg
wrong 'ends before it begins' one.json.gz -o x.svg --time 2..1
refuses "no such file" 125 'No such file' "$PROF" convert nowhere -o x.svg
refuses "nothing selected" 125 'no matching samples' "$PROF" convert --process x one.json.gz -o x.svg
run "$PROF" record -q -F 500 -o other.json.gz -- "$workloads/shares" 0.1
refuses "another interval" 125 'different intervals' "$PROF" convert one.json.gz other.json.gz -o x.svg
done_testing
