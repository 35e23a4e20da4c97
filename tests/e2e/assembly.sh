#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof report --annotate NAME --asm: where in a function the time is, instruction by instruction.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

cat >hot.c <<'TEXT'
static unsigned long work(unsigned long n)
{
	unsigned long sum = 0;
	for (unsigned long i = 0; i < n; i++)
		sum += i ^ (sum << 3);
	return sum;
}
__attribute__((noinline)) unsigned long hot(unsigned long n) { return work(n) + work(n / 2); }
int main(void) { return hot(600000000) == 1; }
TEXT
gcc -g -O2 -o hot hot.c
record hot 0 -- ./hot
run "$PROF" report --annotate hot --asm --format json hot.json.gz
is "exit status" "$status" 0
echo "$out" >asm.json
objdump -d hot | sed -n '/<hot>:/,/^$/p' | sed -n 's/^ *\([0-9a-f]*\):\t.*\t.*/\1/p' >addresses
is "the instructions are where objdump has them" \
	"$(python3 -c 'import json; [print(r["address"]) for r in json.load(open("asm.json"))["instructions"]]')" \
	"$(<addresses)"
ok "all samples of the function, and of what is inlined into it, are at instructions" python3 -c '
import json, subprocess, sys
rows = json.load(open("asm.json"))["instructions"]
lines = json.loads(subprocess.run([sys.argv[1], "report", "--by", "address", "--format", "json", "hot.json.gz"],
				  capture_output=True, check=True).stdout)["rows"]
self = {int(r["address"], 16): 0 for r in rows}
wanted = sum(r["self"] for r in lines if r["module"] == "hot" and r["function"] in ("hot", "work"))
assert wanted > 50, wanted
got = sum(r["self"] for r in rows)
assert abs(got - wanted) <= 2, (got, wanted)' "$PROF"
ok "nearly all of them in its loops: between a jump back and its target" python3 -c '
import json, re
rows = json.load(open("asm.json"))["instructions"]
loops = [(int(m[1], 16), int(r["address"], 16)) for r in rows
	 for m in [re.match(r"j\w+ 0x([0-9a-f]+) <hot\+", r["instruction"]) or
		   re.match(r"b\S* 0x([0-9a-f]+) <hot\+", r["instruction"])]
	 if m and int(m[1], 16) < int(r["address"], 16)]
assert loops, rows
inside = sum(r["self"] for r in rows if any(a <= int(r["address"], 16) <= b for a, b in loops))
assert inside > 0.95 * sum(r["self"] for r in rows), (inside, loops)'
run "$PROF" report --annotate hot --asm hot.json.gz
like "for people" "$out" 'hot in hot.*interrupted instruction.*ADDRESS +INSTRUCTION.*<hot\+0x'
run "$PROF" report --annotate main --asm hot.json.gz
like "a call that has not returned: the weight of main is there" "$out" '(9[0-9.]+|100\.0) %  [0-9a-f]+ +(call|bl|jmp|b) 0x'
run "$PROF" convert --asm -o hot.html hot.json.gz
ok "a page has the same instructions" python3 -c '
import base64, gzip, json, re
block = re.search("id=.prof-assembly.>([^<]*)<", open("hot.html").read())[1]
functions = json.loads(gzip.decompress(base64.b64decode(block)))
wanted = [[int(r["address"], 16), r["instruction"]] for r in json.load(open("asm.json"))["instructions"]]
assert [[start + offset, text] for module, _, start, rows in functions
        if module == "hot" and start == wanted[0][0] for offset, text in rows] == wanted'
refuses "only pages have instructions" 2 'only pages' "$PROF" convert --asm -o hot.folded hot.json.gz
refuses "which function" 2 'needs --annotate with a function' "$PROF" report --asm hot.json.gz
refuses "no such function" 125 'no sample with a native function nowhere' \
	"$PROF" report --annotate nowhere --asm hot.json.gz
mv hot elsewhere
refuses "the file is gone" 125 'hot: no code: ' "$PROF" report --annotate hot --asm hot.json.gz
cp /bin/true hot
refuses "another file has its name" 125 'hot: no code: ' "$PROF" report --annotate hot --asm hot.json.gz
done_testing
