#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --unwind: what each method finds, and what it says of what it does not.
. "$(dirname "$0")/lib.sh"
nofp=$workloads/nofp

# For judge(): the file of --stats, and ticks of what has a user side.
stats_code='
import json
stats = json.load(open(args[0]))
can_be_whole = sum(stats[c] for c in ("whole", "truncated", "broken", "unknown"))
found = samples()
names = [[f["name"] for f in frames] for _, _, _, frames in found]
guesses = sum(any(f["subcategory"] == "Guess" for f in frames) for _, _, _, frames in found)
panel = {e["label"]: e["value"] for s in p["meta"]["extra"] if s["label"] == "Unwinding"
         for e in s["entries"]}
'
judge_stats() { # DESCRIPTION NAME <CODE
	judge "$1" "$2.json.gz" "$2.stats" < <(echo "$stats_code" && cat)
}
for method in auto cfi fp none; do
	# Code without CFI that has the frame pointer changed, and code with CFI below it.
	record $method 0 --unwind=$method -- "$nofp/no_cfi"
	judge "$method: the method in meta" $method.json.gz unwind-$method \
		<<<'expect(args[0] in p["meta"]["configuration"]["features"], p["meta"]["configuration"])'
	is "$method: the method in --stats" "$(stat_of $method unwind)" $method
	case $method in
	auto) like "auto: the summary" "$err" 'stacks: (99|100)\.[0-9] % whole \(.*9[0-9]\.[0-9] % with guesses\)' ;;
	cfi) like "cfi: the summary" "$err" '% whole.*, 9[0-9]\.[0-9] % broken' ;;
	fp) like "fp: the summary" "$err" 'stacks: by frame pointers' ;;
	none) ok "none: the summary" test "${err/ whole/}" = "$err" ;;
	esac
done
judge_stats "auto: past code without CFI by a guess, which is shown as one" auto <<'CODE'
expect(stats["whole"] >= 0.99 * can_be_whole and can_be_whole > 250, stats)
expect(stats["guessed"] > 0.95 * can_be_whole and guesses == stats["guessed"], (guesses, stats))
at_call = [f["subcategory"] for _, _, _, frames in found for f, g in zip(frames, frames[1:])
           if (f["name"], g["name"]) == ("calling", "without_cfi")]
others = [f["subcategory"] for _, _, _, frames in found for f in frames if f["name"] != "calling"]
expect(at_call.count("Guess") == len(at_call) > 250, at_call[:9])
expect(others.count("Guess") <= 2, others.count("Guess"))
expect(panel["Whole stacks"] >= 0.99 and panel["With guessed frames"] > 0.95, panel)
expect(panel["Tables"] == stats["unwind_tables"] > 0 and panel["Rows"] == stats["unwind_rows"] > 1000
       and panel["Kernel memory"] == stats["unwind_bytes"] > 0, (panel, stats))
CODE
judge_stats "cfi: it ends there, and guesses nothing" cfi <<'CODE'
expect(stats["broken"] > 0.95 * can_be_whole and can_be_whole > 250, stats)
expect(stats["guessed"] == guesses == 0, (guesses, stats))
below = sum("without_cfi" in stack and "main" in stack for stack in names)
expect(below == 0, below)
CODE
for method in fp none; do
	judge_stats "$method: no tables, no claims" $method <<'CODE'
expect(stats["unknown"] == can_be_whole > 250 and guesses == 0, stats)
expect(stats["unwind_tables"] == stats["unwind_rows"] == stats["unwind_bytes"] == 0, stats)
expect("Whole stacks" not in panel and "Tables" not in panel, panel)
CODE
done

record chain 0 --unwind=fp -- "$workloads/recursion" 60
judge_stats "fp: where there are frame pointers, all frames" chain <<'CODE'
whole = sum(stack.count("recurse") == 60 and "bottom" in stack and "main" in stack
            for stack in names)
expect(whole > 0.97 * len(names) > 250, f"{whole} of {len(names)}")
CODE
record nothing 0 --unwind none -- "$workloads/recursion" 60
judge_stats "none: of user code only where it was interrupted" nothing <<'CODE'
for _, _, _, frames in found:
    physical = [f for f in frames if f["category"] == "User" and f["inlineDepth"] == 0]
    expect(len(physical) <= 1, [f["name"] for f in frames])
inside = sum("bottom" in stack for stack in names)
expect(inside > 0.75 * len(names) and len(names) > 250, f"{inside} of {len(names)}")
CODE
record tables 0 --unwind=cfi -- /usr/bin/python3 -c 'sum(i * i for i in range(4000000))'
judge_stats "cfi: a program of the distribution needs nothing else" tables <<'CODE'
expect(stats["whole"] >= 0.99 * can_be_whole > 100 and stats["guessed"] == 0, stats)
CODE

# Half of a shard is no room for the tables of this program; it has frame pointers.
record roomy 0 -- "$workloads/many_rows"
judge_stats "a program with a million rows: they are used" roomy <<'CODE'
expect(stats["unwind_rows"] > 1000000 and stats["unwind_bytes"] > 4 << 20, stats)
expect(stats["whole"] >= 0.99 * can_be_whole > 250 and stats["unwind_refused"] == 0, stats)
CODE
record tight 0 --unwind-memory 4M -- "$workloads/many_rows"
like "--unwind-memory: what found no room is told" "$err" "1 unwind tables found no room"
judge_stats "--unwind-memory: no more is taken, stacks are found by other means" tight <<'CODE'
expect(0 < stats["unwind_rows"] < 1000000 and 0 < stats["unwind_bytes"] <= 4 << 20, stats)
expect(stats["unwind_refused"] == 1 and panel["Tables without room"] == 1, (stats, panel))
expect(stats["whole"] >= 0.99 * can_be_whole > 250, stats)
CODE
refuses "--unwind=dwarf" 2 'must be auto, cfi, fp or none' "$PROF" record --unwind=dwarf -- touch started
refuses "--unwind-memory 1M" 2 'between 4M and 4G' "$PROF" record --unwind-memory 1M -- touch started

done_testing
