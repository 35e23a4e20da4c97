#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Pages: what they hold, and what their engine says of it. Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

equal() { # PROFILE...
	node "$root/tests/page/equal.mjs" "$PROF" "$@" 2>&1
}
hash_of() { # FILE ELEMENT
	perl -0ne "print \$1 if /<$2>(.*?)<\/${2%% *}>/s" "$1" | sha256sum | perl -ne '/^(\w+)/; print pack "H*", $1' | base64
}

"$PROF" convert "$golden/inline.json" -o page.html
like "without scripts: the summary" "$(<page.html)" '<p>golden: [0-9.]+ s, [0-9]+ samples'
like "and the heaviest functions" "$(<page.html)" '<td>[0-9.]+ % <small>±[0-9.]+</small></td>'
policy=$(sed -n 's/.*Content-Security-Policy" content="\([^"]*\)".*/\1/p' page.html)
like "nothing is loaded or evaluated" "$policy" "^default-src 'none'; script-src 'sha256-[^ ]+' 'sha256-[^ ]+' 'wasm-unsafe-eval'; style-src 'sha256-[^ ]+'; base-uri 'none'; form-action 'none'$"
like "its script may run" "$policy" "sha256-$(hash_of page.html 'script type="module"' | sed 's/[+]/[+]/g')'"
like "and has its style" "$policy" "sha256-$(hash_of page.html style | sed 's/[+]/[+]/g')'"
is "it needs no other file" "$(grep -cE '(src|href)=|url\(|@import' page.html)" 0

"$PROF" convert "$golden/inline.json" -o same.json
"$PROF" convert page.html -o back.json
ok "a page is read back" cmp same.json back.json
is "report reads it" "$("$PROF" report --format csv page.html)" "$("$PROF" report --format csv "$golden/inline.json")"
# Browsers add a comment when they save it.
sed 's/<html lang="en">/<!-- saved from url=(0014)about:internet -->\n&/' page.html >saved.html
is "also where a browser saved it" "$("$PROF" report --format csv saved.html)" "$("$PROF" report --format csv page.html)"

sed 's/id="prof-samples">H4sI/&AAAA/' page.html >damaged.html
refuses "damaged data" 125 'block' "$PROF" report damaged.html
sed 's/id="prof-tables">[^<]*/id="prof-tables">/' page.html >empty.html
refuses "no data" 125 'damaged' "$PROF" report empty.html
head -c $(($(grep -ob 'id="prof-samples"' page.html | cut -d: -f1) + 60)) page.html >cut.html
refuses "a cut page" 125 'block' "$PROF" report cut.html

printf '%s\n' '</title><script>alert(1)</script>;"x" onload="y]]>;&lt;b> 7' 'a (1 samples, 99 %) 3' |
	python3 "$root/tests/cli/stacks_profile.py" >hostile.json
"$PROF" convert hostile.json -o hostile.html
is "names are no markup" "$(grep -c '<script>' hostile.html) $(grep -c 'onload="' hostile.html)" "0 0"

# A page of two sides.
mkdir sides
python3 "$root/tests/diff/profiles.py" sides
"$PROF" diff --json d.json -o d.html sides/variants.json >d.txt
is "a difference has the text of prof diff without scripts" \
	"$(sed -n '/^<pre>/,/^<\/pre>/p' d.html | sed 's/<[^>]*>//g; s/&lt;/</g; s/&gt;/>/g; s/&quot;/"/g; s/&amp;/\&/g' | tr -s ' ')" "$(tr -s ' ' <d.txt)"
