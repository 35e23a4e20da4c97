#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# JavaScript that a tool made of other files: names and lines are those that people wrote.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
mkdir -p src out
cat >src/work.ts <<'CODE'
// What people wrote.
export function heavyPart(n: number): number {
  let sum = 0;

  for (let i = 0; i < n; i++)
    sum = (sum * 31 + i) & 0xffffff;
  return sum;
}
CODE
cat >src/main.ts <<'CODE'
import { heavyPart } from './work';

const callOften = (n: number): number => {
  return heavyPart(n);
};

const end = Date.now() + 1500;
while (Date.now() < end)
  callOften(60000);
CODE
# A bundle in one line, and its map.
cat >bundle.py <<'CODE'
import base64
import json
import sys

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
# Pieces of the bundle; file, line, column and name of those that were written.
PIECES = [("(()=>{", None), ("function ", (0, 1, 7)), ("o", (0, 1, 16, 0)), ("(", None), ("e", (0, 1, 26, 1)),
          ("){let r=0;", (0, 2, 2)), ("for(let t=0;t<e;t++)", (0, 4, 2)), ("r=r*31+t&16777215;", (0, 5, 4)),
          ("return r}", (0, 6, 2)), ("var ", (1, 2, 0)), ("c", (1, 2, 6, 2)), ("=", None),
          ("n", (1, 2, 19, 1)), ("=>", (1, 2, 41)), ("o(n);", (1, 3, 9, 0)), ("let d=Date.now()+1500;", (1, 6, 0)),
          ("for(;Date.now()<d;)", (1, 7, 0)), ("c(6e4)", (1, 8, 2, 2)), ("})();", None)]

def number(value):
    value = -value * 2 + 1 if value < 0 else value * 2
    text = ""
    while True:
        value, digit = value >> 5, value & 31
        text += DIGITS[digit | (32 if value else 0)]
        if not value:
            return text

script, segments, last = "", [], {}
for text, origin in PIECES:
    if origin:
        fields = [len(script), *origin]
        segments.append("".join(number(value - last.get(i, 0)) for i, value in enumerate(fields)))
        last.update(enumerate(fields))
    script += text
made = json.dumps({"version": 3, "sources": ["../src/work.ts", "../src/main.ts"],
                   "names": ["heavyPart", "n", "callOften"], "mappings": ",".join(segments)})
if sys.argv[1] == "inline":
    url = "data:application/json;base64," + base64.b64encode(made.encode()).decode()
else:
    url = sys.argv[1] + ".js.map"
    with open("out/" + url, "w", encoding="utf-8") as file:
        file.write(made)
with open(f"out/{sys.argv[1]}.js", "w", encoding="utf-8") as file:
    file.write(f"{script}\n//# sourceMappingURL={url}\n")
CODE

judge_written() { # WHAT PROFILE
	judge "$1: names, files and lines are those of its source" "$2" "$PWD/src" <<'CODE'
import collections
lines = collections.Counter()
chains = collections.Counter()
for _, _, weight, frames in samples():
    own = [f for f in frames if (f["file"] or "").startswith(args[0])]
    if own and own[-1] is frames[-1]:
        chains[tuple((f["name"], f["file"][len(args[0]) + 1:]) for f in own if f["name"] != "(anonymous)")] += weight
        lines[own[-1]["line"]] += weight
total = sum(chains.values())
expect(total > 100, chains)
expect(chains[(("callOften", "main.ts"), ("heavyPart", "work.ts"))] > 0.9 * total, chains)
expect(lines[5] + lines[6] > 0.9 * total, lines)
CODE
}

python3 bundle.py beside
record beside 0 -- node out/beside.js
judge_written "a map beside the script" beside.json.gz
run "$PROF" report --annotate heavyPart beside.json.gz
like "its source is annotated, with its lines" "$out" "6      sum = \(sum \* 31 \+ i\) & 0xffffff"
python3 bundle.py inline
record inline 0 -- node out/inline.js
judge_written "a map in the script" inline.json.gz

# It belongs to somebody else.
python3 bundle.py secret
chmod 600 out/secret.js.map
chmod 755 . out
chmod 644 out/secret.js
record secret 0 -- setpriv --reuid=65534 --regid=65534 --clear-groups node "$PWD/out/secret.js"
judge "a map that the program's user may not read: those of the script" secret.json.gz <<'CODE'
names = {f["name"] for _, _, _, frames in samples() for f in frames if (f["file"] or "").endswith("/secret.js")}
expect("o" in names and "heavyPart" not in names, names)
CODE
done_testing
