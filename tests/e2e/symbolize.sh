#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof symbolize: a profile without names gets the names of a recording with names.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

mkdir bin
cp "$workloads/inlines" bin/
strip_names() {
	python3 "$root/tests/e2e/strip_names.py" "$@"
}

# All samples of two files have equal frames, and everything else but tables and their order is
# equal, too.
cat >same.py <<'CODE'
other = check_profile.load(args[0])
keys = ("name", "file", "line", "lib", "inlineDepth", "address", "symbol")


def frame(f):
    # The kind of user code is known without names, but not whether it will get one.
    category = (f["category"], f["subcategory"]) if f["category"] == "Kernel" else None
    return tuple(f[key] for key in keys) + (category,)


def seen(profile):
    return [(t["tid"], time, weight, [frame(f) for f in frames])
            for t, time, weight, frames in check_profile.samples(profile)]


for got, wanted in zip(seen(p), seen(other)):
    expect(got == wanted, (got, wanted))
for key in ("stackTable", "frameTable", "funcTable", "nativeSymbols", "sources", "resourceTable"):
    lengths = p["shared"][key]["length"], other["shared"][key]["length"]
    expect(lengths[0] == lengths[1], (key, lengths))
expect(sorted(p["shared"]["stringArray"]) == sorted(other["shared"]["stringArray"]), "strings")


def told(profile):
    # Inlined calls give stacks other numbers.
    return [(*m[1:-1], {key: value for key, value in m[-1].items() if key != "cause"})
            for m in check_profile.markers(profile)]


expect(told(p) and told(p) == told(other), "markers")
for profile in (p, other):
    for t in profile["threads"]:
        del t["samples"]["stack"], t["markers"]["name"], t["markers"]["data"]
    del profile["shared"], profile["meta"]["extra"]
expect(p == other, "something else differs")
CODE

record named 0 --slow 0.2 -- sh -c 'bin/inlines; exec bin/inlines'
ok "its names can be taken out" strip_names named.json.gz bare.json
run "$PROF" symbolize bare.json -o whole.json.gz
is "symbolize: exit status" "$status" 0
like "it says how many are named" "$err" '[0-9]+ of [0-9]+ unnamed frames named'
is "and nothing on stdout" "$out" ""
judge "the same frames, inlines, lines, symbols, markers and all" whole.json.gz named.json.gz <same.py

record unnamed 0 --no-symbols -- bin/inlines
judge "--no-symbols: addresses, and libs that others can find" unnamed.json.gz <<'CODE'
expect(p["meta"]["symbolicated"] is False, "symbolicated")
names = {f["name"] for *_, frames in samples() for f in frames}
expect(names and all(name.startswith("0x") for name in names), names)
lib = next(lib for lib in p["libs"] if lib["name"] == "inlines")
expect(lib["codeId"] and lib["arch"] and lib["path"].endswith("/bin/inlines"), lib)
expect(all(lib["codeId"] for lib in p["libs"]), p["libs"])
expect(p["shared"]["nativeSymbols"]["length"] == 0, "native symbols")
CODE
cp unnamed.json.gz place.json.gz
run "$PROF" symbolize -q -o place.json.gz place.json.gz
is "in place, quietly" "$status:$err" "0:"
judge "in place: named to the innermost" place.json.gz <<'CODE'
expect(own("inner") > 0.9 * sum(s[2] for s in samples()), own("inner"))
expect(p["meta"]["symbolicated"] is True, "symbolicated")
CODE
"$PROF" symbolize - -o - <unnamed.json.gz 2>err >pipe.json.gz
is "through pipes: nothing but the profile" "$(zcat pipe.json.gz | md5sum)" \
	"$(zcat place.json.gz | md5sum)"
run "$PROF" symbolize place.json.gz -o again.json.gz
is "nothing is left to do: the same again" "$(zcat again.json.gz | md5sum)" \
	"$(zcat place.json.gz | md5sum)"

