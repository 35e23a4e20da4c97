#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# JavaScript functions between native ones, judged by the program's own tree of calls.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
tree=$root/tests/workloads/node/tree.js

run node "$tree" --tree
is "the program's tree of calls" "$status" 0
cp "$tmp/.out" tree.json
record calls 0 -- node "$tree" 2500 1
cp "$tmp/.out" times.json
ok "all chains are paths of the tree, with native frames in their places" \
	python3 "$root/tests/node_truth.py" tree.json times.json calls.json.gz --at-least 500
judge "nearly all stacks have all their functions" calls.json.gz calls.stats <<'CODE'
import json
r = json.load(open(args[0]))["runtimes"]
partial = r["torn"] + r["unplaced"] + r["missed"]
expect(r["whole"] > 500, r)
# The target is 0.1 %.
expect(partial <= 0.02 * (r["whole"] + partial) + 2, r)
# Names may be gone by the time that a busy machine lets them be read.
expect(r["nameless"] + r["lost_functions"] <= 2 + 0.05 * r["functions"], r)
expect(r["versions"].startswith("JavaScript "), r)
# Stacks whose functions cannot be found in a copy are told from those that run none.
expect(r["early"] >= r["copied"], r)
# Versions whose compiled code cannot be read have none of either.
expect(r["with_inlined"] > 0 or not r["compiled"], r)
# Code that has not made its frame yet is not said to have all its functions.
made = sum(1 for _, _, _, frames in samples() if frames and frames[-1]["name"].startswith("code made by "))
expect(made <= r["unfound_code"] + r["torn"] + r["early"] + 5, (made, r))
CODE
# Most of it comes before any function.
record start 0 -- node -e 0
like "the start of a process lacks no functions" "$err" \
	'JavaScript [0-9.]+: (100|[89][0-9])\.[0-9]+ % of (the other )?stacks have all their functions'
# A call of optimized code may lead through a builtin that sets the frame pointer on another path.
judge "optimized code has its name, whatever calls it" calls.json.gz <<'CODE'
leaves = [frames[-1]["name"] for _, _, _, frames in samples() if any(f["name"] == "main" for f in frames)]
made = sum(name.startswith("code made by ") for name in leaves)
expect(len(leaves) > 300 and made <= 5 + 0.01 * len(leaves), (made, len(leaves)))
CODE
# Two look at the same run: one takes names of its addresses alone.
node --perf-basic-prof "$root/tests/workloads/node/calls.js" 1000000 &
busy=$!
at_exit+=("kill $busy 2>/dev/null; rm -f /tmp/perf-$busy.map")
ok "many calls are made" work_on "$busy" 500
begin addresses attach -p "$busy" --no-runtimes -F 2000
beside=$recorder
attach_for frames "$busy" 1500 -F 2000
kill -INT "$beside"
recorder=$beside
finish addresses 0
kill "$busy"
judge "a function has the time in which it has no frame yet, or no more" addresses.json.gz frames.json.gz <<'CODE'
import check_profile
import collections
names = ("main", "outer", "middle", "inner")
counts = [collections.Counter(), collections.Counter()]
for count, profile in zip(counts, (p, check_profile.load(args[0]))):
    for thread in profile["threads"]:
        for _, _, weight, frames in check_profile.samples(profile, thread):
            if frames and frames[-1]["name"] in names:
                count[frames[-1]["name"]] += 1
                if profile is not p and frames[-1]["name"] != "main":
                    chain = [f["name"] for f in frames if f["name"] in names]
                    expect(chain in (["main", "inner"], list(names[:names.index(chain[-1]) + 1])), chain)
totals = [sum(count.values()) for count in counts]
expect(min(totals) > 1000, counts)
for name in names:
    shares = [count[name] / total for count, total in zip(counts, totals)]
    expect(abs(shares[0] - shares[1]) < 0.04, (name, counts))
CODE
judge "functions are written code, with files, lines and tiers" calls.json.gz "$tree" <<'CODE'
shared = p["shared"]
functions = shared["funcTable"]
names = [shared["stringArray"][name] for name in functions["name"]]
expect(functions["isJS"][names.index("spin")], "spin is shown as written code")
leaves = [frames[-1] for _, _, _, frames in samples() if frames and frames[-1]["name"] == "spin"]
expect(len(leaves) > 50, f"{len(leaves)} samples in spin")
lines = open(args[0]).read().splitlines()
first = next(i for i, line in enumerate(lines) if line.startswith("function spin")) + 1
for leaf in leaves:
    expect(leaf["file"] == args[0] and first <= leaf["line"] <= first + 5, leaf)
