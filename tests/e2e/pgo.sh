#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Feedback for compilers that use LLVM: a sample profile of a program whose true profile is known.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
source=$root/tests/workloads/feedback.c
line_of() { # PATTERN
	grep -n "$1" "$source" | head -n 1 | cut -d: -f1
}
build() { # NAME OPTION...
	clang -O2 -o "$1" "${@:2}" "$source"
}
sample_profile() { # OUT ARGUMENT...
	run "$PROF" convert --no-config -o "$1" "${@:2}"
}
ok "a program with lines of functions" build fed -gline-tables-only -fdebug-info-for-profiling
record fed 0 -- ./fed 60000
sample_profile fed.afdo fed.json.gz
like "what was written is said" "$err" 'prof convert: [0-9]+ samples of fed, [0-9.]+ % with lines of functions'

# Lines count from the start of their function; what is inlined stands at its call.
often=$(line_of 'int often(') scramble=$(line_of 'int scramble(')
ok "lines, an inlined call, and the target of a call by a pointer" python3 - fed.afdo \
	$(($(line_of 'x += scramble') - often)) $(($(line_of 'x = (x << 7') - scramble)) \
	$(($(line_of 'x = call(x)') - often)) $(($(line_of 'return x; /\* once') - often)) <<'CODE'
import re, sys
call, inner, pointer, once = sys.argv[2:]
functions, stack = {}, []
for text in open(sys.argv[1]):
    depth = len(text) - len(text.lstrip(" "))
    del stack[depth:]
    if not depth:
        name, total, head = text.rstrip().rsplit(":", 2)
        stack.append(functions.setdefault(name, {"total": int(total), "lines": {}, "calls": {}}))
        continue
    site, rest = text.strip().split(": ", 1)
    if re.fullmatch(r"\d+( \S+:\d+)*", rest):
        stack[-1]["lines"][site] = rest.split(" ")
    else:
        name, total = rest.rsplit(":", 1)
        stack.append(stack[-1]["calls"].setdefault((site.split(".")[0], name), {"lines": {}, "calls": {}}))
        stack[-1]["total"] = int(total)
often = functions["often"]
assert often["total"] >= 0.8 * sum(f["total"] for f in functions.values()), functions
inlined = often["calls"][call, "scramble"]
assert max((int(row[0]), line.split(".")[0]) for line, row in inlined["lines"].items())[1] == inner, inlined
assert inlined["total"] > 0.5 * often["total"], often
# Compilers take code without a count for cold.
assert any(line.split(".")[0] == once and int(row[0]) > 0 for line, row in often["lines"].items()), often
targets = [row[1:] for line, row in often["lines"].items() if line.split(".")[0] == pointer]
assert not any(targets) or any(row and row[0].startswith("rare:") for row in targets), targets
CODE
ok "clang takes it" build again -fprofile-sample-use="$PWD/fed.afdo" -Werror

# Several recordings are one profile.
sample_profile two.afdo fed.json.gz fed.json.gz
like "two recordings count twice" "$(
	awk '/^ / && $2 + 0 > most[FILENAME] { most[FILENAME] = $2 + 0 }
		END { print most["two.afdo"] / most["fed.afdo"] }' two.afdo fed.afdo)" '^(2|1\.99|2\.00)'

# A file is written whole or not at all.
echo kept >kept.afdo
ok "a program without lines of functions" build lines -gline-tables-only
record lines 0 -- ./lines 10000
refuses "it has no sample profile" 125 'no sample has a line relative to the start of its function' \
	"$PROF" convert --no-config -o kept.afdo lines.json.gz
ok "a program without debug information" build none
record none 0 -- ./none 10000
refuses "neither has it" 125 'cannot|no debug' "$PROF" convert --no-config -o kept.afdo none.json.gz
rm fed
refuses "nor has a program that is gone" 125 'not on this machine|not here' "$PROF" convert --no-config -o kept.afdo fed.json.gz
is "the file of that name stays" "$(<kept.afdo)" kept
refuses "a module without samples" 125 'no samples in libc.so' "$PROF" convert --no-config --module libc.so -o kept.afdo fed.json.gz
refuses "--module of another format" 2 'only --to autofdo' "$PROF" convert --no-config --module fed -o x.svg fed.json.gz
refuses "no sanitized one" 2 'cannot be combined' "$PROF" convert --no-config --sanitize --to autofdo -o x fed.json.gz

# Branches that the CPU recorded are counted exactly. Here all of them are in samples; only the code
# after the newest one of a sample is in none.
if [ "$(uname -m)" = x86_64 ]; then
	ok "a program with all of its branches" build exact -static -gline-tables-only -fdebug-info-for-profiling
	ok "taken one by one" "$built/e2e/step_branches" exact.data ./exact 5
	sample_profile exact.afdo exact.data
	like "what was written is said" "$err" 'prof convert: [0-9]+ branches of exact, [0-9.]+ % with lines of functions'
	like "calls are counted" "$(grep ' rare:' exact.afdo)" " (4[6-9]|50) rare:(4[6-9]|50)$"
	like "and runs of an inlined loop" "$(grep -A 1 ' scramble:' exact.afdo)" \
		"  $(($(line_of 'x = (x << 7') - scramble))(\\.[0-9]+)?: (3[789]|40)[0-9]{3}"
	like "a jump back is no call" "$(grep ^often: exact.afdo)" ':[45]$'
	like "only a sample profile has them" "$("$PROF" report --no-config exact.data)" '^\./exact: .* samples of cycles'
fi

# A program and its library, in C++: a file each, with the names that linkers see.
loop='for (unsigned i = 0; i < 1000; i++) x = (x << 7 | x >> 25) * 2654435761u ^ i; return x;'
cat >library.cc <<CODE
template <class T> __attribute__((noinline)) T mix(T x) { $loop }
unsigned library(unsigned n)
{
	unsigned sum = 0;
	for (unsigned i = 0; i < n; i++)
		sum += mix(i);
	return sum;
}
CODE
cat >program.cc <<CODE
unsigned library(unsigned n);
template <class T> struct cup {
	__attribute__((noinline)) T stir(T x) const { $loop }
};
int main()
{
	unsigned long sum = 0;
	for (unsigned long i = 0; i < 40; i++) {
		sum += library(2000);
		for (unsigned long k = 0; k < 1000; k++)
			sum += cup<unsigned long>().stir(k);
	}
	return sum == 1;
}
CODE
lines=(-O2 -gline-tables-only -fdebug-info-for-profiling)
ok "a library of templates" clang++ "${lines[@]}" -shared -fPIC -o libtemplates.so library.cc
ok "and its program" clang++ "${lines[@]}" -o program program.cc ./libtemplates.so
record both 0 -- ./program
sample_profile both.afdo both.json.gz
like "the one with more samples is written" "$(head -n 1 both.afdo)" '^_Z3mixIjET_S0_:'
unlike "and only that one" "$(<both.afdo)" stir
sample_profile program.afdo --module program both.json.gz
like "the other one if asked for" "$(head -n 1 program.afdo)" '^_ZNK3cupImE4stirEm:'
unlike "and only that one, too" "$(grep -v '^ ' program.afdo)" mix
ok "clang++ takes it" clang++ "${lines[@]}" -fprofile-sample-use=program.afdo -Werror -o again program.cc ./libtemplates.so

# Debug information in other files.
ok "a split one" build split -g -gsplit-dwarf -fdebug-info-for-profiling
record split 0 -- ./split 20000
sample_profile split.afdo split.json.gz
like "it has the same lines" "$(<split.afdo)" " $(($(line_of 'x += scramble') - often))(\.[0-9]+)?: scramble:"
done_testing
