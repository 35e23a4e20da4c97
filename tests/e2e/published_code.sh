#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Generated code that a program publishes to debuggers, as an ELF object in its memory: names, lines
# and whole stacks. Its frames hold false return addresses. The code runs some time after the object
# was published.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

cat >made.c <<'CODE'
__attribute__((noinline)) static void inner(void (*callee)(void), const void *lure);
void made(void (*callee)(void), const void *lure)
{
	const void *volatile frame[] = {lure, lure, lure};
	inner(callee, frame[0]);
	frame[1] = lure;
}
static void inner(void (*callee)(void), const void *lure)
{
	const void *volatile frame[] = {lure, lure, lure, lure, lure};
	callee();
	frame[1] = lure;
}
CODE
gcc -c -g -O1 -fno-pic -fomit-frame-pointer -fno-stack-protector -fno-toplevel-reorder made.c
gcc -c -g -gdwarf-4 -O1 -fno-pic -fomit-frame-pointer -fno-stack-protector -fno-toplevel-reorder \
	-o made4.o made.c

has_made() { # NAME
	judge "$1: each stack through the code, with names and lines, none a guess" \
		"$1.json.gz" "$1.stats" <<'CODE'
import json
stats = json.load(open(args[0]))
found = [frames for _, _, _, frames in samples() if any(f["name"] == "burns" for f in frames)]
path = ["main", "calls_made", "made", "inner", "burns"]
names = [[f["name"] for f in frames] for frames in found]
right = [stack for stack in names
         if stack[stack.index("burns") - len(path) + 1:stack.index("burns") + 1] == path]
expect(len(right) == len(found) > 100, f"{len(right)} of {len(found)}")
places = {(f["name"], f["file"].rsplit("/", 1)[-1] if f["file"] else None, f["line"])
          for frames in found for f in frames if f["name"] in ("made", "inner")}
expect(places == {("made", "made.c", 5), ("inner", "made.c", 11)}, places)
can_be_whole = sum(stats[c] for c in ("whole", "truncated", "broken", "unknown"))
# Copies of a stack may be too short for it.
expect(stats["guessed"] == 0 and 100 < can_be_whole <= stats["whole"] + stats["finished_later"], stats)
expect(stats["code_files"] == 1 and stats["code_pieces"] == 2 and stats["code_unwound"] == 1,
       stats)
CODE
}

program=$workloads/published_code
record symbol 0 --as-root -- "$program" made.o 500
has_made symbol
record dwarf4 0 --as-root -- "$program" made4.o 500
has_made dwarf4

strip -o stripped "$program"
record shape 0 --as-root -- ./stripped made.o 1500
judge "shape: found in a program without symbols" shape.json.gz shape.stats <<'CODE'
import json
stats = json.load(open(args[0]))
# A few instructions of made() run before and after the call of inner().
expect(within("made") > 100 and within("inner") >= 0.98 * within("made"),
       f"{within('made')}, {within('inner')}")
expect(stats["guessed"] == 0 and stats["code_pieces"] == 2, stats)
CODE

for kind in loop huge; do
	record "$kind" 0 --as-root -- "$program" made.o 500 "$kind"
	has_made "$kind"
done
judge "huge: the object of 2 GB is left out and counted" huge.json.gz huge.stats <<'CODE'
import json
stats = json.load(open(args[0]))
expect(stats["code_malformed"] == 1 and stats["code_cut"] == 0, stats)
CODE

# Several times as long as reading takes.
record many 0 --as-root -- "$program" made.o 5000 many
is "many: one line says that objects were left out" "$(grep -c 'list of code' <<<"$err")" 1
judge "many: read in part, within bounds" many.json.gz many.stats <<'CODE'
import json
stats = json.load(open(args[0]))
expect(stats["code_cut"] == 1 and stats["lost"] == 0, stats)
expect(within("burns") > 100, within("burns"))
CODE

done_testing
