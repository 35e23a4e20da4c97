#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Go programs: stacks across the stacks that Go's runtime changes, judged by the disassembly.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
# The standard library, compiled in two ways, takes most of the time, unless Go's own cache has it.
export GO111MODULE=off GOFLAGS='' GOTOOLCHAIN=local
build() { # NAME FOLDER OPTION...
	local name=$1 folder=$2
	shift 2
	(cd "$root/tests/workloads/go/$folder" && go build -o "$tmp/$name" "$@" .)
}
# For judge(): the file of --stats. Only a stack that was copied before the program's tables were
# there may end early, and two more at most: of some 40,000 stacks of 120 recordings, 6 were broken
# that may not have been copied. None is guessed, but in C: the C library has no CFI where it makes
# threads.
stats_code='
import json
stats = json.load(open(args[0]))
early = stats["broken"] + stats["unknown"]
expect(stats["user_stacks"] > 20, stats)
expect(early <= max(stats["finished_later"], 2) and early + stats["whole"] + stats["truncated"] ==
       stats["user_stacks"], stats)
expect(stats["guessed"] <= (5 if "C" in args else 0), stats)
'
stacks_are_whole() { # NAME [CODE [C]]
	judge "$1: stacks are whole" "$1.json.gz" "$1.stats" "${@:3}" <<<"$stats_code${2-}"
}
# Every return address follows a call, of the function that the callee's address is in.
calls_are_true() { # PROGRAM NAME...
	local program=$1 name
	shift
	python3 - "$root/tests/e2e" "$program" "$(readelf -lW "$program" | awk '$1 == "LOAD" { print $3; exit }')" "$@" <<'CODE'
import sys
sys.path.insert(0, sys.argv[1])
import go_edges
path, vaddr, names = sys.argv[2], int(sys.argv[3], 16), sys.argv[4:]
program = go_edges.Program(path)
for name in names:
    edges, wrong = go_edges.judge_by(program, f"{name}.json.gz", path, vaddr)
    with open(f"{name}.edges", "w") as out:
        print(edges >= 100 and not wrong, f"{edges} edges, wrong: {dict(wrong)}", file=out)
CODE
	for name; do
		like "$name: all edges are calls" "$(<"$name.edges")" '^True '
	done
}

ok "a program without C" build runtime runtime
ok "a program with C" build cgo cgo
ok "one whose C threads call Go" build threads threads
ok "a stripped, position-independent one" build bare runtime -ldflags='-s -w' -buildmode=pie
for way in gc sort chan panic callers grow; do
	record $way 0 -- ./runtime $way 0.5
	stacks_are_whole $way
done
calls_are_true ./runtime gc sort chan panic callers grow
record recurse 0 -- ./runtime recurse 0.5
stacks_are_whole recurse 'expect(stats["truncated"] > 0, stats)'
record cgo 0 -- ./cgo 0.5
stacks_are_whole cgo '
nested = [[f["name"] for f in frames] for _, _, _, frames in samples()]
expect(any(names.count("goAgain") > 2 or names.count("main.goAgain") > 2 for names in nested),
       "Go below C below Go")
' C
calls_are_true ./cgo cgo
record threads 0 -- ./threads 0.5
stacks_are_whole threads '
called = [[f["name"] for f in frames] for _, _, _, frames in samples()]
expect(any("run" in names and "main.goWork" in names and names.count("inC") > 1
           for names in called), "Go below C below Go below C")
' C
calls_are_true ./threads threads
record bare 0 -- ./bare grow 0.5
stacks_are_whole bare

# Labels of goroutines that change threads: a sample has them, or they are a marker around it, if and
# only if it is in code that pprof.Do runs. Before the first marker the program is not known yet.
record labels 0 --go-labels -- ./runtime labels 0.5
judge "--go-labels: each sample with its goroutine's labels" labels.json.gz labels.stats <<'CODE'
import collections, json
stats = json.load(open(args[0]))
found = collections.defaultdict(dict)
for t, name, start, end, data in check_profile.markers(p):
    if data and data["type"] == "sample label":
        found[t["tid"], start, end, data["samples"]][data["key"]] = data["text"]
expect({tuple(sorted(labels.items())) for labels in found.values()} ==
       {(("do", name), ("with", "many labels")) for name in ("first", "second")}, list(found.items())[:4])
