#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Instructions of generated code, from the jitdump that its program wrote. The program is Debian's
# node.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
unset SSH_CONNECTION DISPLAY WAYLAND_DISPLAY BROWSER DEBUGINFOD_URLS
node=(/usr/bin/node --no-turbo-inlining)

cat >burn.js <<'CODE'
function inner(n) { let sum = 0; for (let i = 0; i < n; i++) sum += i % 7; return sum; }
function outer(n) { let sum = 0; for (let i = 0; i < n; i++) sum += inner(2000); return sum; }
const used = () => process.cpuUsage().user / 1000;
const end = used() + Number(process.argv[2]);
let total = 0;
while (used() < end) total += outer(100);
console.log(process.pid, total);
CODE
# Compares what is shown with the dump and objdump. The function may have been compiled several
# times: each is one of the dump.
cat >compare.py <<'CODE'
import json
import platform
import re
import struct
import subprocess
import sys
codes = {}
data = open(sys.argv[1], "rb").read()
at = struct.unpack_from("<I", data, 8)[0]
while at < len(data):
    kind, size = struct.unpack_from("<II", data, at)
    if kind == 0:
        addr, count = struct.unpack_from("<24xQQ", data, at + 8)
        codes[addr] = data[at + size - count:at + size]
    at += size
functions, rows = {}, json.load(open(sys.argv[2]))["instructions"]
start = None
for row in rows:
    address = int(row["address"], 16)
    start = address if address in codes else start
    functions.setdefault(start, []).append((address, row))
machine = {"x86_64": "i386:x86-64", "aarch64": "aarch64"}[platform.machine()]
for start, own in functions.items():
    open("code.bin", "wb").write(codes[start])
    text = subprocess.run(["objdump", "-D", "-b", "binary", "-m", machine, f"--adjust-vma={start:#x}", "code.bin"],
                          capture_output=True, text=True, check=True).stdout
    wanted = [int(a, 16) for a in re.findall(r"^ *([0-9a-f]+):\t.*\t", text, re.M)]
    # Data lies behind the code.
    same = [a for a, b in zip(wanted, own) if a == b[0]]
    assert len(same) > 20, (wanted[:30], [a for a, _ in own[:30]])
weights = {start: sum(r["self"] for _, r in own) for start, own in functions.items()}
total = sum(weights.values())
assert total > 100, weights
hot = max(weights, key=weights.get)
loops = [(int(m[1], 16), a) for a, r in functions[hot]
         for m in [re.search(r"0x([0-9a-f]+) <inner\+", r["instruction"])] if m and int(m[1], 16) < a]
inside = sum(r["self"] for a, r in functions[hot] if any(low <= a <= high for low, high in loops))
assert loops and inside > 0.9 * weights[hot], (inside, loops)
CODE

record dump 0 --as-root --no-runtimes -- "${node[@]}" --perf-prof burn.js 700
pid=${out%% *}
ok "the dump is there" test -s "jit-$pid.dump"
run "$PROF" report --annotate inner --asm --format json dump.json.gz
is "exit status" "$status" 0
echo "$out" >asm.json
ok "the instructions are those of the dump, as objdump has them; the loop has the weight" \
	python3 compare.py "jit-$pid.dump" asm.json
run "$PROF" report --annotate inner --asm dump.json.gz
like "for people" "$out" "inner in jit-$pid.dump.*ADDRESS +INSTRUCTION.*<inner\+0x"
run "$PROF" report --format csv dump.json.gz
unlike "a dump is no module that functions would differ by" "$out" 'jit-'

"$PROF" view --no-open dump.json.gz >url 2>view.err &
viewer=$!
at_exit+=("kill $viewer 2>/dev/null")
wait_until test -s url
ok "asm/v1" python3 "$root/tests/e2e/view_client.py" generated "$(head -1 url)" dump.json.gz
kill -INT "$viewer"
wait "$viewer"

"$PROF" record -q --raw raw.capture --as-root --no-runtimes -- "${node[@]}" --perf-prof burn.js 300 >raw.out
"$PROF" convert -o raw.json.gz raw.capture 2>convert.err
run "$PROF" report --annotate inner --asm raw.json.gz
like "a capture has the places, too" "$out" "inner in jit-$(awk '{print $1}' raw.out).dump.*<inner\+0x"

mkdir elsewhere
mv "jit-$pid.dump" elsewhere
refuses "the dump is gone" 125 "jit-$pid.dump: .*not on this machine.*--debug-dir" \
	"$PROF" report --annotate inner --asm dump.json.gz
run "$PROF" report --annotate inner --asm --debug-dir elsewhere dump.json.gz
like "it has moved" "$out" "<inner\+0x"
cp "jit-$(awk '{print $1}' raw.out).dump" "jit-$pid.dump"
refuses "another run has written over it" 125 "jit-$pid.dump: .*overwritten" \
	"$PROF" report --annotate inner --asm dump.json.gz

record map 0 --as-root --no-runtimes -- "${node[@]}" --perf-basic-prof burn.js 300
rm -f "/tmp/perf-${out%% *}.map"
refuses "perf maps have no code" 125 'inner: no code: .*perf map.*jitdump' \
	"$PROF" report --annotate inner --asm map.json.gz

done_testing