is "and its figures for the script" "$(sed -n 's/.*id="prof-comparison">\([^<]*\)<.*/\1/p' d.html | base64 -d | gzip -dc)" "$(<d.json)"
is "its rows are those of prof diff, with the totals of report" "$(node "$root/tests/page/sides.mjs" "$PROF" d.html d.json 2>&1)" "7 rows compared, 0 different"
# A program of two names, and amounts of memory.
"$PROF" diff --force --json n.json -o n.html sides/old.json sides/new.json >/dev/null
is "functions of modules of two names are one" "$(node "$root/tests/page/sides.mjs" "$PROF" n.html n.json 2>&1)" "7 rows compared, 0 different"
"$PROF" diff --force --event retained --json e.json -o e.html "$golden/allocs.json" "$golden/allocs-held.json" >/dev/null
is "rows of memory are those of prof diff" "$(node "$root/tests/page/sides.mjs" "$PROF" e.html e.json 2>&1 | sed 's/^[1-9][0-9]* rows/all rows/')" "all rows compared, 0 different"
like "memory has its name" "$("$PROF" report e.html)" ' samples of retained \([0-9.]+ [kM]?B\)'
is "its sides are read back" "$("$PROF" report --by thread --format csv d.html | grep -o '^"[AB]: [a-z]*"' | sort | xargs)" "A: base B: patch"


"$PROF" convert "$golden/allocs.json" -o allocs.html
values() { # PAGE EXPRESSION...
	node "$root/tests/page/values.mjs" "$@" 2>&1 | paste -sd' '
}
is "the menu has the events that have samples" "$(values allocs.html 'engine.events()')" "clock,allocated,retained,deallocated"
is "each in its unit" "$(values allocs.html '(engine.select({event: "retained"}), engine.amount(engine.weight))' \
	'(engine.select({event: "clock"}), engine.amount(engine.weight))')" "3.7 MB 1.00 ms"

is "memory is of the thread that allocated it" "$("$PROF" report --event allocated --by thread --format csv "$golden/allocs.json" |
	python3 -c 'import csv, sys; print(*(r["thread"] + " " + r["self"] for r in csv.DictReader(sys.stdin)), sep=", ")')" \
	"heap 4194336, second 526338, heap 3000"
is "in the timeline of pages, too" "$(values allocs.html '(engine.select({event: "allocated"}), engine.threads.map(({id}) => engine.weightOf(id)).join())' \
	'engine.timeline(1, 0, engine.duration, 1).times.reduce((a, b) => a + b)' 'engine.sampleAt(1, 1e7).time')" "4194336,526338,3000 526338 4000000"


"$PROF" convert "$golden/critical-path.json" -o path.html
is "the critical path is found in a page" "$("$PROF" report --critical-path --format csv path.html)" \
	"$("$PROF" report --critical-path --format csv "$golden/critical-path.json")"
is "steps have their time on the path" "$(node --input-type=module - "$root" path.html <<'CODE'
const [root, page] = process.argv.slice(2);
const {readPath} = await import(`${root}/lib/format/page/ui/path.mjs`), {openPage} = await import(`${root}/tests/page/page_file.mjs`);
console.log(readPath(await openPage(page)).turns.map(({text}) => text).join(" | "));
CODE
)" "running 2.00 ms | running 3.00 ms | running 3.00 ms, [queued] 2.00 ms, [read] 800.0 µs, [wakes up] 200.0 µs | running 3.00 ms, [queued] 500.0 µs, [clock_nanosleep] 500.0 µs | running 2.00 ms"
is "forecasts are sentences" "$(node --input-type=module - "$root" <<'CODE'
const {forecastText} = await import(`${process.argv[2]}/lib/format/page/ui/path.mjs`);
console.log(forecastText("If: f, g takes half its time, Time of the command, alone on the machine: 1500.5 ms, Unchanged: 3000 ms, If the path alone got shorter: 2250 ms"));
console.log(forecastText("If: f takes half its time, Time of the command, alone on the machine: 15 ms, Unchanged: 20 ms"));
console.log(forecastText("Other: 7"));
CODE
)" "If f, g takes half its time: alone on the machine, the command takes 1.50 s instead of 3.00 s; 2.25 s if only the path gets shorter
If f takes half its time: alone on the machine, the command takes 15.0 ms instead of 20.0 ms
Other: 7"
is "and is an event like others" "$(values path.html 'engine.events().includes("critical path")')" true
"$PROF" convert "$golden/waits.json" -o waits.html
is "the machine has as many CPUs as it says" "$(values waits.html engine.cpus)" "4"
is "a small profile makes a small page" "$(($(stat -c %s waits.html) <= 200000))" 1
is "pages have the keys of prof browse" "$(node "$root/tests/page/keys.mjs" "$root/cmd/browse/screen.c")" ""
ok "letters can be read on all colours of functions" awk -v least="$(node "$root/tests/page/contrast.mjs")" 'BEGIN { exit !(least >= 4.5) }'
is "a sample is found by thread and time" "$(values page.html 'JSON.stringify(engine.sampleAt(0, 2.1e6))' \
	'engine.frames(engine.sampleAt(0, 2.1e6).stack).map(({key}) => engine.key(0, key).function)')" \
	'{"stack":7,"time":2000000} leaf <int>,inner,outer,main'
