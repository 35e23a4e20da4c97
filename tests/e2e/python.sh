#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Python functions between native ones, judged by the program's own tree of calls.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
# Not a script that starts it.
python=$(python3 -c 'import sys; print(sys.executable)')
tree=$root/tests/workloads/python/tree.py

ok "the program's tree of calls" "$python" -W ignore "$tree" --tree tree.json
record calls 0 -- "$python" -W ignore "$tree" 1.5
cp "$tmp/.out" times.json
ok "all chains are paths of the tree, with native frames in their places" \
	python3 "$root/tests/python_truth.py" tree.json times.json calls.json.gz --at-least 500
judge "nearly all stacks have all their functions" calls.json.gz calls.stats <<'CODE'
import json
r = json.load(open(args[0]))["runtimes"]
partial = r["torn"] + r["unplaced"] + r["missed"]
expect(r["whole"] > 500, r)
# The target is 0.1 %.
expect(partial <= 0.02 * (r["whole"] + partial) + 2, r)
expect(r["nameless"] + r["lost_functions"] <= 2, r)
CODE
judge "a forked child and threads" calls.json.gz <<'CODE'
chains = [[f["name"] for f in frames if f["category"] == "Python"] for _, _, _, frames in samples()]
expect(sum("fork" in chain and "child" in chain for chain in chains) > 20, "the child's functions")
expect(sum("busy" in chain and "Thread.run" in chain or "busy" in chain and "run" in chain
           for chain in chains) > 20, "the threads' functions")
CODE
# Names lie in pages that the child is copying: they cannot be read then, and children are short.
cat >forks.py <<'CODE'
import os
import sys
import threading
import time
end = time.process_time() + float(sys.argv[1])
while time.process_time() + sum(os.times()[2:4]) < end:
    threading.Event()
    pid = os.fork()
    if not pid:
        os._exit(len([str(n) for n in range(100)]) != 100)
    os.waitpid(pid, 0)
time.sleep(0.5)
CODE
record forks 0 -F 10000 -- "$python" -W ignore forks.py 1.5
judge "functions of children that copy pages have their names" forks.json.gz <<'CODE'
expect(within("(name lost)") == 0, within("(name lost)"))
expect(within("_after_fork") > 20, within("_after_fork"))
CODE
judge "Python functions are written code, with files and lines" calls.json.gz "$tree" <<'CODE'
shared = p["shared"]
functions = shared["funcTable"]
names = [shared["stringArray"][name] for name in functions["name"]]
spin = names.index("spin")
expect(functions["isJS"][spin], "spin is shown as written code")
expect("Python" in [c["name"] for c in p["meta"]["categories"]], "a category")
leaves = [frames[-1] for _, _, _, frames in samples() if frames and frames[-1]["name"] == "spin"]
expect(len(leaves) > 50, f"{len(leaves)} samples in spin")
expect(all(leaf["file"] == args[0] for leaf in leaves), leaves[0])
expect(len({leaf["line"] for leaf in leaves}) > 2, {leaf["line"] for leaf in leaves})
CODE

# Their stacks are taken in the context switch.
record waits 0 --off-cpu all -- "$python" "$root/tests/workloads/python/waits.py" 1
cp "$tmp/.out" chains.json
judge "waits are in the functions that wait, with what they wait for" waits.json.gz chains.json <<'CODE'
import collections
import json
wanted = {f"[{name}]": chain for names, chain in json.load(open(args[0])).items() for name in names.split()}
innermost = {chain[-1] for chain in wanted.values()}
found = collections.Counter()
for _, _, _, frames in waits():
    chain = [f["name"] for f in frames if f["category"] == "Python"]
    own = [f["name"] for f in frames if (f["file"] or "").endswith("/waits.py")]
    label = frames[-1]["name"]
    if own and own[-1] in innermost:
        # It may also wait for a CPU, or for the interpreter's lock.
        expect(own in wanted.values(), own)
        expect(chain[-len(own):] == own, chain)
    if label in wanted and wanted[label] == own:
        found[own[0]] += 1
        expect("Thread.run" in chain or "run" in chain, chain)
        expect(frames[-2]["category"] == "Kernel", frames[-2])
expect(len(found) == 3 and min(found.values()) > 10, found)
CODE
judge "each with its line" waits.json.gz "$root/tests/workloads/python/waits.py" <<'CODE'
source = open(args[0]).read().splitlines()
calls = {"nap": "time.sleep(", "read": "os.read("}
labels = {"[clock_nanosleep]": "nap", "[select]": "nap", "[read]": "read"}
lines = [(f["name"], source[f["line"] - 1]) for _, _, _, frames in waits() for f in frames
         if f["file"] == args[0] and f["name"] == labels.get(frames[-1]["name"])]
