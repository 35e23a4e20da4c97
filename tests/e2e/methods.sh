#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --unwind: the stacks of each method, and its report on what is missing.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
nofp=$workloads/nofp

# For judge(): the file of --stats, "Unwinding" in the info panel, and the samples of the function
# that a workload burns in. Time before that, in ld.so, does not count.
stats_code='
import json
stats = json.load(open(args[0]))
can_be_whole = sum(stats[c] for c in ("whole", "truncated", "broken", "unknown"))
panel = {e["label"]: e["value"] for s in p["meta"]["extra"] if s["label"] == "Unwinding"
         for e in s["entries"]}
def inside(function):
    found = [frames for _, _, _, frames in samples() if any(f["name"] == function for f in frames)]
    expect(len(found) > 100, f"{len(found)} samples in {function}")
    return found
def with_guess(stacks):
    return sum(any(f["subcategory"] == "Guess" for f in frames) for frames in stacks)
everything = [frames for _, _, _, frames in samples()]
'
judge_stats() { # DESCRIPTION NAME <CODE
	judge "$1" "$2.json.gz" "$2.stats" < <(echo "$stats_code" && cat)
}
for method in auto cfi fp none; do
	# Code without CFI that changes the frame pointer, and code with CFI below it.
	record $method 0 -v --unwind=$method -- "$nofp/no_cfi"
	judge "$method: the method in meta" $method.json.gz unwind-$method \
		<<<'expect(args[0] in p["meta"]["configuration"]["features"], p["meta"]["configuration"])'
	is "$method: the method in --stats" "$(stat_of $method unwind)" $method
	case $method in
	auto) like "auto: the summary" "$err" 'stacks: (99|100)\.[0-9] % whole \(.*[0-9] % with guesses\)' ;;
	cfi) like "cfi: the summary" "$err" 'stacks: .* % whole.*, [0-9]+\.[0-9] % broken' ;;
	fp) like "fp: the summary" "$err" 'stacks: by frame pointers' ;;
	none) ok "none: the summary" test "${err/ whole/}" = "$err" ;;
	esac
done
judge_stats "auto: past code without CFI by a guess, which is shown as one" auto <<'CODE'
found = inside("without_cfi")
expect(stats["whole"] >= 0.99 * can_be_whole, stats)
expect(with_guess(found) >= 0.99 * len(found), f"{with_guess(found)} of {len(found)}")
expect(stats["guessed"] == with_guess(everything), (with_guess(everything), stats))
at_call = [f["subcategory"] for frames in found for f, g in zip(frames, frames[1:])
           if (f["name"], g["name"]) == ("calling", "without_cfi")]
others = [f["subcategory"] for frames in found for f in frames if f["name"] != "calling"]
# The first instructions of the function and its last one tell the caller.
expect(at_call.count("Guess") >= len(at_call) - 2 and len(at_call) >= 0.99 * len(found) - 2,
       (len(found), len(at_call), at_call.count("Guess")))
expect(others.count("Guess") <= 2, others.count("Guess"))
expect(panel["Whole stacks"] >= 0.99 and
       abs(panel["With guessed frames"] - stats["guessed"] / can_be_whole) < 0.001, panel)
expect(panel["Tables"] == stats["unwind_tables"] > 0 and
       panel["Rows"] == stats["unwind_rows"] > 1000 and
       panel["Kernel memory"] == stats["unwind_bytes"] > 0, (panel, stats))
CODE
judge_stats "cfi: it ends there, and guesses nothing" cfi <<'CODE'
found = inside("without_cfi")
expect(stats["broken"] >= 0.99 * len(found), (len(found), stats))
expect(stats["guessed"] == with_guess(everything) == 0, stats)
below = sum(any(f["name"] == "main" for f in frames) for frames in found)
expect(below == 0, f"{below} of {len(found)} with main")
CODE
for method in fp none; do
	judge_stats "$method: no tables, no claims" $method <<'CODE'
expect(stats["unknown"] >= 0.97 * can_be_whole > 50 and with_guess(everything) == 0, stats)
expect(stats["whole"] == stats["broken"] == 0, stats)
expect(stats["unwind_tables"] == stats["unwind_rows"] == stats["unwind_bytes"] == 0, stats)
expect("Whole stacks" not in panel and "Tables" not in panel, panel)
CODE
done

# Code with frame pointers and no CFI, in which the function that burns has no frame.
cat >leaf.c <<'TEXT'
volatile unsigned sink;
__attribute__((noinline)) unsigned spin(unsigned n)
{
	unsigned r = 1;
	for (unsigned i = 0; i < n; i++)
		r = r * 1664525u + i;
	return r;
}
__attribute__((noinline)) unsigned heavy(void) { return sink += spin(3000000); }
__attribute__((noinline)) unsigned light(void) { return sink += spin(1000000); }
int main(void)
{
	for (int i = 0; i < 100; i++) {
		sink += heavy();
		sink += light();
	}
	return 0;
}
TEXT
gcc -O2 -fno-asynchronous-unwind-tables -fno-omit-frame-pointer -o leaf leaf.c
record leaf 0 -- ./leaf
judge_stats "auto: a function without a frame among others with frame pointers" leaf <<'CODE'
found = [[f["name"] for f in frames] for frames in inside("spin")]
callers = [names[names.index("spin") - 1] for names in found]
heavy, light = callers.count("heavy"), callers.count("light")
expect(heavy + light >= 0.99 * len(found), callers[:9])
expect(0.65 < heavy / (heavy + light) < 0.85, (heavy, light))
expect(sum("main" in names for names in found) >= 0.99 * len(found), found[0])
CODE