is "the user's own function of a stack" "$(values page.html 'engine.ownFunction(engine.sampleAt(0, 2.1e6).stack)')" "leaf <int>"

is "markers are labelled by what tells them apart" "$(node --input-type=module - "$root" <<'CODE'
const {markerLabel} = await import(`${process.argv[2]}/lib/format/page/ui/markers.mjs`);
const fields = ["Returned: 0; woken: Waker: interrupt", "Path: /tmp/x, Returned: 3", "Process, not recorded: cc1, CPU time: 2 ms", "Returned: -1, Error: EAGAIN", "Peer: 10.0.0.1:80, State: closed", ""];
console.log(fields.map(markerLabel).join("|"));
CODE
)" "|/tmp/x|cc1|EAGAIN|10.0.0.1:80|"

"$PROF" convert "$golden/runtimes.json" -o runtimes.html
is "languages of a page are those of its code" "$(values runtimes.html 'engine.categories.filter((row) => row.isLanguage).map(({name}) => name)')" "Python,JavaScript"
is "samples of a language are those of report" "$(values runtimes.html '(engine.select({language: "python"}), engine.samples)' engine.hasTimes)" \
	"$("$PROF" report --language python --format json runtimes.html | sed -n 's/.*"samples": \([0-9]*\),.*/\1/p') 1"
printf 'a;b 3\na;c 1\n' >stacks.folded
"$PROF" convert stacks.folded -o stacks.html
is "stacks that are added up have no times" "$(values stacks.html engine.hasTimes)" 0

is "parts of source have their kinds" "$(node --input-type=module - "$root" <<'CODE'
globalThis.document = {createElement: () => ({setAttribute(name, value) { this.kind = value; }, append(text) { this.text = text; }})};
const {colourLine} = await import(`${process.argv[2]}/lib/format/page/ui/source.mjs`), state = {isComment: false};
const parts = (line, file) => colourLine(line, file, state).map((part) => part.kind ? `${part.kind}<${part.text}>` : part).join("");
for (const line of ['if (x2 == 0x1fu) f("a\\"/*b"); // end', "#include <a.h>", "a /* b", "return 1 */ return 'c';", "x = /**/ 1;"])
	console.log(parts(line, "a.c"));
console.log(parts("def f(x): # if", "a.py"));
CODE
)" 'word<if> (x2 == digits<0x1fu>) f(string<"a\"/*b">); comment<// end>
word<#include> <a.h>
a comment</* b>
comment<return 1 */> word<return> string<'"'c'"'>;
x = comment</**/> digits<1>;
word<def> f(x): comment<# if>'

is "the engine's rows are those of report" "$(equal "$golden"/{collapsed,inline,waits,events,runtimes,allocs,critical-path}.json \
	"$root/tests/readers/files/samply-66.json" | sed 's/^[1-9][0-9]* rows/all rows/')" "all rows compared, 0 different"
done_testing