# On another machine, files may be elsewhere, missing, or different.
mv bin/inlines moved
run "$PROF" symbolize unnamed.json.gz -o gone.json
judge "without the file: still to be completed" gone.json <<'CODE'
expect(p["meta"]["symbolicated"] is False, "symbolicated")
expect(own("inner") == 0, "named")
CODE
cp "$workloads/spin" bin/inlines
run "$PROF" symbolize -v unnamed.json.gz -o other.json
judge "a file of another build is not taken" other.json <<'CODE'
expect(own("inner") == 0 and p["meta"]["symbolicated"] is False, own("inner"))
CODE
id=$(readelf -n moved | sed -n 's/.*Build ID: //p')
mkdir -p "dirs/by-id/.build-id/${id:0:2}" dirs/by-name "dirs/root/$tmp/bin" \
	"dirs/debug/.build-id/${id:0:2}"
cp moved "dirs/by-id/.build-id/${id:0:2}/${id:2}"
cp moved dirs/by-name/inlines
cp moved "dirs/root/$tmp/bin/inlines"
objcopy --only-keep-debug moved "dirs/debug/.build-id/${id:0:2}/${id:2}.debug"
for way in by-id by-name root debug; do
	run "$PROF" symbolize --debug-dir "dirs/$way" unnamed.json.gz -o "$way.json"
	is "--debug-dir, $way: the same as in place" "$(md5sum <"$way.json")" \
		"$(zcat place.json.gz | md5sum)"
done

# A build id in a section outside of segments, as Go's linker writes it.
python3 - moved bin/sections <<'CODE'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
offset, = struct.unpack_from("<Q", data, 32)
size, count = struct.unpack_from("<HH", data, 54)
for at in range(offset, offset + size * count, size):
    if struct.unpack_from("<I", data, at) == (4,):
        struct.pack_into("<I", data, at, 0)
open(sys.argv[2], "wb").write(data)
CODE
chmod +x bin/sections
record sections 0 --no-symbols -- bin/sections
run "$PROF" symbolize -o sections.json.gz sections.json.gz
judge "named later by a build id that only a section holds" sections.json.gz <<'CODE'
expect(own("inner") > 0.9 * sum(s[2] for s in samples()), own("inner"))
CODE

# A file may be named like the kernel or the vDSO.
for name in '[kernel.kallsyms]' '[vdso]'; do
	cp moved "bin/$name"
	record called 0 --no-symbols -- "bin/$name"
	run "$PROF" symbolize -o called.json.gz called.json.gz
	judge "a program called $name" called.json.gz <<'CODE'
expect(own("inner") > 0.9 * sum(s[2] for s in samples()), own("inner"))
CODE
done

# A second run without a file that could name some frames keeps the first run's names.
cp moved bin/stays
cp "$workloads/spin" bin/goes
strip --keep-symbol=spinning bin/goes
record twice 0 --no-symbols -- sh -c 'bin/stays; bin/goes die 0.3'
cp bin/goes gone
symbols='
print([e for x in p["meta"]["extra"] if x["label"] == "Symbols" for e in x["entries"]
       if e["label"] in ("goes", "stays")])'
said() { # FILE
	python3 "$root/tests/e2e/judge.py" "$1" <<<"$symbols"
}
run "$PROF" symbolize -o first.json.gz twice.json.gz
rm bin/goes
run "$PROF" symbolize -o second.json.gz first.json.gz
like "the first run says how many are named" "$(said first.json.gz)" 'frames named'
is "a second run says the same" "$(said second.json.gz)" "$(said first.json.gz)"

