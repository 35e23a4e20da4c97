#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/prove runs proofs, notes the runs of its schedule, and begins with the oldest.
set -u
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/scripts" "$tmp/tests/prove"
missing=$(awk '!/^#/ && NF { print $1 }' tests/prove/schedule | while read -r name; do
	[ -x "tests/prove/$name" ] || echo "$name"
done)
cp scripts/prove "$tmp/scripts"
echo 'all tests:' >"$tmp/Makefile"
cd "$tmp" || exit 1

count=0
is() { # DESCRIPTION GOT WANTED
	count=$((count + 1))
	[ "$2" = "$3" ] || printf '# %s\nnot ' "wanted $3, got: ${2//$'\n'/$'\n'# }"
	echo "ok $count - $1"
}
proof() { # NAME BODY
	printf '#!/bin/sh\n# SPDX-License-Identifier: MIT\n# Proves %s.\n%s\n' "$1" "$2" >"tests/prove/$1"
	chmod +x "tests/prove/$1"
}
run() {
	out=$(scripts/prove "$@" 2>err)
	status=$?
}
column() { # FIELD: of the notes, in their order
	cut -f "$1" tests/prove/runs.tsv | paste -sd ' '
}

# shellcheck disable=SC2016 # for the proofs
{
	proof good 'echo "good $*" >>order; echo figures; echo "$# arguments"'
	proof bad 'echo bad >>order; echo 7 of 8; exit 3'
	proof unscheduled 'echo unscheduled >>order'
}
printf '# A comment.\ngood --size 2\nbad\n' >tests/prove/schedule

is "the schedule names proofs" "$missing" ""
run
is "without a name: lists all" "$(awk '{print $1}' <<<"$out" | paste -sd ' ')" "bad good unscheduled"
run good --size 2
is "a proof's output is shown" "$out" $'figures\n2 arguments'
is "a run as scheduled is noted with its last line" "$(column 1) $(column 4) $(column 6)" "good holds 2 arguments"
run good --size 3
is "a run with other arguments is not noted" "$(column 6)" "2 arguments"
run unscheduled
is "nor is one outside the schedule" "$(column 1)" "good"
: >order
run --all
is "--all: fails if one does" "$status" 1
is "--all: begins with the proof that never ran" "$(paste -sd, order)" "bad,good --size 2"
is "--all: notes what failed" "$(column 1): $(column 4)" "bad good: fails (3) holds"
is "--all: ends with the table" "$(tail -n 2 <<<"$out" | awk '{print $1, $4}' | paste -sd,)" "bad fails,good holds"
: >order
run --all 0
is "--all 0: has no time for any" "$(cat order)" ""
run nothing
is "an unknown name is an error" "$status $(cat err)" \
	"2 scripts/prove: there is no proof nothing; without a name, scripts/prove lists them"
echo "1..$count"