expect(len(lines) > 20, len(lines))
for name, line in lines:
    expect(calls[name] in line, (name, line))
CODE

# The kernel calls all of them like the program; one has told it another name.
cat >named.py <<'CODE'
import ctypes
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
all_run = threading.Barrier(6)
def busy():
    all_run.wait()
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        pass
def renamed():
    threading.current_thread().name = "after"
    busy()
def told():
    ctypes.CDLL(None).prctl(15, b"of its own", 0, 0, 0)
    busy()
class Derived(threading.Thread):
    def __init__(self):
        self.first = None
        super().__init__(name="größer 日本")
    def run(self):
        busy()
threads = [threading.Thread(target=busy, name="worker-1"), threading.Thread(target=renamed, name="before"),
           threading.Thread(target=told, name="unseen"), Derived()]
for thread in threads:
    thread.start()
with ThreadPoolExecutor(2) as pool:
    list(pool.map(lambda _: busy(), [1, 2]))
for thread in threads:
    thread.join()
CODE
named=(worker-1 after 'of its own' 'größer 日本' ThreadPoolExecutor-0_0 ThreadPoolExecutor-0_1)
record named 0 -- "$python" named.py 1.5
judge "threads have the names that Python gave them" named.json.gz "${named[@]}" <<'CODE'
found = sorted(t["name"] for t in p["threads"] if not t["isMainThread"] and t["processName"].startswith("python"))
expect(found == sorted(args), (found, args))
CODE
# In a pid namespace, Python knows other ids of its threads.
record inner 0 -- unshare --pid --fork "$python" named.py 1.5
judge "likewise in a pid namespace" inner.json.gz "${named[@]}" <<'CODE'
found = sorted(t["name"] for t in p["threads"] if not t["isMainThread"] and t["processName"].startswith("python"))
expect(found == sorted(args), (found, args))
CODE

record off 0 --no-runtimes -- "$python" -W ignore "$tree" 0.3 recursion
judge "--no-runtimes: the interpreter's own functions" off.json.gz <<'CODE'
expect(not any(f["name"] in ("spin", "even") for _, _, _, frames in samples() for f in frames), "")
CODE

record shares 0 -- "$python" "$root/tests/workloads/python/shares.py" 1.5
cp "$tmp/.out" shares.txt
judge "shares of functions are those of their CPU time" shares.json.gz shares.txt <<'CODE'
import json
import math
spent = json.load(open(args[0]))
found = {name: within(name) for name in spent}
for name in spent:
    true, total = spent[name] / sum(spent.values()), sum(found.values())
    sigma = math.sqrt(true * (1 - true) / total)
    # A deviation of five is one in two million.
    expect(abs(found[name] / total - true) < 5 * sigma, (name, true, found))
expect(sum(found.values()) > 500, found)
CODE

# Each round makes functions with another file name, where those of the last one lay.
cat >churn.py <<'CODE'
import sys
import time
made = """def f_{n}(x):
    for i in range(20000):
        x += i
    return x
f_{n}(1)
"""
end, n = time.process_time() + float(sys.argv[1]), 0
while time.process_time() < end:
    n += 1
    exec(compile("\n" * (n % 20) + made.format(n=n), f"<made {n}>", "exec"), {})
CODE
record churn 0 -- "$python" churn.py 0.7
judge "code that replaced other code is not taken for it" churn.json.gz <<'CODE'
import re
last = found = 0
for _, _, _, frames in sorted(samples(), key=lambda sample: sample[1]):
    made = [f for f in frames if f["category"] == "Python" and (f["file"] or "").startswith("<made")]
    if not made:
        continue
    numbers = {int(re.search(r"\d+", f["file"])[0]) for f in made}
    numbers |= {int(f["name"][2:]) for f in made if f["name"].startswith("f_")}
    found += 1
    expect(len(numbers) == 1, [(f["name"], f["file"]) for f in made])
    n = max(numbers)
    expect(n >= last, f"{n} after {last}")
    last = n
    for f in made:
        if f["name"].startswith("f_"):
            expect(f["line"] is not None and n % 20 < f["line"] <= n % 20 + 4, f)
expect(found > 30, f"{found} samples in such code")
CODE

# The interpreter's frame lies below the functions that it runs, whatever a distribution left of its
# name: without the option, its samples are theirs.
record plain 0 -- "$python" -W ignore "$tree" 0.3 sort
judge "the interpreter's samples are those of its functions" plain.json.gz <<'CODE'
expect(own("spin") > 10, own("spin"))
CODE
record kept 0 --interpreter-frames -- "$python" -W ignore "$tree" 0.3 sort
judge "--interpreter-frames: they are its own" kept.json.gz <<'CODE'
expect(within("spin") > 10 and not own("spin"), (within("spin"), own("spin")))
CODE

