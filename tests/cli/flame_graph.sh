#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Flame graphs: what they show of a profile, and what their script does. Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

page() { # FILE ACTION...
	node "$root/tests/cli/flame_graph.mjs" "$@" 2>&1
}
stacks() {
	python3 "$root/tests/cli/stacks_profile.py"
}
titles() { # FILE
	grep -o '<title>[^<]*' "$1" | sed 's/<title>//' | tail -n +2
}
color() { # FILE NAME
	sed -n "s/.*<title>$2 (.* fill=\"\(#[0-9a-f]*\)\".*/\1/p" "$1"
}

# Two processes with two threads each, one of them with a number in its name.
"$PROF" convert "$golden/collapsed.json" -o merged.svg
"$PROF" convert --all-threads "$golden/collapsed.json" -o threads.svg
is "functions of processes and threads are merged" \
	"$(python3 - "$golden/collapsed.json" merged.svg <<'PY'
import json, sys
profile = json.load(open(sys.argv[1]))
names = {t["name"] for t in profile["threads"]} | {t["processName"] for t in profile["threads"]}
text = open(sys.argv[2]).read()
print([name for name in sorted(names) if f"<title>{name} (" in text])
PY
	)" "[]"
like "--all-threads: names of threads are as they are" "$(titles threads.svg)" $'\nworker 5 \\(3 samples, '

# Kinds of code have colours, which the legend explains.
"$PROF" convert "$golden/inline.json" -o kinds.svg
"$PROF" convert "$golden/runtimes-inlined.json" -o languages.svg
"$PROF" convert "$golden/kernel-areas.json" -o kernel.svg
like "the legend: kinds" "$(<kinds.svg)" '>User</text>'
like "and inlined functions" "$(<kinds.svg)" '>paler: inlined</text>'
like "languages" "$(<languages.svg)" '>(JavaScript|Python)</text>'
like "the kernel" "$(<kernel.svg)" '<rect [^>]*fill="#f29f45"/><text [^>]*>Kernel</text>'

printf 'main;parse;read 30\nmain;parse 10\nmain;write 40\nother 20\n' | stacks >plain.json
"$PROF" convert plain.json -o plain.svg
is "everything at first" "$(page plain.svg show)" \
	"all 100, main 80, other 20, parse 40, write 40, read 30"
is "a click zooms, Esc goes back, twice" \
	"$(page plain.svg click=main click=parse show press=Escape show press=Escape show press=Escape show)" \
	"all 100, main 100, parse 100, read 75
all 100, main 100, parse 50, write 50, read 37
all 100, main 80, other 20, parse 40, write 40, read 30
all 100, main 80, other 20, parse 40, write 40, read 30"
is "and so does what is written there" "$(page plain.svg click=parse click=back show click=parse click=reset show)" \
	"all 100, main 80, other 20, parse 40, write 40, read 30
all 100, main 80, other 20, parse 40, write 40, read 30"
is "the function under the mouse: name and share" "$(page plain.svg hover=read lines)" \
	"read  (30 samples, 30.00 %) | "
is "also of what is shown" "$(page plain.svg click=parse hover=read lines)" \
	"read  (30 samples, 30.00 %, 75.00 % of what is shown) | "
is "by keyboard: down, to the side, Enter" \
	"$(page plain.svg press=ArrowDown press=ArrowDown press=ArrowRight lines press=Enter show)" \
	"write  (40 samples, 40.00 %) | 
all 100, main 100, write* 100"
is "a search: a regular expression; nothing counts twice" \
	"$(page plain.svg press=/ 'type=^(parse|re.d)$' show lines)" \
	"all 100, main 80, other 20, parse! 40, write 40, read! 30
 | 40.00 % in functions that match"
is "capitals mean themselves" "$(page plain.svg 'type=Parse' lines)" " | 0.00 % in functions that match"
is "what is none is said" "$(page plain.svg 'type=(' lines)" " | not a regular expression"
is "Esc leaves the field, and the search" "$(page plain.svg press=/ type=read press=Escape show lines)" \
	"all 100, main 80, other 20, parse 40, write 40, read 30
 | "

printf 'main;twice 300\nmain;same 300\nmain;alike 310\nmain;gone 300\n' | stacks >before.json
printf 'main;twice 600\nmain;same 300\nmain;alike 300\nmain;new 300\n' | stacks >after.json
"$PROF" convert --diff before.json after.json -o difference.svg
is "a difference: what took longer is red" "$(color difference.svg twice)" "#ff8787"
is "what is new, more so" "$(color difference.svg new)" "#ff3c3c"
is "what took as long is grey, whatever the rest" \
	"$(color difference.svg same) $(color difference.svg alike)" "#d0d0d0 #d0d0d0"
"$PROF" convert --diff after.json before.json -o difference.svg
is "what took less is blue" "$(color difference.svg twice)" "#8787ff"
like "it tells both times" "$(titles difference.svg)" $'\ntwice \\(300 samples, 24.79 %, before 600: -50 %\)'

printf '%s\n' '</title><script>alert(1)</script>;"x" onload="y]]>;&lt;b> 7' 'a (1 samples, 99 %) 3' | stacks >hostile.json
"$PROF" convert hostile.json -o hostile.svg
is "names are no markup" "$(grep -c '<script' hostile.svg) $(grep -c 'onload="' hostile.svg) $(grep -c ']]>' hostile.svg)" "1 0 1"
like "and come through as they are" "$(page hostile.svg 'hover=</title><script>alert(1)</script>' lines)" \
	'^</title><script>alert\(1\)</script>  \(7 samples, 70.00 %\)'
is "no file needs another" "$(grep -cE '(src|href)=|url\(|@import' hostile.svg)" 0
done_testing