tiers = {f["subcategory"] for _, _, _, frames in samples() for f in frames
         if f["category"] == "JavaScript"}
expect({"Interpreter", "Optimized"} <= tiers, tiers)
CODE
judge "a worker's functions, too" calls.json.gz <<'CODE'
with_main = [t["tid"] for t in p["threads"]
             if sum("scene" in [f["name"] for f in frames] for _, _, _, frames in samples(t)) > 20]
expect(len(with_main) == 2, with_main)
CODE

# Their stacks are taken in the context switch.
cat >drip.sh <<'CODE'
while printf .; do sleep 0.003; done 2>/dev/null | node "$1" 700
CODE
record waits 0 --off-cpu all -- bash drip.sh "$root/tests/workloads/node/waits.js"
judge "waits are in the functions that wait, with what they wait for" waits.json.gz \
	"$root/tests/workloads/node/waits.js" <<'CODE'
import collections
wanted = {"[futex]": ["main", "napping", "each", "nap"], "[read]": ["main", "read"]}
found = collections.Counter()
for _, _, _, frames in waits():
    own = [f["name"] for f in frames if f["file"] == args[0]]
    label = frames[-1]["name"]
    if not own or own[-1] not in ("nap", "read"):
        continue
    # Optimized code may have taken in the functions that it calls.
    wait = next(chain for chain in wanted.values() if chain[-1] == own[-1])
    expect([name for name in own if name in wait][-1:] == wait[-1:], own)
    expect([name for name in wait if name in own] == [name for name in own if name in wait], own)
    if wait == wanted.get(label):
        found[label] += 1
        expect(frames[-2]["category"] == "Kernel", frames[-2])
expect(len(found) == 2 and min(found.values()) > 10, found)
CODE

record off 0 --no-runtimes -- node "$tree" 300
judge "--no-runtimes: native frames alone" off.json.gz <<'CODE'
expect(not any(f["name"] in ("spin", "even") for _, _, _, frames in samples() for f in frames), "")
CODE

# Both tell of the same code.
record both 0 -- node --perf-basic-prof "$tree" 500
judge "with a perf map: no function twice" both.json.gz <<'CODE'
for _, _, _, frames in samples():
    names = [f["name"] for f in frames if f["category"] == "JavaScript"]
    for name in ("scene", "sorting", "compare", "inMap", "reviver"):
        expect(names.count(name) <= 1, names)
expect(within("scene") > 10, within("scene"))
shared = p["shared"]
rows = [shared["stringArray"][name] for name in shared["funcTable"]["name"]]
expect(rows.count("scene") == 1 and rows.count("compare") == 1, "one function for both")
CODE

# Nothing in the code of a regular expression tells which it is.
record regexps 0 -- node "$root/tests/workloads/node/regexps.js" 1200
judge "regular expressions have names, without a flag" regexps.json.gz "$(cat "$tmp/.out")" <<'CODE'
first, second = own(r"RegExp: ^(\w+\s?)*$"), own("RegExp: (x+x+)+y")
expect(first + second > 200, f"{first} and {second} samples")
near(first, first + second, float(args[0]))
for _, _, _, frames in samples():
    leaf = frames[-1] if frames else None
    if not leaf or not leaf["name"].startswith("RegExp: "):
        continue
    expect(leaf["category"] == "JavaScript" and leaf["subcategory"] == "RegExp", leaf)
    chain = [f["name"] for f in frames if f["name"] in ("validate", "replaceAll", "search")]
    wanted = {"(x+x+)+y": ["replaceAll", "search"], r"^(\w+\s?)*$": ["validate"],
              "[a-c]+": ["replaceAll"]}[leaf["name"][8:]]
    # The first stacks may have no functions.
    expect(chain == wanted or not any(f["name"] == "time" for f in frames), (leaf["name"], chain))
made = sum(weight for _, _, weight, frames in samples()
           if frames and frames[-1]["name"].startswith("code made"))