# 0.1 s each, most of it Python's own beginning.
record short 0 -- bash -c "for i in 1 2 3 4 5 6; do $python $tree 0.05 sort >/dev/null; done"
judge "short scripts are named, each of them" short.json.gz <<'CODE'
for t in p["threads"]:
    chains = [[f["name"] for f in frames] for _, _, _, frames in samples(t)]
    if t["processName"].startswith("python") and len(chains) > 20:
        named = sum("run" in names and "sort" in names for names in chains)
        expect(named > 10, f"{t['pid']}: {named} of {len(chains)}")
expect(sum(t["processName"].startswith("python") for t in p["threads"]) >= 6, "six")
CODE
judge "once its functions are in a process's stacks, they stay there" short.json.gz <<'CODE'
for t in p["threads"]:
    has = ["Python" in {f["category"] for f in frames} for _, _, _, frames in samples(t)]
    if t["processName"].startswith("python") and sum(has) > 20:
        # Python ends with native code alone, and begins with some between its functions: up to 13 %.
        found = has[has.index(True):][:sum(has)]
        expect(sum(found) >= 0.85 * len(found), f"{t['pid']}: {sum(found)} of {len(found)}")
CODE

record nested 0 -- "$python" "$root/tests/workloads/python/interpreters.py" 1
ok "functions of an interpreter that calls another, and of that one" \
	python3 "$root/tests/python_nested.py" nested.json.gz --at-least 5

record compiled 0 -- "$python" "$root/tests/workloads/python/compiled.py" 1.5
judge "functions of compiled code, which no call of the interpreter runs" compiled.json.gz compiled.stats <<'CODE'
import collections
import json
found = collections.Counter()
for _, _, weight, frames in samples():
    names = [f["name"] for f in frames if f["category"] == "Python"]
    if "leaf" in names:
        found[tuple(names)] += weight
        expect(frames[0]["category"] != "Python", frames)
inner = ("<module>", "main", "leaf")
outer = ("compiled_main", "compiled_inner")
expect(set(found) <= {inner, outer + inner}, found)
expect(found[outer + inner] > 100, found)
r = json.load(open(args[0]))["runtimes"]
expect(r["torn"] <= 0.02 * r["whole"] + 2 and not r["abandoned"], r)
CODE

record gil 0 --gil -- "$python" "$root/tests/workloads/python/locks.py" 1
judge "--gil: what runs with the lock of the interpreter, and what without" gil.json.gz gil.stats <<'CODE'
import collections
import json
found = collections.Counter()
for _, _, weight, frames in samples():
    lock = {f["subcategory"] for f in frames if f["category"] == "Python"}
    expect(len(lock) <= 1, frames)
    inner = [f["name"] for f in frames if f["category"] == "Python"]
    found.update([(inner[-1], *lock)] if inner else [])
held, free = "With the GIL", "Without the GIL"
for name, much, little in (("spin", held, free), ("pack", free, held)):
    # Moments in which the lock is taken or given back.
    expect(found[name, much] > 10 * found[name, little] and found[name, much] > 20, found)
stats = json.load(open(args[0]))["gil"]
expect(stats["held"] > 20 and stats["free"] > 20, stats)
CODE
refuses "--gil without runtimes" 2 "--gil cannot be given with --no-runtimes" \
	"$PROF" record --gil --no-runtimes -- touch started

# Older versions do not keep the task in the thread's state.
record tasks 0 --asyncio-tasks -- "$python" "$root/tests/workloads/python/tasks.py" 0.5
judge "--asyncio-tasks: labels from 3.14 on, and all functions" tasks.json.gz "$python" <<'CODE'
import subprocess
known = subprocess.run([args[0], "-c", "import sys; print(sys.version_info >= (3, 14))"],
                       stdout=subprocess.PIPE, text=True).stdout == "True\n"
labels = [d for t in p["threads"] for d in t["markers"]["data"] if d and d["type"] == "sample label"]
expect(bool(labels) == known, labels)
expect(within("burn") > 300, within("burn"))
CODE
refuses "--asyncio-tasks without runtimes" 2 "--asyncio-tasks cannot be given with --no-runtimes" \
	"$PROF" record --asyncio-tasks --no-runtimes -- touch started

"$python" -W ignore "$tree" 1000 recursion &
busy=$!
at_exit+=("kill $busy 2>/dev/null")
ok "it works" work_on "$busy" 300
attach_for attached "$busy" 1000
judge "an attached program's functions" attached.json.gz <<'CODE'
chains = [[f["name"] for f in frames if f["category"] == "Python"] for _, _, _, frames in samples()]
expect(chains, "samples")
expect(sum(chain[:4] == ["<module>", "begin", "main", "run"] for chain in chains) > 0.9 * len(chains),
       chains[:3])
CODE
done_testing
