#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof explain: its figures are those of prof report. Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

printf '%s\n' 'main;serve;lookup;read 50' 'main;serve;lookup 10' 'main;serve;log 40' |
	python3 "$root/tests/cli/stacks_profile.py" one >a.json
section() { # HEADING
	awk -v heading="$1" '$0 == heading { shown = 1 } !$0 { shown = 0 } shown' <<<"$out"
}
run "$PROF" explain a.json lookup
like "cost" "$(section Cost)" $'\n +10\\.0 % +60\\.0 % +lookup$'
is "callers" "$(section Callers | awk 'NR > 2 { print $3, $5 }')" "60.0 lookup
60.0 serve
60.0 main"
is "callees" "$(section Callees | awk 'NR > 2 { print $3, $5 }')" "60.0 lookup
50.0 read"
run "$PROF" explain --markdown a.json lookup
like "Markdown" "$out" $'^\n### Cost\n.*\\| 10\\.0 % \\| 60\\.0 % \\| `lookup` \\|'
run "$PROF" explain --ignore '^read$' a.json lookup
like "a condition" "$(section Cost)" ' 20\.0 % +20\.0 % +lookup'

profile=$root/${BUILD:-build}/tests/golden/profiles/waits.json
"$PROF" report --format json --include-idle "$profile" >report.json
function=$(python3 -c '
import json
print(next(r["function"] for r in json.load(open("report.json"))["rows"] if r["total"] > r["self"]))')
run "$PROF" explain --include-idle "$profile" "$function"
like "waits" "$out" $'\nWaits below it\n(blocked|waited for a CPU|idle) [0-9.]+ s'

# A function of 0.1 % of the samples has callers, too.
printf '%s\n' 'main;serve 999' 'main;serve;rare;deep 1' | python3 "$root/tests/cli/stacks_profile.py" one >rare.json
run "$PROF" report --callers rare rare.json
like "callers of a rare function" "$out" $'0\\.1 % +rare\n.* serve\n.* main'
run "$PROF" report --callees rare --min 50 rare.json
like "and its callees, by its own total" "$out" $'0\\.1 % +rare\n.* deep'
run "$PROF" report --by process --min 100 rare.json
unlike "all samples" "$out" 'no row'
refuses "no sample" 125 'no matching samples' "$PROF" report --by function --focus rare --ignore deep rare.json
printf 'main;f%d 1\n' {1..300} | python3 "$root/tests/cli/stacks_profile.py" one >flat.json
run "$PROF" report --inverted flat.json
like "rows that are all below the least share" "$out" $'\nno row has 0\\.5 % of the total \\(--min 0: all\\)'
run "$PROF" explain rare.json rare
like "which explain has as well" "$(section Callers)" $'rare\n.* serve'

refuses "no such function" 125 'no sample with the function none' "$PROF" explain a.json none
refuses "no function" 2 'a file and a function are needed' "$PROF" explain a.json
refuses "no file" 125 'cannot read nowhere' "$PROF" explain nowhere x
refuses "a wrong expression" 2 'focus' "$PROF" explain --focus '(' a.json lookup
done_testing
