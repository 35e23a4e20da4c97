#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --alloc: who allocates, and who holds what at the end, of programs whose true figures are known.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

truth=$workloads/allocs
# Sums by function, and what the program itself counted: rows of (allocated, leaked).
sums='
import json
from math import expm1, sqrt
MEAN = 524288
stats = json.load(open(args[0]))
told = [tuple(map(int, line.split())) for line in open(args[1])]
def sums_of(threads):
    found = {"allocated": {}, "retained": {}}
    for t in threads:
        table = t.get("nativeAllocations")
        if not table:
            continue
        expect(t["isMainThread"] and table["length"] and table["weightType"] == "bytes", "a table")
        held = {}
        for weight, stack, block in zip(table["weight"], table["stack"], table["memoryAddress"]):
            # Before the tables of a new program are ready, few stacks are known.
            names = [] if stack is None else [
                f["name"] for f in check_profile.stack_frames(p, stack)]
            name = next((n for n in reversed(names) if n.startswith(("leak_", "free_", "grow",
                        "allocate_"))), "other")
            if weight >= 0:
                expect(block not in held, "allocated twice")
                held[block] = name, weight
                found["allocated"][name] = found["allocated"].get(name, 0) + weight
            else:
                expect(held.pop(block, None) == (name, -weight), "the stack of the allocation")
        for name, weight in held.values():
            found["retained"][name] = found["retained"].get(name, 0) + weight
    return found
# 4.5 times the standard deviation: one of 100,000 is further off.
def near(found, bytes_, size):
    chance = -expm1(-size / MEAN)
    sigma = sqrt(bytes_ * size * (1 - chance) / chance)
    # Few large blocks are left out, but then a whole one is missing.
    expect(abs(found - bytes_) <= 4.5 * sigma + size + 1000, (found, bytes_, size, sigma))
SIZES = ("small", 16), ("page", 4096), ("large", 3 << 20)
def judge_rounds(found, rounds, sizes=SIZES):
    third = 10 * (3 << 20) * rounds
    for name, size in sizes:
        near(found["allocated"].get("leak_" + name, 0), 0.3 * third, size)
        near(found["allocated"].get("free_" + name, 0), 0.7 * third, size)
        near(found["retained"].get("leak_" + name, 0), 0.3 * third, size)
        expect("free_" + name not in found["retained"], found)
'
judge_sums() { # DESCRIPTION NAME CODE
	local all="$sums
$3"
	judge "$1" "$2.json.gz" "$2.stats" "$2.told" <<<"$all"
}

record plain 0 --alloc -- "$truth" 4
echo "$out" >plain.told
judge_sums "three sites leak, three do not" plain '
judge_rounds(sums_of(p["threads"]), 4)
expect(stats["frees_unmatched"] == 0 and stats["allocs"]["lost"] == 0, stats)
expect(stats["alloc_mean"] == MEAN and stats["allocs_sampled"] > 100, stats)
near(stats["alloc_bytes_estimated"], told[0][0], 16)
[counter] = [c for c in p["counters"] if c["name"] == "malloc"]
expect(sum(counter["samples"]["count"]) == stats["alloc_bytes_held"], "the counter")
'
like "the summary tells who holds it" "$err" 'held at the end: .* that were allocated, .* from leak_'
ok "report shows it" sh -c "'$PROF' report --event retained --format csv plain.json.gz | grep -q leak_large"
ok "so does a sanitized profile" sh -c "
	'$PROF' convert --sanitize -o clean.json.gz plain.json.gz && '$PROF' report --event retained --format csv clean.json.gz | grep -q leak_large"

record threads 0 --alloc=64K -- "$truth" threads 100
echo "$out" >threads.told
judge_sums "threads free what others allocated" threads '
MEAN = 65536
found = sums_of(p["threads"])
near(sum(found["allocated"].values()), 100 * 1000 * 4096, 4096)
expect(found["allocated"]["allocate_for_others"] > 0, found)
expect("allocate_for_others" not in found["retained"], found)
expect(stats["frees_unmatched"] == 0, stats)
'

record realloc 0 --alloc=64K -- "$truth" realloc 500
echo "$out" >realloc.told
judge_sums "realloc frees and allocates" realloc '
MEAN = 65536
found = sums_of(p["threads"])
near(sum(found["allocated"].values()), told[0][0], 64000)
expect(found["allocated"]["grow"] > 0, found)
expect("grow" not in found["retained"], found)
'

