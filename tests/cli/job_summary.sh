#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof report and prof diff --format markdown: what is in a job's summary, and that no name is markup.
# Needs no root.
# shellcheck disable=SC2016 # backquotes of Markdown
. "$(dirname "$0")/../e2e/lib.sh"
shopt -s extglob

# Fails if a profile's name does something: outside of code spans is only what prof itself says, and
# each row has as many cells as the heading.
judge() {
	python3 -c '
import re, sys
text, wide, columns = sys.stdin.read(), 0, 0
for line in text.splitlines():
    plain = re.sub(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", "CODE", line.replace("<https://profiler.firefox.com>", ""))
    bad = re.search(r"[^ -~±→❔✅❌]|[\[<*_`&@]|://", plain.replace("**", ""))
    assert not bad, (bad[0], line)
    cells = len(re.findall(r"(?<!\\)\|", line))
    columns = cells if not columns or not cells else columns
    assert cells in (0, columns), line
    columns = columns if cells else 0
print("clean")'
}
python3 - >hostile.txt <<'P'
names = ["plain", "`code`", "``", "a|b\\|c", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "@someone",
         "https://example.org", "*bold* _it_", "| --- |", "</details>", "::error::x", "#1 ![i](u)", "x`|`y", "\\"]
for name in names:
    print(f"main;{name} 10")
P
stacks() { # OUT PROCESS...
	python3 "$root/tests/cli/stacks_profile.py" "${@:2}" | python3 -c '
import json, sys
profile = json.load(sys.stdin)
profile["meta"]["product"] = "<b>`make|x`</b>\n# title"
row = lambda label, value: {"label": label, "format": "string", "value": value}
profile["meta"]["extra"] = [
    {"label": "Losses", "entries": [row("Lost samples", "12"), row("Lost: ring full", "12"), row("Ring full", "12")]},
    {"label": "Symbols", "entries": [
        row("lib<i>.so", "3 of 5 frames named, 2 with lines; no debug file for build id `00`|"),
        row("all.so", "5 of 5 frames named"), row("odd", "nonsense"), row("none", "0 of 2 frames named")]}]
json.dump(profile, sys.stdout)' >"$1"
}
stacks hostile.json '<script>' 'b`|' <hostile.txt
run "$PROF" report --format markdown hostile.json
like "figures" "$out" '\(300 ticks\), 12 lost, 100.0 % named'
like "losses by cause" "$out" $'\nLost: `.*Ring full: 12`\n'
like "how to open it" "$out" 'Open `hostile.json` at <https://profiler.firefox.com>, or with `prof view`'
like "processes" "$out" $'### By process\n.*`<script>` \|'
like "functions" "$out" $'### Where it ran\n.*`plain` \|'
like "modules without names, and why" "$out" $'### Without names\n\n[^\n]*\n[^\n]*\n\| 3 of 5 \| `lib<i>.so` \| `` no debug file for build id `00`\\\\\\| `` \|\n\| 0 of 2 \| `none` \|  \|$'
is "no name is markup" "$(judge <<<"$out")" clean
run "$PROF" report --format markdown --by function hostile.json
is "a table by itself: no name is markup" "$(judge <<<"$out")" clean
unlike "a table by itself" "$out" '###'
run "$PROF" report --format markdown --limit 3 hostile.json
like "as many rows as are wanted" "$out" $'\n13 more functions\n'

head -c 3000 /dev/zero | tr '\0' '`' >ticks
for i in {1..900}; do
	echo "main;$i$(<ticks) 1"
done | stacks long.json
"$PROF" report --format markdown --limit 0 long.json >summary
ok "at most 1 MiB: $(stat -c %s summary)" test "$(stat -c %s summary)" -le $((1000 << 10))
like "says that it was cut" "$(tail -1 summary)" 'cut off'

sed 's/ 10$/ 30/; s/^main;plain.*/main;plain 500/' hostile.txt | stacks other.json '<script>' 'b`|'
run "$PROF" diff --force --format markdown --gate 'total=1%,[x](javascript:alert(1))=2%' hostile.json other.json
like "diff: rows" "$out" 'javascript.*`plain`'
is "diff: no name is markup" "$(judge <<<"${out//&#+([0-9]);/}")" clean
is "diff: the same as in a file" "$out" "$("$PROF" diff --force --markdown - --gate 'total=1%,[x](javascript:alert(1))=2%' hostile.json other.json)"
run "$PROF" diff --force --format json hostile.json other.json
like "diff: JSON" "$out" '^."schema": "prof-diff/1", "verdict": "'
refuses "diff: twice the same" 2 'format' "$PROF" diff --force --format json --markdown x hostile.json other.json
done_testing
