#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Reasons for missing names: on stderr with -v, and in the profile.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

# symbols N: the line about a module in the profile's "Symbols"
cat >symbols.py <<'CODE'
section = next(s for s in p["meta"]["extra"] if s["label"] == "Symbols")
lines = {entry["label"]: entry["value"] for entry in section["entries"]}
expect(args[0] in lines and re.search(args[1], lines[args[0]]), lines)
for t, _, _, frames in samples():
    for f in frames:
        expect(f["lib"] is None or f["lib"] in lines or len(lines) == 40, (f, lines))
CODE
sed -i '1i import re' symbols.py
table_line() { # MODULE
	sed -n "s/^prof: *\([0-9]\)/\1/p" <<<"$err" | grep " $1\(:\|\$\)"
}

mkdir bin
cp "$workloads/inlines" bin/whole
record whole 0 -v -- bin/whole
like "-v: a table with a head" "$err" 'prof: +frames +named +lines +module'
like "with debug information all has names and lines, and no reason" "$(table_line whole)" \
	'^([0-9]+) +([0-9]+) +[0-9]+  whole$'
judge "and in the profile" whole.json.gz whole '^([0-9]+) of \1 frames named, [0-9]+ with lines$' \
	<symbols.py

strip -o bin/stripped bin/whole
id=$(readelf -n bin/whole | sed -n 's/.*Build ID: //p')
# Leaves the name of the entry, and for a sample in a stub of the PLT the one of its callee.
record stripped 0 -v -- bin/stripped
like "stripped: the build id that is missing" "$(table_line stripped)" \
	"^[0-9]+ +[12] +0  stripped: .*$id"
judge "and in the profile" stripped.json.gz stripped "^[12] of [0-9]+ frames named, 0 with lines; .*$id" \
	<symbols.py

objcopy --remove-section .note.gnu.build-id bin/stripped bin/anonymous
record anonymous 0 -v -- bin/anonymous
like "without a build id" "$(table_line anonymous)" '  anonymous: stripped, without a build id'

like "the summary says what costs most and what to do" "$err" 'go through code of .*/bin/anonymous, which has no names: it is stripped and has no build id'
gcc -O1 -o bin/lineless -Wl,--build-id=none -x c - <<'CODE'
int main(void)
{
	for (volatile int i = 0; i < 100000000; i++)
		;
}
CODE
record lineless 0 -v -- bin/lineless
like "what is not stripped is not called so" "$(table_line lineless)" \
	'^([0-9]+) +\1 +0  lineless: functions only: built without debug information$'

# Compilers write a version of DWARF before libraries read it.
gcc -O1 -g -o bin/newer -x c - <<'CODE'
int main(void)
{
	for (volatile int i = 0; i < 100000000; i++)
		;
}
CODE
offset=$(readelf -SW bin/newer | sed -n 's/.* \.debug_info *PROGBITS *[0-9a-f]* \([0-9a-f]*\) .*/\1/p')
# The version of the first unit, behind its length.
printf '\006' | dd of=bin/newer bs=1 seek=$((0x$offset + 4)) conv=notrunc status=none
record newer 0 -v -- bin/newer
like "debug information of a later version is not called damaged" "$(table_line newer)" \
	'^([0-9]+) +\1 +0  newer: the debug information is DWARF 6 or newer, which cannot be read$'

# A capture is named later, by the file that is there then.
run "$PROF" record --raw lineless.prof -- bin/lineless
run "$PROF" convert lineless.prof -o lineless.json.gz
judge "without a build id, a file is recognized by its contents" lineless.json.gz lineless \
	'^([0-9]+) of \1 frames named' <symbols.py
objcopy --remove-section .note.gnu.build-id bin/whole bin/lineless
run "$PROF" convert lineless.prof -o lineless.json.gz
judge "and another one is told apart" lineless.json.gz lineless \
	'^0 of [0-9]+ frames named, .*the file on this machine is from a different' <symbols.py

record quiet 0 -q -v -- bin/whole
is "-q is stronger than -v" "$(grep -c 'frames *named' <<<"$err")" 0
record unasked 0 --no-symbols -v -- bin/whole
like "--no-symbols: symbols were not searched" "$(table_line whole)" '  whole: symbols were not searched'
judge "kernel and all other files say for what machine they are" unasked.json.gz <<'CODE'
expect(p["libs"] and all(lib["arch"] for lib in p["libs"]), p["libs"])
CODE

# The same when a profile is completed.
run "$PROF" symbolize -v unasked.json.gz -o done.json.gz
like "symbolize -v: the same table" "$(table_line whole)" '^([0-9]+) +([0-9]+) +[0-9]+  whole$'
judge "and in the profile, in the place of what was there" done.json.gz whole \
	'^([0-9]+) of \1 frames named, [0-9]+ with lines$' <symbols.py
rm bin/whole
run "$PROF" symbolize -v unasked.json.gz -o done.json.gz
like "symbolize: the file is not here" "$(table_line whole)" '  whole: the file is not on this machine'
cp "$workloads/spin" bin/whole
run "$PROF" symbolize -v unasked.json.gz -o done.json.gz
like "symbolize: of another build" "$(table_line whole)" '  whole: the file on this machine is from a different'
done_testing