expect(made <= 0.02 * (first + second), f"{made} samples in code without a name")
CODE
record named 0 -- node --perf-basic-prof "$root/tests/workloads/node/regexps.js" 200
judge "with a perf map: no regular expression twice" named.json.gz <<'CODE'
shared = p["shared"]
rows = [shared["stringArray"][name] for name in shared["funcTable"]["name"]]
named = [name for name in rows if name.startswith("RegExp")]
expect(len(named) == len(set(named)) and "RegExp: (x+x+)+y" in named, named)
CODE

# Tables of the engine tell what its code is, whichever compiler made it.
wasm=$root/tests/workloads/node/wasm.js
record wasm 0 -- node "$wasm" 1200
cp "$tmp/.out" wasm.share
record plain 0 -- node "$wasm" 800 plain
for module in wasm plain; do
	judge "functions of WebAssembly have names, without a flag: $module" $module.json.gz \
		$module "$(cat wasm.share)" <<'CODE'
inner = ["descend"] * 6 + ["middle", "hot"]
outer = ["outward", "back", "cold"]
functions = ["back", "hot", "middle", "descend", "outward", "cold"]
if args[0] == "plain":
    # The others are not exported.
    plain = lambda name: f"wasm-function[{functions.index(name)}]" if name in ("hot", "middle") else name
    inner, outer = [[plain(name) for name in chain] for chain in (inner, outer)]
counts = [0, 0]
for _, _, weight, frames in samples():
    chain = [f["name"] for f in frames if f["name"] in inner + outer]
    leaf = frames[-1] if frames else {"name": ""}
    if leaf["name"] not in (inner[-1], outer[-1]):
        continue
    expect(leaf["category"] == "JavaScript" and leaf["subcategory"] == "WebAssembly", leaf)
    counts[leaf["name"] == outer[-1]] += weight
    # The first stacks may have no functions of JavaScript.
    expect(chain in (inner, outer) or not any(f["name"] == "time" for f in frames), chain)
expect(sum(counts) > 200, counts)
wrappers = {f["name"] for _, _, _, frames in samples() for f in frames if f["name"].isdigit()}
expect(not wrappers, f"code that calls WebAssembly is a function: {wrappers}")
if args[0] == "wasm":
    near(counts[0], sum(counts), float(args[1]))
made = sum(weight for _, _, weight, frames in samples()
           if frames and frames[-1]["name"].startswith("code made"))
expect(made <= 0.02 * sum(counts) + 2, f"{made} samples in code without a name")
shared = p["shared"]
rows = [shared["stringArray"][name] for name in shared["funcTable"]["name"]]
expect(rows.count(inner[-1]) == 1, "one function for the code of both compilers")
CODE
done

# Functions lie along the native stack: of one that ends early, the outer ones are missing.
cat >gap.c <<'CODE'
#include <stddef.h>

typedef void *value;
int napi_get_cb_info(value, value, size_t *, value *, value *, void **);
int napi_call_function(value, value, value, size_t, const value *, value *);
int napi_create_function(value, const char *, size_t, void *, void *, value *);

static long gap __attribute__((used)) = 64 << 10;

void call(value env, value function, value *result)
{
	napi_call_function(env, function, function, 0, NULL, result);
}

/* Calls call() with a gap in its frame, whose size nothing tells, and without a frame pointer. */
void far(value env, value function, value *result);
__asm__(".text\n.globl far\nfar:\n"
	"	push %rbp\n"
	"	sub gap(%rip), %rsp\n"
	"	mov %rdi, %r8\n"
	"	mov %rdx, %r9\n"
	"	mov %rsp, %rdi\n"
	"	mov gap(%rip), %rcx\n"
	"	xor %eax, %eax\n"
	"	xor %ebp, %ebp\n"
	"	rep stosb\n"
	"	mov %r8, %rdi\n"
	"	mov %r9, %rdx\n"
	"	call call@plt\n"
	"	add gap(%rip), %rsp\n"
	"	pop %rbp\n"
	"	ret\n");

static value over_gap(value env, value info)
{
	size_t count = 1;
	value function, result = NULL;

	napi_get_cb_info(env, info, &count, &function, NULL, NULL);
	far(env, function, &result);
	return result;
}

value napi_register_module_v1(value env, value exports)
{
	value function;

	napi_create_function(env, NULL, 0, over_gap, NULL, &function);
	return function;
}
CODE
cat >gap.js <<'CODE'
const overGap = require("./gap.node"), end = Date.now() + 700;
function leaf(n) {
	let sum = 0;
	for (let i = 0; i < n; i++)
		sum = (sum * 31 + i) & 0xffffff;
	return sum;
}
while (Date.now() < end)
	overGap(() => leaf(1e5));