# A kernel that does not run here: by its image, or by its System.map.
python3 - bare.json >foreign.json <<'CODE'
import json, sys
p = json.load(open(sys.argv[1], encoding="utf-8"))
kernel = next(lib for lib in p["libs"] if lib["name"] == "[kernel.kallsyms]")
kernel["codeId"], kernel["breakpadId"] = "11" * 20, "11" * 16 + "0"
p["meta"]["oscpu"] = "Linux 9.9.9-test x86_64"
json.dump(p, sys.stdout, ensure_ascii=False)
CODE
cat >kernel.py <<'CODE'
names = {f["name"] for *_, frames in samples() for f in frames if f["lib"] == "[kernel.kallsyms]"}
expect(names and all(name.startswith(args[0]) for name in names), names)
expect(p["meta"]["symbolicated"] is (args[0] != "0x"), "symbolicated")
CODE
mkdir -p dirs/map dirs/image
cp moved bin/inlines
run "$PROF" symbolize foreign.json -o foreign-not.json
judge "another kernel: not by the running one's symbols" foreign-not.json 0x <kernel.py
for ((i = 0; i < 100; i++)); do
	printf '%x T %s\n' $((0xffffffff81000000 + i * 0x80000)) "$([ $i = 0 ] && echo _text || echo mapped_$i)"
	[ $i != 0 ] || echo 'ffffffff81000000 T mapped_0'
done | tac | sort -s -k1,1 >dirs/map/System.map-9.9.9-test
run "$PROF" symbolize foreign.json --debug-dir dirs/map -o foreign-map.json
judge "by its System.map, of its release" foreign-map.json mapped_ <kernel.py
cat >kernel.lds <<'SCRIPT'
SECTIONS {
	. = 0xffffffff81000000;
	.text : { *(.text) }
	.note.gnu.build-id : { *(.note.gnu.build-id) }
}
SCRIPT
printf '.globl image_text\n.type image_text, @function\nimage_text: .skip 0x3000000\n%s\n' \
	'.size image_text, . - image_text' | as -o kernel.o -
ld -T kernel.lds --build-id=0x1111111111111111111111111111111111111111 -o dirs/image/vmlinux kernel.o
run "$PROF" symbolize foreign.json --debug-dir dirs/map --debug-dir dirs/image -o foreign-image.json
judge "better by its image, of its build id" foreign-image.json image_text <kernel.py

# Files that are no processed profiles.
refuses_file() { # DESCRIPTION REGEX FILE
	refuses "$1" 125 "$2" "$PROF" symbolize "$3" -o out.json
}
printf 'no profile' >text
printf '{"meta":{"preprocessedProfileVersion":59},"libs":[]}' >old.json
printf '{"meta":{"preprocessedProfileVersion":76},"libs":[]}' >new.json
printf '{"meta":{"version":30},"libs":[]}' >gecko.json
head -c 1000 unnamed.json.gz >cut.json.gz
zcat unnamed.json.gz | head -c 2000 >cut.json
refuses_file "no profile at all" 'text: not a profile in a supported format' text
refuses_file "an old version without threads" 'old.json: .*the thread is missing' old.json
refuses_file "a new version" 'new.json: version 76 .* too new: prof reads up to 75' new.json
refuses_file "another format" 'gecko.json: not a processed profile' gecko.json
refuses_file "gzip that is cut off" 'cut.json.gz: the gzip data is truncated' cut.json.gz
refuses_file "JSON that is cut off" 'cut.json: invalid JSON at byte 2000' cut.json
refuses_file "no such file" 'No such file' nowhere.json
refuses_file "a folder" 'Is a directory' dirs
refuses "a folder that does not exist" 125 'does not exist' \
	"$PROF" symbolize unnamed.json.gz -o nowhere/out.json
refuses "a format that is none" 2 '--format nonsense: .*firefox' \
	"$PROF" symbolize --format nonsense unnamed.json.gz -o out.json
refuses "another format for what is written, by its name" 125 \
	'unnamed.json.gz: the format firefox cannot be converted here' \
	"$PROF" symbolize unnamed.json.gz -o out.folded
refuses "another format for what is written, by --format" 125 \
	'unnamed.json.gz: the format firefox cannot be converted here' \
	"$PROF" symbolize unnamed.json.gz --format folded -o out.json
refuses "no output" 2 '--output' "$PROF" symbolize unnamed.json.gz
refuses "no file" 2 'no file' "$PROF" symbolize -o out.json
refuses "two files" 2 'more than one' "$PROF" symbolize a b -o out.json
refuses "an unknown option" 2 'unknown option' "$PROF" symbolize unnamed.json.gz --frobnicate
is "no temporary files are left" "$(leftovers .)" ""
done_testing
