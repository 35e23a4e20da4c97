#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Methods and blocks of Ruby between native frames, judged by the program's own tree of calls.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

source=$root/tests/workloads/ruby/tree.rb
record calls 0 -F 1999 --off-cpu all -- ruby "$source" 1.5
ok "all chains are paths of the tree, recursion is as deep as it is, lines name what they call" \
	python3 "$root/tests/ruby_truth.py" "$source" calls.json.gz --at-least 500 --allowed 10
judge "nearly all stacks have all their functions" calls.json.gz calls.stats <<'CODE'
import json
r = json.load(open(args[0]))["runtimes"]
expect(r["whole"] > 500, r)
expect(r["torn"] + r["unplaced"] + r["missed"] <= 0.01 * r["whole"] + 5, r)
expect(r["nameless"] + r["lost_functions"] <= 2, r)
expect(r["versions"].startswith("Ruby "), r)
CODE
judge "methods in C have their names, and call native code" calls.json.gz <<'CODE'
found = 0
for _, _, _, frames in samples():
    names = [f["name"] for f in frames]
    if "Array#each" in names:
        at = names.index("Array#each")
        expect(frames[at]["subcategory"] == "C method", frames[at])
        found += names[at + 1:at + 5].count("rb_ary_each")
expect(found > 100, found)
CODE
judge "waits are in the methods that wait" calls.json.gz "$source" <<'CODE'
naps = [frames for _, _, _, frames in waits() if any(f["name"] == "Object#nap" for f in frames)]
expect(len(naps) >= 20, len(naps))
for frames in naps:
    ruby = [f for f in frames if f["category"] == "Ruby"]
    names = [f["name"] for f in ruby]
    expect(names == ["block in <main>", "Object#napping", "Object#nap", "Kernel#sleep"], names)
    expect(ruby[2]["line"] and "sleep" in open(args[0]).read().splitlines()[ruby[2]["line"] - 1], ruby[2])
CODE

# Threads have no functions before their first and after their last, while they wait for the lock.
cat >threads.rb <<'CODE'
def cpu_time
  Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
end
def hot
  3000.times { |i| i * 3 }
end
till = cpu_time + 0.6
Array.new(4) { Thread.new { hot } }.each(&:join) while cpu_time < till
CODE
record threads 0 -F 1999 -- ruby threads.rb
judge "stacks of threads that begin or have ended lack no functions" threads.json.gz threads.stats <<'CODE'
import json
r = json.load(open(args[0]))["runtimes"]
expect(r["whole"] > 200, r)
expect(r["torn"] <= 0.01 * (r["whole"] + r["threadless"]) + 5, r)
begun = [frames for _, _, _, frames in waits() if any(f["name"] == "Object#hot" for f in frames)]
expect(begun, "no wait for the lock in a function")
CODE

# Another program, whose methods are compiled while it runs.
source=$root/tests/workloads/ruby/mill.rb
record compiled 0 -F 1999 -- ruby --yjit "$source" 1.5
# Compiled code links a frame before it has filled it: the innermost may be one that was there before.
ok "compiled methods stand where the interpreter's do" \
	python3 "$root/tests/ruby_truth.py" "$source" compiled.json.gz --at-least 500 --allowed 40
judge "there are no guesses, and no frames of compiled code" compiled.json.gz compiled.stats <<'CODE'
import json
r = json.load(open(args[0]))["runtimes"]
expect(r["torn"] + r["unplaced"] + r["missed"] <= 0.01 * r["whole"] + 5, r)
ruby = [frames for _, _, _, frames in samples() if any(f["category"] == "Ruby" for f in frames)]
guessed = sum(any(f["subcategory"] == "Guess" for f in frames) for frames in ruby)
expect(guessed <= 0.01 * len(ruby), f"{guessed} of {len(ruby)}")
CODE

source=$root/tests/workloads/ruby/tree.rb
record off 0 --no-runtimes -- ruby "$source" 0.2
judge "--no-runtimes: the interpreter's own functions" off.json.gz <<'CODE'
expect(not any(f["category"] == "Ruby" for _, _, _, frames in samples() for f in frames), "")
expect(within("ruby_run_node") > 20, within("ruby_run_node"))
CODE
done_testing