# The same without frame pointers: the instructions tell the frames.
if [ "$(uname -m)" = x86_64 ]; then
	gcc -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer -o bare leaf.c
	record bare 0 -- ./bare
	judge_stats "auto: functions without CFI, whose pushes and pops agree, without a guess" bare <<'CODE'
found = [[f["name"] for f in frames if f["category"] == "User"] for frames in inside("spin")]
heavy, light = (sum(names[-3:] == ["main", name, "spin"] for names in found) for name in ("heavy", "light"))
expect(heavy + light >= 0.99 * len(found), found[:1])
expect(0.65 < heavy / (heavy + light) < 0.85, (heavy, light))
expect(stats["whole"] >= 0.99 * can_be_whole and stats["guessed"] <= 0.01 * can_be_whole, stats)
CODE
fi

# Code without CFI and without a frame pointer that returns behind its call.
if [ "$(uname -m)" = x86_64 ]; then
	cat >through.c <<'TEXT'
volatile unsigned sink;
void through(void (*function)(void));
__asm__(".globl through\n"
	".type through, @function\n"
	"through:\n"
	"	sub $8, %rsp\n"
	"	call *%rdi\n"
	"	add $8, %rsp\n"
	"	ret\n"
	".size through, . - through\n");
static void burn(void)
{
	for (unsigned i = 0; i < 400000000; i++)
		sink = sink * 31 + i;
}
int main(void)
{
	through(burn);
	return 0;
}
TEXT
	gcc -O2 -o through through.c
	record through 0 -- ./through
	judge_stats "auto: past code that returns behind its call, without a guess" through <<'CODE'
found = [[f["name"] for f in frames if f["category"] == "User"] for frames in inside("burn")]
right = sum(names[-3:] == ["main", "through", "burn"] for names in found)
expect(right >= 0.99 * len(found), f"{right} of {len(found)}: {found[:1]}")
expect(stats["whole"] >= 0.99 * can_be_whole and stats["guessed"] <= 0.01 * can_be_whole, stats)
CODE
fi

record chain 0 --unwind=fp -- "$workloads/recursion" 60
judge_stats "fp: where there are frame pointers, all frames" chain <<'CODE'
found = [[f["name"] for f in frames] for frames in inside("bottom")]
whole = sum(names.count("recurse") == 60 and "main" in names for names in found)
expect(whole >= 0.99 * len(found), f"{whole} of {len(found)}")
CODE
record nothing 0 --unwind none -- "$workloads/recursion" 60
judge_stats "none: of user code only where it was interrupted" nothing <<'CODE'
inside("bottom")
for frames in everything:
    physical = [f for f in frames if f["category"] == "User" and f["inlineDepth"] == 0]
    expect(len(physical) <= 1, [f["name"] for f in frames])
CODE
record tables 0 --unwind=cfi -- /usr/bin/python3 -c 'import time
while time.thread_time() < 0.3: sum(i * i for i in range(4000))'
judge_stats "cfi: a program of the distribution needs nothing else" tables <<'CODE'
expect(stats["whole"] >= 0.99 * can_be_whole > 100 and stats["guessed"] == 0, stats)
CODE

# Half of a shard has no room for this program's tables; it has frame pointers.
record roomy 0 -- "$workloads/many_rows"
judge_stats "a program with a million rows: they are used" roomy <<'CODE'
expect(stats["unwind_rows"] > 1000000 and stats["unwind_bytes"] > 4 << 20, stats)
expect(stats["whole"] >= 0.99 * can_be_whole > 100 and stats["unwind_refused"] == 0, stats)
CODE
record tight 0 --unwind-memory 4M -- "$workloads/many_rows"
like "--unwind-memory: what found no room is told" "$err" "1 unwind table did not fit"
judge_stats "--unwind-memory: no more is taken, stacks are found by other means" tight <<'CODE'
expect(0 < stats["unwind_rows"] < 1000000 and 0 < stats["unwind_bytes"] <= 4 << 20, stats)
expect(stats["unwind_refused"] == 1 and panel["Tables without room"] == 1, (stats, panel))
expect(stats["whole"] >= 0.99 * can_be_whole > 100, stats)
CODE
refuses "--unwind=dwarf" 2 'must be auto, cfi, fp or none' "$PROF" record --unwind=dwarf -- touch started
refuses "--unwind-memory 1M" 2 'between 4M and 4G' "$PROF" record --unwind-memory 1M -- touch started

done_testing
