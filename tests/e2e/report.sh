#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof report of a real recording: shares, lines, markers, and as it looks on a terminal; and the
# table that prof record prints itself. Wrong use is refused.
# May run beside others.
. "$(dirname "$0")/lib.sh"

share_of() { # FUNCTION: its total in percent, out of CSV
	awk -F, -v name="\"$1\"" '$1 == name { print int($6 + 0.5) }' <<<"$out"
}
within() { # VALUE LOW HIGH
	[ $# -eq 3 ] && [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]
}

# shellcheck disable=SC2016 # for the inner shell
record shares 0 --signals -- bash -c 'trap : USR1; kill -USR1 $$; "$0" 1; :' "$workloads/shares"
run "$PROF" report --format csv --unit percent --process shares shares.json.gz
is "exit status" "$status" 0
sixty=$(share_of sixty) thirty=$(share_of thirty) ten=$(share_of ten)
# Four standard deviations of a thousand samples; of fewer, the whole is no share.
for share in "$sixty 53 67" "$thirty 23 37" "$ten 5 15"; do
	# shellcheck disable=SC2086 # words
	ok "shares of a program that has 60, 30 and 10 %: $share" within $share
done
run "$PROF" report --annotate burn_ms shares.json.gz
like "source lines of a function, out of the file here" "$out" \
	$'\n'"burn_ms in shares: $root/.*burn.h"$'\n.*%  +[0-9]+  +burn_a_little'
run "$PROF" report --markers --format csv shares.json.gz
like "a signal in the list of markers" "$out" '"SIGUSR1","bash",[0-9]+,"bash","[0-9]+","Sender: bash'
refuses "markers that do not last" 125 'SIGUSR1: these markers have no duration' \
	"$PROF" report --during SIGUSR1 shares.json.gz
refuses "no such marker" 125 'the profile has no such marker' "$PROF" report --during x shares.json.gz

rm -f profile.json.gz
run "$PROF" record --report -q -- "$workloads/shares" 0.2
is "record --report: exit status" "$status" 0
like "record --report: the first screen on standard error" "$err" \
	$'^ran .*\nHot path: [0-9.]+ % in .*\n +SELF +TOTAL +FUNCTION .*\n.* burn_a_little '
ok "record --report: without --output, no file is kept" test ! -e profile.json.gz
run "$PROF" record --report -o kept.json.gz -- sh -c 'exit 3'
is "record --report -o: exit status of the command" "$status" 3
ok "record --report -o: the file is kept" test -s kept.json.gz

# A source file that only root may read is none to another user, under sudo, too.
chmod 644 shares.json.gz
mkdir closed
cp "$root/tests/workloads/burn.h" closed/secret.h
chmod 700 closed
gunzip -c shares.json.gz | sed "s|\"$root/[^\"]*burn.h\"|\"$PWD/closed/secret.h\"|" >other.json
chmod 644 other.json
run "$PROF" report --annotate burn_ms other.json
like "root reads it" "$out" 'burn_a_little\('
run env SUDO_UID=61931 SUDO_GID=61931 "$PROF" report --annotate burn_ms other.json
is "exit status for a user who may not" "$status" 0
like "its text is not shown to a user who may not read it" "$out" 'its text is neither'
unlike "nor a line of it" "$out" 'burn_a_little\('
# The writer of the profile must be able to read it as well.
chown 61931:61931 other.json
run "$PROF" report --annotate burn_ms other.json
unlike "nor to root, for another user's profile" "$out" 'burn_a_little\('
chown 0:0 other.json

# A profile may name any file: what is shown looks like source, and nobody else led us there.
shows() { # DESCRIPTION PATH
	gunzip -c shares.json.gz | sed "s|\"$root/[^\"]*burn.h\"|\"$2\"|" >named.json
	run "$PROF" report --annotate burn_ms named.json
	like "$1: is not shown" "$out" 'its text is neither'
}
mkdir places
cp "$root/tests/workloads/burn.h" places/burn.txt
cp "$root/tests/workloads/burn.h" places/burn.h
ln -s "$PWD/places/burn.h" theirs.h
chown -h 61931:61931 theirs.h
ln -s "$PWD/places/burn.txt" text.h
shows "a name that is not one of source" "$PWD/places/burn.txt"
shows "a link to one" "$PWD/text.h"
shows "another user's link" "$PWD/theirs.h"
shows "a way through /proc" "/proc/self/root$PWD/places/burn.h"
chown -h 0:0 theirs.h
gunzip -c shares.json.gz | sed "s|\"$root/[^\"]*burn.h\"|\"$PWD/theirs.h\"|" >named.json
run "$PROF" report --annotate burn_ms named.json
like "root's own link is followed" "$out" 'burn_a_little\('

cp "$PROF" prof-for-all && chmod 755 prof-for-all
printf '#!/bin/sh\ntr a-z A-Z\n' >shout && chmod 755 shout
gunzip -c shares.json.gz | sed 's/"sixty"/"sixty_\\u001b]0;title\\u0007_with_a_name_that_no_terminal_of_eighty_columns_has_room_for"/' >long.json
chmod 644 long.json
on_terminal() { # PAGER COMMAND...
	local pager=$1
	shift
	run env TERM=xterm PAGER="$pager" python3 "$root/tests/e2e/on_terminal.py" nobody -- \
		sh -c 'stty cols 80; exec "$@"' sh "$@"
}
on_terminal ./shout ./prof-for-all report long.json
like "on a terminal: the pager shows it" "$out" 'SAMPLES OF CLOCK'
on_terminal cat ./prof-for-all report long.json
like "a long name is cut there" "$out" 'sixty_\?\]0[a-z?_;]*…'
ok "lines of the table fit the terminal" python3 -c '
for line in open(".out", encoding="utf-8").read().split("\n")[2:]:
    assert len(line) <= 80, line'
run "$PROF" report long.json
ok "without a terminal, lines fit 120 columns" python3 -c '
for line in open(".out", encoding="utf-8").read().split("\n")[2:]:
    assert len(line) <= 120, line'
like "what is for programs is whole" "$("$PROF" report --format csv long.json)" \
	'no_terminal_of_eighty_columns_has_room_for'
PAGER=./shout run "$PROF" report long.json
unlike "no pager where standard output is no terminal" "$out" 'SAMPLES OF CLOCK'

wrong() { # REGEX ARGUMENT...
	local regex=$1
	shift
	refuses "report $*" 2 "$regex" "$PROF" report "$@" shares.json.gz
}
wrong 'must be one of function' --by nonsense
wrong 'cannot be used for trees' --tree --by thread
wrong 'need --by function' --callers main --by line
wrong 'cannot be combined with other trees' --callers main --callees main
wrong 'must be two times' --time 5
wrong 'ends before it begins' --time 5..4
wrong 'must be a percentage' --min 101
wrong 'must be a number of rows' --limit -1
wrong 'must be one of percent' --unit minutes
wrong 'must be one of text' --format xml
wrong '\(' --focus '('
wrong 'table of its own' --annotate main --tree
wrong 'shows all lines' --annotate main --limit 3
wrong 'only --process, --thread and --time' --markers --focus x
wrong 'without weights' --markers --tree
wrong 'more than one file' other
wrong 'nonsense' --nonsense
refuses "no such function" 125 'no sample with the function nowhere' "$PROF" report --callees nowhere shares.json.gz
refuses "no such event" 125 'has no such event' "$PROF" report --event x shares.json.gz
refuses "nothing selected" 125 'no matching samples' "$PROF" report --process x shares.json.gz
refuses "no such file" 125 'No such file' "$PROF" report nowhere
done_testing