CODE
run gcc -O1 -fPIC -shared -o gap.node gap.c
record gap 0 -- node gap.js
like "stacks that end early are not said to have all their functions" "$err" \
	'JavaScript [0-9.]+: .* \([0-9]+ end early or were taken while structures changed'
judge "and are counted" gap.json.gz gap.stats <<'CODE'
import json
r = json.load(open(args[0]))["runtimes"]
# Stacks of far() before it calls have no function of JavaScript: their thread counts as idle.
early = sum(1 for _, _, _, frames in samples() if frames and frames[0]["name"] == "far"
            and any(frame["category"] == "JavaScript" for frame in frames))
expect(early > 10 and r["torn"] + r["early"] >= early, (early, r))
CODE

# A collection moves functions, and the code of others replaces that of those that are gone.
cat >churn.js <<'CODE'
const end = Date.now() + +process.argv[2];
for (let n = 1; Date.now() < end; n++) {
  const body = 'return function f_' + n + '(x) { for (let i = 0; i < 20000; i++) x += i % 3; return x; }';
  new Function('\n'.repeat(n % 20) + body)()(1);
}
CODE
record churn 0 -- node --max-semi-space-size=1 churn.js 1000
judge "code that replaced other code is not taken for it" churn.json.gz <<'CODE'
last = found = 0
for _, _, _, frames in sorted(samples(), key=lambda sample: sample[1]):
    made = [f for f in frames if f["category"] == "JavaScript" and f["name"].startswith("f_")]
    if not made:
        continue
    found += 1
    expect(len(made) == 1, [f["name"] for f in frames])
    n = int(made[0]["name"][2:])
    expect(n >= last, f"{n} after {last}")
    last = n
    # Two lines stand before the text: "(function anonymous(" and ") {".
    if made[0]["line"] is not None:
        expect(made[0]["line"] == n % 20 + 3, made[0])
expect(found > 30, f"{found} samples in such code")
CODE

# Each function is compiled into pages that V8 has just mapped, and the recorder does not know yet.
cat >fresh.js <<'CODE'
let sink = 0, serial = 0;
function leaf(count) {
	for (let i = 0; i < count; i++)
		sink += Math.imul(i, 2654435761) % 7;
}
function caller() {
	const fresh = eval('(function fresh() { ' + serial++ + ';' + ' leaf(5);'.repeat(400) + ' })');
	fresh();
}
const start = process.cpuUsage();
while (process.cpuUsage(start).user < 1000000)
	caller();
CODE
record fresh 0 -F 4000 -- node --always-sparkplug fresh.js
judge "functions in code that is not known yet are not left out" fresh.json.gz <<'CODE'
found = 0
for _, _, _, frames in samples():
    chain = [f["name"] for f in frames if f["name"] in ("caller", "fresh", "leaf")]
    if chain[-1:] == ["leaf"]:
        found += 1
        expect(chain == ["caller", "fresh", "leaf"], [f["name"] for f in frames])
expect(found > 30, f"{found} samples in such code")
CODE

# Code that V8 maps for itself is writable, which the kernel does not count as code: without a
# wake-up, the first 100 ms have no functions. Five programs, as the recorder may be awake by chance.
cat >short.js <<'CODE'
function brief(n) {
	let sum = 0;
	for (let i = 0; i < n; i++)
		sum += Math.sqrt(i) % 3;
	return sum;
}
const start = process.cpuUsage();
while (process.cpuUsage(start).user < 200000)
	brief(1000);
CODE
record short 0 -- sh -c 'for i in 1 2 3 4 5; do node short.js; done'
judge "a short script has its functions from the start" short.json.gz <<'CODE'
expect(within("brief") > 750, f"{within('brief')} of 1000 ms")
CODE

node "$tree" 1000000 &
busy=$!
at_exit+=("kill $busy 2>/dev/null")
ok "it works" work_on "$busy" 300
attach_for attached "$busy" 1000
judge "an attached program's functions" attached.json.gz <<'CODE'
chains = [[f["name"] for f in frames if f["category"] == "JavaScript"] for _, _, _, frames in samples()]
expect(sum("main" in chain and "scene" in chain for chain in chains) > 0.3 * len(chains), chains[:3])
CODE
done_testing
