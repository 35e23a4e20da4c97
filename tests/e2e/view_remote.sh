#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof view of a profile whose files are not here: what is missing, and what servers have of it.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
unset SSH_CONNECTION DISPLAY WAYLAND_DISPLAY BROWSER DEBUGINFOD_URLS
export HOME=$PWD/home XDG_CACHE_HOME=$PWD/cache
mkdir home cache

# A program that was recorded elsewhere: neither it nor its source is here any more.
mkdir far
cat >far/far.c <<'TEXT'
static volatile unsigned long sum;
__attribute__((noinline)) void distant(unsigned long n) { for (unsigned long i = 0; i < n; i++) sum += i * i; }
int main(void) { distant(300000000); return 0; }
TEXT
gcc -g -O1 -Wl,--build-id -o far/far "$PWD/far/far.c"
id=$(readelf -n far/far | sed -n 's/.*Build ID: //p')
"$PROF" record -q --no-symbols -o far.json.gz -- far/far
mkdir -p "served/$id/source$PWD/far"
cp far/far.c "served/$id/source$PWD/far"
objcopy --only-keep-debug far/far "served/$id/debuginfo"
strip -o "served/$id/executable" far/far
rm -r far

view() { # FILE ARGUMENT...
	rm -f url
	"$PROF" view --no-open "$@" >url 2>view.err &
	viewer=$!
	at_exit+=("kill $viewer 2>/dev/null")
	wait_until test -s url
	url=$(head -1 url)
}
ends() {
	kill -INT "$viewer"
	wait "$viewer"
	is "$1" $? 0
}
# Prints what a front-end sees of the program: names, source, assembly; "-" for each that it lacks.
seen() {
	python3 - "$url" far.json.gz "$root/tests/e2e" <<'CODE'
import sys
sys.path.insert(0, sys.argv[3])
from view_client import Server, find_lib, load, symbolicate
server, profile = Server(sys.argv[1]), load(sys.argv[2])
index, lib = find_lib(profile, "far")
frames = profile["shared"]["frameTable"]
addresses = sorted({frames["address"][i] for i in range(frames["length"]) if frames["lib"][i] == index})
_, places = symbolicate(server, lib, addresses)
names = {place.get("function") for place in places} - {None}
print("distant" in names and "-" not in names and "names" or "-")
[path] = {place["file"] for place in places if place.get("file", "").endswith("far.c")} or [""]
about = {"debugName": lib["debugName"], "debugId": lib["breakpadId"]}
text = server.post("source/v1", {**about, "moduleOffset": hex(addresses[0]), "file": path})
print("source" if "sum += i * i" in text.get("source", "") else "-")
place = next((p for p in places if p.get("function") == "distant"), places[0])
start = int(place["module_offset"], 16) - int(place.get("function_offset", "0x0"), 16)
code = server.post("asm/v1", {**about, "startAddress": hex(start), "size": place.get("function_size", "0x10")})
rows = [text for _, text in code.get("instructions", [])]
print("assembly" if any(row.startswith(("ret", "retq")) for row in rows) else "-")
CODE
}

view far.json.gz
like "what is missing is said" "$(<view.err)" "no code is available for .*far \(the file is not on this machine"
is "and nothing is made up" "$(seen)" $'-\n-\n-'
ends "it ends"

serve() {
	rm -f port
	python3 "$root/tests/e2e/debug_server.py" served >port &
	server=$!
	at_exit+=("kill $server 2>/dev/null")
	wait_until test -s port
	DEBUGINFOD_URLS=http://127.0.0.1:$(<port)
	export DEBUGINFOD_URLS
}
serve
view far.json.gz
unlike "with a server that may have it, nothing is said to be missing" "$(<view.err)" "far \("
is "names, source and assembly come from the server" "$(seen)" $'names\nsource\nassembly'
is "each file is asked for once" "$(grep -c "$id/executable" served/asked)" 1
ends "it ends"
"$PROF" symbolize far.json.gz -o fetched.json.gz 2>symbolize.err
run "$PROF" report --annotate distant --asm fetched.json.gz
like "report asks the server, too" "$out" 'distant in far.*INSTRUCTION.*ret'
kill "$server"
wait "$server" 2>/dev/null
view far.json.gz
is "then they are in the user's cache" "$(seen)" $'names\nsource\nassembly'
ends "it ends"
rm -r cache
view far.json.gz
is "without cache and server: nothing, and no error" "$(seen)" $'-\n-\n-'
ends "it ends"

# Assembly of another machine's program, from a folder.
mkdir -p "dirs/.build-id/${id:0:2}"
cp "served/$id/debuginfo" "dirs/.build-id/${id:0:2}/${id:2}.debug"
cp "served/$id/executable" dirs/far
unset DEBUGINFOD_URLS
run "$PROF" symbolize far.json.gz --debug-dir dirs -o named.json.gz
is "named by a folder's files" "$status" 0
refuses "assembly without the folder" 125 'far: no code: the file is not on this machine' \
	"$PROF" report --annotate distant --asm named.json.gz