record fork 0 --alloc -- "$truth" fork 1
echo "$out" >fork.told
judge_sums "a fork: the child has its own" fork '
pids = sorted({t["pid"] for t in p["threads"]})
expect(len(pids) == 2, pids)
for pid, rounds in zip([p["threads"][0]["pid"]] + [x for x in pids if x != p["threads"][0]["pid"]],
                       (2, 1)):
    judge_rounds(sums_of([t for t in p["threads"] if t["pid"] == pid]), rounds)
'

record exec 0 --alloc -- "$truth" exec 1
echo "$out" >exec.told
judge_sums "an exec: nothing is left of the program before" exec '
found = sums_of(p["threads"])
third = 10 * (3 << 20)
for name, size in SIZES:
    near(found["allocated"]["leak_" + name], 2 * 0.3 * third, size)
    near(found["retained"]["leak_" + name], 0.3 * third, size)
'

record held 0 --alloc --leaks-only -- "$truth" 1
echo "$out" >held.told
judge_sums "--leaks-only" held '
found = sums_of(p["threads"])
expect(found["allocated"] == found["retained"] and "leak_large" in found["retained"], found)
'

# Objects of Python are in memory of its own.
cat >leak.py <<'CODE'
import os
kept = []
def leak(count):
    for i in range(count):
        kept.append((i, "x%d" % i))
leak(200000)
os._exit(0)
CODE
record python 0 --alloc -- python3 leak.py
like "the summary says whose objects are not seen, and what does see them" "$err" \
	'most objects of Python are not recorded: .*--alloc=pages.*PYTHONMALLOC=malloc'
PYTHONMALLOC=malloc record python_malloc 0 --alloc=64K -- python3 leak.py
unlike "nothing of the kind when Python uses malloc()" "$err" 'objects of Python'
held_by_leak='
def held_by(name):
    held = {}
    for t in p["threads"]:
        table = t.get("nativeAllocations")
        for weight, stack in zip(table["weight"], table["stack"]) if table else ():
            is_leak = stack is not None and any(f["name"] == name for f in check_profile.stack_frames(p, stack))
            held[is_leak] = held.get(is_leak, 0) + weight
    return held
'
record python_pages 0 --alloc=pages:64K -- python3 leak.py
unlike "nor of pages" "$err" 'objects of Python'
for how in malloc pages; do
	judge "$how: what the objects take" python_$how.json.gz python_$how.stats <<'CODE'
import json
held = json.load(open(args[0]))["alloc_bytes_held"]
expect(24e6 < held < 60e6, held)
CODE
done
sed -i '$d' leak.py
record python_ends 0 --alloc=pages:64K -- python3 leak.py
like "Python frees all when it ends, but the summary says how much it held" "$err" \
	'held at the end: [0-9.]+ [kM]?B \(at most (2[4-9]|[345][0-9]) MB, after [0-9.]+ s\) of '
for how in malloc pages; do
	judge "$how: the function of Python holds it" python_$how.json.gz <<CODE
$held_by_leak
held = held_by("leak")
expect(24e6 < held[True] < 60e6, held)
CODE
done

# Functions of interpreters, also where those of the allocator are probed.
cat >blocks.py <<'CODE'
import time
kept = []
def hold(size):
    kept.append(bytearray(size))
def fill():
    for i in range(100):
        hold(100000)
        time.sleep(0.01)
print("ready", flush=True)
input()
fill()
print("full", flush=True)
input()
CODE
mkfifo input
start python3 blocks.py <>input >blocks.told
wait_until grep -q ready blocks.told
begin attached attach -p "$started" --alloc=64K
echo >input
wait_until grep -q full blocks.told
kill -INT "$recorder"
finish attached 0
kill "$started"
judge "attach: the function of Python holds its blocks" attached.json.gz <<CODE
$held_by_leak
held = held_by("hold")
expect(8e6 < held[True] < 12e6, held)
CODE