in_markers = sum(samples for *_, samples in found)
# The statistics count lost samples, too, but none of a thread that exits: it has no stack any more.
expect(-stats["lost"] <= in_markers - stats["go_labels"]["labelled"] <= stats["exiting"],
       f"{in_markers} samples in markers: {stats}")
expect(stats["go_labels"]["unreadable"] == 0, stats["go_labels"])
right = 0
for t, time, _, frames in samples():
    names = {f["name"] for f in frames}
    around = [labels["do"] for (tid, start, end, _), labels in found.items()
              if tid == t["tid"] and start <= time < end]
    expect(len(around) <= 1, f"{time}: {around}")
    if time < min(start for _, start, *_ in found) + 50:
        continue
    for name in ("first", "second"):
        is_labelled = around == [name]
        expect(not "main." + name in names or is_labelled, f"{time}: {around} in {names}")
        # The scheduler works for the goroutine, too, and lies below no function of its: when it
        # leaves, and when execute() is about to switch to it. A thread that is being killed has
        # no stack of its program left.
        expect(not is_labelled or names & {"main." + name, "runtime/pprof.Do", "runtime.mcall",
                                           "runtime.execute", "do_exit"},
               f"{time}: {around} in {names}")
        right += is_labelled
expect(right > 20, f"{right} samples with labels")
CODE
record unlabelled 0 -- ./runtime labels 0.2
judge "no labels unless asked for" unlabelled.json.gz <<<'
expect(not any(data and data["type"] == "sample label" for *_, data in check_profile.markers(p)), "labels")'

# Without symbols and DWARF.
record names 0 -- ./bare inline 0.5
stacks_are_whole names
judge "stripped: names, lines, inlined calls" names.json.gz \
	"$(grep -n 'return x' "$root/tests/workloads/go/runtime/main.go" | cut -d: -f1)" \
	"$(grep -n '^func mix' "$root/tests/workloads/go/runtime/main.go" | cut -d: -f1 | xargs)" <<'CODE'
wanted = ["runtime.goexit", "runtime.main", "main.main", "main.inlines", "main.mixer", "main.mix"]
found = [frames for _, _, _, frames in samples() if frames and frames[-1]["name"] == "main.mix"]
# All of them are right; how many the half second has depends on the machine.
expect(len(found) > 5, f"{len(found)} samples in main.mix")
# Few may end early, see above: they have the innermost frames.
early = [names for names in ([f["name"] for f in frames] for frames in found) if names != wanted]
expect(all(names == wanted[-len(names):] for names in early), early)
expect(len(early) < len(found) / 4, early)
expect({frames[-1]["line"] for frames in found} == {int(args[0])}, found[0][-1])
expect(found[0][-1]["file"].endswith("go/runtime/main.go"), found[0][-1])
shared = p["shared"]
starts = {shared["stringArray"][name]: line for name, line in
          zip(shared["funcTable"]["name"], shared["funcTable"]["lineNumber"])}
expect(f"{starts['main.mix']} {starts['main.mixer']}" == args[1], starts)
CODE
build heap heap
record heap 0 --alloc=pages:128K -- ./heap
judge_heap heap 0.5
# Feedback for Go's compiler: it devirtualizes the two calls that one target takes most of the time.
# The wrapper of a method must not be taken for the method.
ok "interfaces, closures, generics" build shapes pgo
ok "the same, stripped" build shapes-bare pgo -ldflags='-s -w'
record shapes 0 -- ./shapes 1
record shapes-bare 0 -- ./shapes-bare 1
"$PROF" convert --no-config -o bare.pb.gz shapes-bare.json.gz
"$PROF" convert --no-config -o all.pgo shapes.json.gz cgo.json.gz
# By the compiler's own option: -pgo would compile the standard library once more for each profile.
for file in bare.pb.gz all.pgo; do
	(cd "$root/tests/workloads/go/pgo" &&
		go build -gcflags="-m=2 -pgoprofile=$tmp/$file" -o "$tmp/built" .) >built.log 2>&1
	is "$file: Go's compiler sees where calls lead" \
		"$(sed -n 's/.*: PGO devirtualizing \(.*\)/\1/p' built.log | sort)" \
		$'function call f to mixed\ninterface call s.area to square.area'
done
done_testing
