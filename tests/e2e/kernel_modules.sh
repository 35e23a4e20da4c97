#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Kernel modules, which are unlinked files: their functions, lines and inlined calls. No kernel here
# loads any, so a profile with such a lib is made and named afterwards.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

# Two sections with code, one of which the kernel drops after the start, as in real modules.
cat >prof_mod.c <<'CODE'
static inline __attribute__((always_inline)) void inner(volatile int *n)
{
	*n *= 5;
	*n ^= *n >> 3;
}
__attribute__((section(".init.text"))) void early(volatile int *n)
{
	inner(n);
}
static inline __attribute__((always_inline)) void middle(volatile int *n)
{
	inner(n);
}
__attribute__((noinline)) void outer(volatile int *n)
{
	for (int i = 0; i < *n; i++)
		middle(n);
}
__attribute__((noinline, section(".exit.text"))) void last(volatile int *n)
{
	middle(n);
}
CODE
gcc -O2 -g -c prof_mod.c -o prof_mod.o
ld -r --build-id=sha1 prof_mod.o -o prof_mod.ko
id=$(readelf -n prof_mod.ko | sed -n 's/.*Build ID: //p')

# Places of a recorded program's code become the module's, byte for byte from its start; there are
# more of them than the module has bytes.
record code 0 --no-symbols --no-runtimes -F 10000 -- python3 -c '
import asyncio, email.message, http.client, json, unittest'
size() { # SECTION
	readelf -SW prof_mod.ko | sed -n "s/^ *\[ *[0-9]*\] \\$1 *PROGBITS *[0-9a-f]* [0-9a-f]* \([0-9a-f]*\).*/0x\1/p"
}
text=$(($(size .text)))
exit=$(($(size .exit.text)))
cat >transplant.py <<'CODE'
import collections
import json
import sys

sys.path.insert(0, sys.argv[1])
import check_profile  # noqa: E402

p = check_profile.load(sys.argv[2])
code_id = sys.argv[3]
frames, funcs, strings = (p["shared"][key] for key in ("frameTable", "funcTable", "stringArray"))
libs = collections.Counter(n for n in frames["lib"] if n >= 0 and p["libs"][n]["name"][0] != "[")
number = libs.most_common(1)[0][0]
lib = p["libs"][number]
lib["name"] = lib["debugName"] = lib["path"] = lib["debugPath"] = "[prof_mod]"
lib["codeId"] = code_id
lib["breakpadId"] = "".join(
    bytes.fromhex(code_id[a:b])[::-1].hex().upper()
    for a, b in ((0, 8), (8, 12), (12, 16))) + code_id[16:32].upper() + "0"
p["meta"]["oscpu"] = "Linux 9.9.9-test x86_64"
stacks, used = p["shared"]["stackTable"], set()
for stack in {stack for thread in p["threads"] for stack in thread["samples"]["stack"]} - {None}:
    used.add(stacks["frame"][stack])
    while stacks["prefixOffset"][stack]:
        stack -= stacks["prefixOffset"][stack]
        used.add(stacks["frame"][stack])
# Others are in stacks of markers alone, which are not looked at.
rows = [i for i in sorted(used) if frames["lib"][i] == number]
for n, row in enumerate(rows):
    frames["address"][row] = n
    strings[funcs["name"][frames["func"][row]]] = f"{n:#x}"
json.dump(p, sys.stdout)
CODE
python3 transplant.py "$root/tests" code.json.gz "$id" >module.json
cat >named.py <<'CODE'
import subprocess
text, section, alignment = (int(args[n]) for n in (1, 2, 3))
start = -(-text // alignment) * alignment
# In a section, not at an address.
wanted = {}
for name, first, size in ((".text", 0, text), (".exit.text", start, section)):
    places = "\n".join(hex(n) for n in range(size))
    out = subprocess.run(["addr2line", "-afi", "-j", name, "-e", args[0]], input=places,
                         capture_output=True, text=True, check=True).stdout
    for block in out.split("0x0000000")[1:]:
        at, *lines = block.strip().split("\n")
        wanted[first + int(at, 16)] = [
            (lines[i], int(lines[i + 1].split(" ")[0].split(":")[1].replace("?", "0")))
            for i in range(0, len(lines), 2)]
got = {}
for *_, frames in samples() + waits():
    for f in frames:
        if f["lib"] != "[prof_mod]":
            continue
        if f["inlineDepth"] == 0:
            chain = []
        chain.insert(0, (f["name"], f["line"]))
        got[f["address"]] = chain
for address, chain in wanted.items():
    if chain[0][0] != "??":
        expect(got.get(address) == chain, (hex(address), got.get(address), chain))
expect(within("inner") > 0 and within("outer") > 0, "names")
expect(not within("early"), "code that is dropped")
CODE
mkdir plain xz zstd gzip
cp prof_mod.ko plain
xz -c prof_mod.ko >xz/prof_mod.ko.xz
zstd -qc prof_mod.ko >zstd/prof_mod.ko.zst
gzip -c prof_mod.ko >gzip/prof_mod.ko.gz
alignment=$(readelf -SW prof_mod.ko | sed -n 's/.*\.exit\.text .* \([0-9]*\)$/\1/p')
for dir in plain xz zstd gzip; do
	run "$PROF" symbolize module.json --debug-dir $dir -o $dir.json
	judge "$dir: each address has addr2line's functions and lines" $dir.json \
		$dir/../prof_mod.ko "$text" "$exit" "${alignment:-1}" <named.py
done
strip -g prof_mod.ko -o names.ko
mkdir names
mv names.ko names/prof_mod.ko
run "$PROF" symbolize -v module.json --debug-dir names -o names.json
like "without debug information: functions only, and it says so" "$err" \
	"\\[prof_mod\\]: functions only: no debug file for build id $id"
judge "by the symbols of a stripped file" names.json <<'CODE'
names = {f["name"] for *_, frames in samples() for f in frames if f["lib"] == "[prof_mod]"}
expect({name for name in names if not name.startswith("0x")} == {"outer", "last"}, names)
CODE
run "$PROF" symbolize -v module.json -o nothing.json
like "without its file: not here" "$err" '\[prof_mod\]: the file is not on this machine'
done_testing