# Other programs do not notice, and the user's own library is loaded after.
printf 'int marked(void) { return 7; }\n' >own.c
gcc -shared -fPIC -o own.so own.c
# shellcheck disable=SC2016 # the command's shell expands it
LD_PRELOAD=$PWD/own.so run "$PROF" record --alloc -o preload.json.gz -- sh -c 'echo "$LD_PRELOAD"'
is "LD_PRELOAD of the user stays" "${out#*prof-alloc.so:}" "$PWD/own.so"
for program in "python3 -c 'print(len([str(i) for i in range(100000)]))'" \
	"perl -e 'my %h; \$h{\$_} = \$_ for 1 .. 10000; print scalar keys %h'" \
	"node -e 'const a = []; for (let i = 0; i < 1e5; i++) a.push({i}); console.log(a.length)'" \
	"sh -c 'exit 3'"; do
	eval "run $program"
	expected="$out, $err, $status"
	eval "run '$PROF' record -q --alloc=4K -o program.json.gz -- $program"
	# prof may lose some on a busy machine, and say so.
	err=$(grep -v '^prof: warning' <<<"$err")
	is "${program%% *} runs as without it" "$out, $err, $status" "$expected"
done

# They have free() and a family of functions each.
find_library() { # PATTERN
	find /usr/lib -name "$1" 2>/dev/null | sort | head -n 1
}
mimalloc=$(find_library 'libmimalloc.so.[23]')
for library in "$(find_library 'libjemalloc.so.2')" "$(find_library 'libtcmalloc_minimal.so.4')" \
	"$mimalloc"; do
	name=${library##*/lib}
	name=${name%%.*}
	LD_PRELOAD=$library record "$name" 0 --alloc -- "$truth" 2
	echo "$out" >"$name.told"
	judge_sums "$name is the program's allocator" "$name" '
judge_rounds(sums_of(p["threads"]), 2)
expect(stats["frees_unmatched"] == 0, stats)
expect(any(args[0].split(".")[0] in lib["name"] for lib in p["libs"]), "it was not loaded")
'
	LD_PRELOAD=$library start "$truth" few 4 >"$name.told"
	begin "$name" attach --alloc -p "$started"
	touch go
	wait "$started"
	finish "$name" 0
	rm go
	judge_sums "$name, of a process that runs already" "$name" '
judge_rounds(sums_of(p["threads"]), 4, SIZES[1:])
'
done

touch go
record second 0 --alloc -- "$truth" second "$mimalloc"
rm go
echo "$out" >second.told
judge_sums "a second allocator that is loaded does no harm" second '
judge_rounds(sums_of(p["threads"]), 1)
'
start "$truth" second "$mimalloc" >second.told
begin second attach --alloc -p "$started"
touch go
wait "$started"
finish second 0
rm go
judge_sums "it is attached to, too" second '
found = sums_of(p["threads"])
judge_rounds(found, 1)
near(found["allocated"]["leak_second"], 0.3 * 40 * (3 << 20), 4096)
near(found["allocated"]["free_second"], 0.7 * 40 * (3 << 20), 4096)
near(found["retained"]["leak_second"], 0.3 * 40 * (3 << 20), 4096)
expect("free_second" not in found["retained"], found)
'
start "$truth" array 1 >array.told
begin array attach --alloc -p "$started"
touch go
wait "$started"
finish array 0
rm go
judge_sums "functions that call each other allocate once" array '
found = sums_of(p["threads"])
near(found["allocated"]["leak_array"], 0.3 * 40 * (3 << 20), 4096)
near(found["allocated"]["free_array"], 0.7 * 40 * (3 << 20), 4096)
near(found["retained"]["leak_array"], 0.3 * 40 * (3 << 20), 4096)
'
start "$truth" child 4 >child.told
begin child attach --alloc -p "$started"
touch go
wait "$started"
finish child 0
rm go
judge_sums "a child of such a process" child '
pids = {t["pid"] for t in p["threads"] if t.get("nativeAllocations")} - {p["threads"][0]["pid"]}
judge_rounds(sums_of([t for t in p["threads"] if t["pid"] in pids]), 4, SIZES[1:])
'

record static 0 --alloc -- "$workloads/static/calls"
like "programs that nobody tells of are named" "$err" 'no allocations were recorded of calls'

cat >classes.cc <<'CODE'
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

struct block {
	char bytes[4096];
};

__attribute__((noinline)) block *leak_block()
{
	return new block;
}

__attribute__((noinline)) std::size_t free_vector()
{
	std::vector<char> all(1 << 20);
	return all.size();
}

static std::size_t volatile used;
static block *volatile last;

int main()
{
	for (int i = 0; i < 5120; i++)
		last = leak_block();
	for (int i = 0; i < 40; i++)
		used = used + free_vector();
	std::printf("%zu %d\n", used + 5120 * sizeof(block), 5120 * 4096);
}
CODE
cat >classes.rs <<'CODE'
// Keeps the compiler from leaving the allocation out.
fn read(bytes: &[u8]) -> usize {
    unsafe { std::ptr::read_volatile(&bytes[0]) };
    bytes.len()
}

#[inline(never)]
fn leak_block() -> usize {
    read(Box::leak(Box::new([1; 4096])))
}

#[inline(never)]
fn free_vector() -> usize {
    read(&vec![1; 1 << 20])
}

fn main() {
    let used: usize = (0..5120).map(|_| leak_block()).sum::<usize>()
        + (0..40).map(|_| free_vector()).sum::<usize>();
    println!("{} {}", used, 5120 * 4096);
}
CODE
g++ -O1 -g -o classes classes.cc
rustc -C opt-level=1 -g -o rusty classes.rs
for program in classes rusty; do
	record $program 0 --alloc=64K -- ./$program
	echo "$out" >$program.told
	judge_sums "$program: its own functions have it" $program '
MEAN = 65536
stacks = [[], []]
retained, freed = 0, 0
[table] = [t["nativeAllocations"] for t in p["threads"] if t.get("nativeAllocations")]
held = {}
for weight, stack, block in zip(table["weight"], table["stack"], table["memoryAddress"]):
    names = " ".join(f["name"] for f in check_profile.stack_frames(p, stack)) if stack else ""
    if weight < 0:
        freed += -weight if "free_vector" in names else 0
        held.pop(block)
    else:
        held[block] = weight if "leak_block" in names else 0
near(sum(held.values()), 5120 * 4096, 4096)
near(freed, 40 << 20, 1 << 20)
'
done
run valgrind -q --leak-check=full --error-exitcode=9 ./classes
alone="$out, $status, $(grep -c 'definitely lost' <<<"$err")"
LD_PRELOAD=${PROF%/*}/prof-alloc.so run valgrind -q --leak-check=full --error-exitcode=9 ./classes
is "valgrind sees the same program" "$out, $status, $(grep -c 'definitely lost' <<<"$err")" "$alone"

start "$truth" wait 1 >wait.told
begin wait attach --alloc -p "$started"
touch go
wait "$started"
finish wait 0
judge_sums "a process that runs already" wait '
judge_rounds(sums_of(p["threads"]), 1)
'
rm go

# Several, and preferred at first, by the niceness of their session as well: others may have the CPUs just
# when calls are counted.
pids=
echo -15 2>/dev/null >/proc/self/autogroup
for i in 1 2 3 4; do
	start nice -n -15 "$truth" busy 10000 >"$i.told"
	pids+=${pids:+,}$started
done
refuses "a program that allocates all the time is left alone" 125 'allocate and free [0-9]+ times a second, which takes [0-9]+ % of a CPU' \
	"$PROF" attach --alloc -d 20 -o busy.json.gz -p "$pids"
# shellcheck disable=SC2086 # words
renice -n 0 -p ${pids//,/ } >/dev/null
echo 0 2>/dev/null >/proc/self/autogroup
begin busy attach -v -d 1 --alloc --alloc-anyway -p "$pids"
finish busy 0
# While the kernel handles the breakpoint at a function's start, it changes the stack.
judge "callers of functions whose returns are probed are found" busy.json.gz <<'CODE'
names = [[f["name"] for f in frames] for _, _, _, frames in samples()]
cut = [n for n in names if n[0] != "_start" and not any("int3" in x or "uprobe" in x for x in n)]
expect(len(cut) <= 0.01 * len(names) > 0, (len(cut), len(names), cut[:3]))
CODE
touch go
wait
# Rates are those of a busy machine. What a call takes is less so: another guest of the machine may share
# its caches while calls are timed, so twice as much is right.
judge "what it costs is told beforehand" busy.json.gz 4.told busy.err <<'CODE'
import re
from statistics import median
passes = [float(line) for line in open(args[0])]
alone, longest = min(passes), max(passes)
told = re.search(r"free ([0-9]+) times a second, which takes ([0-9]+) %", open(args[1]).read())
expect(told, open(args[1]).read())
a_pair = 2 * float(told[2]) / 100 * 1e9 / float(told[1])
# Passes that lost their CPU for a while are slow, too, but not as slow as those with probes.
found = median(x for x in passes if x * x > alone * longest) - alone
expect(0.4 < a_pair / found < 2.5, (a_pair, found, alone, len(passes)))
CODE
done_testing