run "$PROF" report --annotate distant --asm --debug-dir dirs named.json.gz
like "and with it" "$out" 'distant in far.*INSTRUCTION.*ret'
refuses "a folder for what needs none" 2 'only with --asm' "$PROF" report --debug-dir dirs named.json.gz

# Code of the kernel, from a vmlinux with its build id.
"$PROF" record -q --no-symbols -o busy.json.gz -- dd if=/dev/zero of=/dev/null bs=1M count=4000 status=none
gunzip -c busy.json.gz | python3 -c '
import json, sys
p = json.load(sys.stdin)
kernel = next(lib for lib in p["libs"] if lib["name"] == "[kernel.kallsyms]")
kernel["codeId"], kernel["breakpadId"] = "11" * 20, "11" * 16 + "0"
p["meta"]["oscpu"] = "Linux 9.9.9-test x86_64"
json.dump(p, sys.stdout)' >kernel.json
cat >kernel.lds <<'SCRIPT'
SECTIONS {
	. = 0xffffffff81000000;
	.text : { *(.text) }
	.rodata : { *(.rodata) }
	.altinstructions : { *(.altinstructions) }
	.note.gnu.build-id : { *(.note.gnu.build-id) }
}
SCRIPT
cat >kernel.s <<'TEXT'
.altmacro
.macro function number
.type image_\number, @function
image_\number: .byte 0x0f, 0x1f, 0x44, 0, 0
.fill 0xff6, 1, 0x90
alternative_\number: .fill 4, 1, 0x90
ret
.pushsection .altinstructions, "a"
.long alternative_\number - ., 0
.word 1
.byte 4, 0
.popsection
.pushsection .rodata, "a"
.balign 8
.long image_\number - ., alternative_\number - .
.quad image_0 - . + 1
.popsection
.size image_\number, 0x1000
.endm
.set i, 0
.rept 0x3000
function %i
.set i, i + 1
.endr
TEXT
as -o kernel.o kernel.s
mkdir image
ld -T kernel.lds --build-id=0x1111111111111111111111111111111111111111 -o image/vmlinux kernel.o
"$PROF" symbolize kernel.json --debug-dir image -o kernel-named.json
hottest=$("$PROF" report --limit 1000 --format json kernel-named.json | python3 -c '
import json, sys
print(next(r["function"] for r in json.load(sys.stdin)["rows"] if r["function"].startswith("image_")))')
run "$PROF" report --annotate "$hottest" --asm --debug-dir image kernel-named.json
like "a function of the kernel, from its image" "$out" "$hottest in .*the kernel patches its code.*nop.*ret"
is "code that the kernel changes is said to be so" \
	"$(grep -o '[^ ]* *\[patched: .*' <<<"$out")" \
	"$(echo 'rax]  [patched: static key]'; printf 'nop  [patched: alternative, by CPU]\n%.0s' 1 2 3 4)"
refuses "the image is not here" 125 "the kernel's code is not on this machine" \
	"$PROF" report --annotate "$hottest" --asm kernel-named.json
# To some servers it is nothing but debug information, of which other files have no code.
kernel=served/1111111111111111111111111111111111111111
rm -rf cache
mkdir cache "$kernel"
objcopy --only-keep-debug image/vmlinux "$kernel/debuginfo"
serve
run "$PROF" report --annotate "$hottest" --asm kernel-named.json
is "a server has its symbols alone: exit status" "$status" 125
like "no code" "$err" "the kernel's code is not on this machine"
rm -r cache
mkdir cache
cp image/vmlinux "$kernel/debuginfo"
run "$PROF" report --annotate "$hottest" --asm kernel-named.json
like "a server has the image" "$out" "$hottest in .*the kernel patches its code.*static key.*ret"
view kernel-named.json
ok "asm/v1 of the kernel" python3 - "$url" kernel-named.json "$hottest" "$root/tests/e2e" <<'CODE'
import json
import sys
sys.path.insert(0, sys.argv[4])
from view_client import Server
server, profile = Server(sys.argv[1]), json.load(open(sys.argv[2]))
symbols, strings = profile["shared"]["nativeSymbols"], profile["shared"]["stringArray"]
at = next(i for i in range(symbols["length"]) if strings[symbols["name"][i]] == sys.argv[3])
lib = profile["libs"][symbols["libIndex"][at]]
rows = server.post("asm/v1", {"debugName": lib["debugName"], "debugId": lib["breakpadId"],
                              "startAddress": hex(symbols["address"][at]), "size": "0x1000"})["instructions"]
assert rows[0][1].endswith("[patched: static key]") and rows[-1][1] == "ret", rows[:3]
CODE
ends "it ends"
done_testing
