#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Subs of Perl between native frames, judged by the program's own tree of calls.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

source=$root/tests/workloads/perl/tree.pl
record calls 0 -F 1999 --off-cpu all -- perl "$source" 1.5
# A context is entered before it is filled: the innermost may be one that was there before.
ok "all chains are paths of the tree, recursion is as deep as it is, lines name what they call" \
	python3 "$root/tests/perl_truth.py" "$source" calls.json.gz --at-least 500 --allowed 30
judge "nearly all stacks have all their functions" calls.json.gz calls.stats <<'CODE'
import json
r = json.load(open(args[0]))["runtimes"]
expect(r["whole"] > 500, r)
expect(r["torn"] + r["unplaced"] + r["missed"] <= 0.01 * r["whole"] + 5, r)
expect(r["nameless"] + r["lost_functions"] <= 2, r)
expect(r["versions"].startswith("Perl 5."), r)
CODE
judge "native frames stand where subs call them, and the loop that runs them is left out" calls.json.gz <<'CODE'
sorts = 0
for _, _, _, frames in samples():
    names = [f["name"] for f in frames]
    # Blocks of sort() are part of their subs.
    expect("Tree::recurse" not in names or "Perl_runops_standard" not in names, names)
    expect("Tree::guarded" not in names or names.count("Perl_runops_standard") == 0, names)
    if "Tree::by_key" in names:
        at = names.index("Tree::by_key")
        sorts += "Tree::sorting_by_name" in names[:at] and "Perl_sortsv_flags" in names[:at]
expect(sorts > 50, sorts)
CODE
judge "subs have the lines of their first statements, and files" calls.json.gz "$source" <<'CODE'
spins = [f for _, _, _, frames in samples() for f in frames if f["name"] == "Tree::spin"]
expect({f["file"] for f in spins} == {args[0]}, {f["file"] for f in spins})
text = open(args[0]).read().splitlines()
at = next(i for i, line in enumerate(text) if "sub spin" in line) + 1
lines = {f["line"] for f in spins}
expect(lines <= set(range(at + 1, at + 8)) and len(lines) > 2, (at, lines))
CODE
judge "waits are in the subs that wait" calls.json.gz <<'CODE'
naps = [frames for _, _, _, frames in waits() if any(f["name"] == "main::nap" for f in frames)]
expect(len(naps) >= 15, len(naps))
for frames in naps:
    names = [f["name"] for f in frames if f["category"] == "Perl"]
    expect(names == ["(main)", "main::napping", "main::nap"], names)
CODE

cat >threads.pl <<'CODE'
use threads;
use Time::HiRes qw(clock_gettime CLOCK_THREAD_CPUTIME_ID);
sub burn { my $till = 0.4; 1 while clock_gettime(CLOCK_THREAD_CPUTIME_ID) < $till }
sub first_thread { burn() }
sub other_thread { burn() }
my $other = threads->create(\&other_thread);
first_thread();
$other->join;
CODE
record threads 0 -F 999 -- perl threads.pl
judge "each thread has its own interpreter's subs" threads.json.gz <<'CODE'
found = {"main::first_thread": set(), "main::other_thread": set()}
count = 0
for thread, _, _, frames in samples():
    names = [f["name"] for f in frames if f["category"] == "Perl"]
    for name, threads in found.items():
        if name in names:
            threads.add(thread["tid"])
            count += 1
expect(count > 200, count)
a, b = found.values()
expect(len(a) == len(b) == 1 and a != b, found)
CODE

record off 0 --no-runtimes -- perl "$source" 0.2
judge "--no-runtimes: the interpreter's own functions" off.json.gz <<'CODE'
expect(not any(f["category"] == "Perl" for _, _, _, frames in samples() for f in frames), "")
expect(within("Perl_runops_standard") > 20, within("Perl_runops_standard"))
CODE
done_testing
