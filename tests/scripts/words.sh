#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/check-words finds beginnings and words that are out of use, and nothing else.
set -u
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/room"

count=0
judges() { # NAME FILE TEXT WANTED: the places and causes, "" for none
	local got why=''
	rm -f "$tmp/room/"*
	printf '%s\n' "$3" >"$tmp/room/$2"
	got=$(scripts/check-words "$tmp" room) && [ -n "$4" ] && why="nothing was found"
	if [ -z "$4" ]; then
		[ -z "$got" ] || why="found: $got"
	elif [[ $got != "room/$2:$4"* ]] || [ "$(wc -l <<<"$got")" != 1 ]; then
		why="wanted: $4; found: $got"
	fi
	count=$((count + 1))
	[ -z "$why" ] || echo "# ${why//$'\n'/$'\n'# }"
	[ -z "$why" ] || printf 'not '
	echo "ok $count - $1"
}

for word in Of What Where Whoever Whose Which That 'So that' How As Because Unless; do
	judges "C: $word" a.c $'int a;\n/* '"$word"$' it goes. */\nint b;' "2:"
done
judges "C: a block" a.h $'/*\n * Where there is one.\n */' "1:"
judges "C: a line comment" a.c '// What it is.' "1:"
judges "C: behind a field" a.h $'struct a {\n\tint b; /* what it is */\n};' "2:"
judges "C: continues a field's name" a.h $'struct a {\n\tint b; /* of the stack */\n};' ""
judges "C: verbs and nouns" a.h $'/* Returns what it finds. */\n/* Offset of it. */\n/* Whitespace. */' ""
judges "C: a reference" a.h $'/* As in struct rec. */\n/* As vec_add(). */' ""
judges "C: text is no comment" a.c 'const char *a = "/* Where it is */ ledger";' ""
judges "shell" a.sh $'#!/bin/sh\n# Where it is.' "2:"
judges "shell: only the beginning counts" a.sh $'#!/bin/sh\n# Says\n# what it is.' ""
judges "Python: a comment" a.py $'a = 1\n# What it is.' "2:"
judges "Python: documentation" a.py $'def a():\n    """What it is."""' "2:"
judges "Python: a string" a.py $'a = "# What it is."\nb = """Where"""' ""
judges "Python: a string with values" a.py $'a = f"# What it is {ledger} {f\'{memo:{news}}\'}"' ""
judges "a script by its first line" a $'#!/usr/bin/env python3\n# Of it.' "2:"
judges "other files" a.txt '/* Of it. */' ""
judges "words: in comments" a.c '/* Counts memos. */' '1: "memos" is now cache'
judges "words: in names" a.c 'int find_ledger_row;' '1: find_ledger_row: ledger is now tick_stats'
judges "words: fine in a sentence" a.c '/* Gives up no more. Complain. */' ""
judges "words: parts of others" a.c 'int newsletter, memory;' ""

# A folder that no longer exists must not pass.
count=$((count + 1))
scripts/check-words "$tmp" gone >/dev/null && printf 'not '
echo "ok $count - a folder that is gone"
echo "1..$count"
