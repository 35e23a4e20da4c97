#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Functions of PHP between native frames, judged by the program's own tree of calls.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

source=$root/tests/workloads/php/tree.php
record calls 0 -F 1999 --off-cpu all -- php "$source" 1.5
ok "all chains are paths of the tree, recursion is as deep as it is, lines name what they call" \
	python3 "$root/tests/php_truth.py" "$source" calls.json.gz --at-least 500 --allowed 10
judge "nearly all stacks have all their functions" calls.json.gz calls.stats <<'CODE'
import json
r = json.load(open(args[0]))["runtimes"]
expect(r["whole"] > 500, r)
expect(r["torn"] + r["unplaced"] + r["missed"] <= 0.01 * r["whole"] + 20, r)
expect(r["nameless"] + r["lost_functions"] == 0, r)
expect(r["versions"].startswith("PHP "), r)
# Stacks whose functions cannot be found in a copy are told from those that run none.
expect(r["early"] >= r["copied"], r)
CODE
judge "functions in C have their names, and call native code" calls.json.gz <<'CODE'
found = 0
for _, _, _, frames in samples():
    names = [f["name"] for f in frames]
    if "array_map" in names:
        at = names.index("array_map")
        expect(frames[at]["subcategory"] == "C function", frames[at])
        found += names[at + 1:at + 4].count("zend_call_function")
expect(found > 100, found)
CODE
judge "waits are in the functions that wait" calls.json.gz "$source" <<'CODE'
naps = [frames for _, _, _, frames in waits() if any(f["name"] == "Known\\nap" for f in frames)]
expect(len(naps) >= 20, len(naps))
for frames in naps:
    php = [f for f in frames if f["category"] == "PHP"]
    names = [f["name"] for f in php]
    expect(names == ["{main}", "Known\\napping", "Known\\nap", "usleep"], names)
    expect("usleep" in open(args[0]).read().splitlines()[php[2]["line"] - 1], php[2])
CODE

# Compiled code runs in the interpreter's frame. The compiler reserves all code at once.
jit=(-d opcache.enable_cli=1 -d opcache.jit=tracing -d opcache.jit_buffer_size=64M)
is "there is a compiler" "$(php "${jit[@]}" -r 'echo (int) (opcache_get_status()["jit"]["on"] ?? 0);')" 1
record compiled 0 -F 1999 -- php "${jit[@]}" "$source" 1.5
ok "compiled functions stand where the interpreter's do" \
	python3 "$root/tests/php_truth.py" "$source" compiled.json.gz --at-least 500 --allowed 20
judge "there are no guesses, and no frames of compiled code" compiled.json.gz compiled.stats <<'CODE'
import json
r = json.load(open(args[0]))["runtimes"]
expect(r["torn"] + r["unplaced"] + r["missed"] <= 0.01 * r["whole"] + 20, r)
php = [frames for _, _, _, frames in samples() if any(f["category"] == "PHP" for f in frames)]
# Nothing describes the function that a fiber begins with.
guessed = sum(any(f["subcategory"] == "Guess" for f in frames) and
              not any(f["name"] == "make_fcontext" for f in frames) for frames in php)
expect(guessed <= 0.01 * len(php), f"{guessed} of {len(php)}")
CODE

cat >shares.php <<'CODE'
<?php
function spin($count) { for ($sum = 0; $count > 0; $count--) $sum += $count; return $sum; }
function much() { return spin(3000); }
function little() { return spin(1000); }
for ($i = 0; $i < 30000; $i++) { much(); little(); }
CODE
record shares 0 -F 1999 -- php shares.php
judge "shares are those of the work" shares.json.gz <<'CODE'
expect(700 < 1000 * within("much") / (within("much") + within("little")) < 800, within("much"))
CODE

php "$source" 60 >/dev/null &
program=$!
wait_until test -d /proc/$program/task
attach_for attached $program 1000
kill $program
# Some instructions of Fiber::suspend() lie between two states: one sample in a thousand.
ok "attached to, it has the same chains" \
	python3 "$root/tests/php_truth.py" "$source" attached.json.gz --at-least 100 --allowed 60

record off 0 --no-runtimes -- php "$source" 0.2
judge "--no-runtimes: the interpreter's own functions" off.json.gz <<'CODE'
expect(not any(f["category"] == "PHP" for _, _, _, frames in samples() for f in frames), "")
expect(within("execute_ex") > 20, within("execute_ex"))
CODE
done_testing
