#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof script, and profiles of other tools in the commands that read profiles. Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

corpus=$root/tests/fuzz/corpus
text=$corpus/perf_script/samples.txt

run "$PROF" script "$text"
is "script: exit status" "$status" 0
is "script prints what it was made of" "$out" "cc1 812/813 [003] 0.000000:     250000 cpu-clock: 
	            7f12 copy (/lib/libc.so)
	            4e07 main (/bin/cc1)

cc1 812/812 [001] 0.000250:     500000 cpu-clock: 
	ffffffff81000000 [unknown] ([kernel.kallsyms])
	            4e07 f(int) ([unknown])
	            4e07 main (/bin/cc1)

FS Broker 5858/5858 0.000589:          7 page-faults: 
	            4e07 main (/bin/cc1)"
run "$PROF" script --fields comm,tid,sym "$text"
like "script prints the fields that are asked for" "$out" 'cc1 813 
	copy
	main'
run "$PROF" script --event page-faults "$text"
unlike "script prints the samples that are asked for" "$out" cpu-clock
refuses "a field that is none" 2 '--fields nonsense: unknown field' "$PROF" script -F nonsense "$text"
refuses "no sample counts" 125 'the heaviest threads: FS Broker, cc1$' "$PROF" script --thread nobody "$text"
for command in report script 'convert -o x.svg'; do
	# shellcheck disable=SC2086 # words
	refuses "$command: no process of that name" 125 'the heaviest processes: (FS Broker, )?cc1$' \
		"$PROF" $command --process nobody "$text"
done
# Each reader says what is wrong, and leaves nothing half made.
for damage in '{"nodes":[' '{"profiles":[' '{"meta":{"version":30},"threads":[{"stringTable":' \
	'{"meta":{"preprocessedProfileVersion":30},"threads":[' $'main;work 3\nno number' \
	$'\n\x02\b\x01\x12\x09' '{"nodes":[{"id":1}],"samples":[2],"timeDeltas":[1]}'; do
	printf '%s' "$damage" >damaged
	refuses "damage: ${damage@Q}" 125 'damaged: ' "$PROF" info damaged
done
refuses "no such file" 125 'No such file' "$PROF" script nowhere.json

# Its lines are a profile again.
"$PROF" script "$golden/simple.json" >lines.txt
is "script's own text says the same" "$("$PROF" convert lines.txt --to folded -o - | sort)" \
	"$("$PROF" convert "$golden/simple.json" --to folded -o - | sort)"

printf 'main;_ZN3foo3barEi;_D1a3fibFiZi 10\nmain;plain 5\n' >mangled.folded
is "names of other tools are demangled" "$("$PROF" convert mangled.folded --to folded -o -)" \
	$'main;foo::bar;a.fib 10\nmain;plain 5'

# Stacks are the same after a way through another format.
for file in pprof/cpu.pb gecko/new.json speedscope/both.json; do
	ok "$file: as stacks" "$PROF" convert "$corpus/$file" --include-idle -o before.folded
	ok "$file: as a profile" "$PROF" convert "$corpus/$file" -o between.json
	ok "$file: as stacks again" "$PROF" convert between.json --include-idle -o after.folded
	is "$file: nothing was lost" "$(<after.folded)" "$(<before.folded)"
done
ok "stacks are compared" "$PROF" diff "$corpus/folded/stacks.txt" "$corpus/folded/stacks.txt"
run "$PROF" report "$corpus/pprof/cpu.pb"
like "a profile without times says so" "$out" 'times: none: samples follow one another'
run "$PROF" symbolize -q "$corpus/gecko/new.json" -o named.json
is "another tool's profile is named: exit status" "$status" 0
ok "it has become a processed profile" "$PROF" info named.json

# More samples than a chunk of rows holds, none twice and none lost.
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "cc1 812/%d [001] %d.%06d:    1000000 cpu-clock: \n\t            4e07 f%d (/bin/cc1)\n\n",
	812 + i % 3, i / 1000, i % 1000 * 1000, i % 7 }' >many.txt
"$PROF" script many.txt >again.txt
ok "many samples: script prints each as it was" cmp many.txt again.txt

done_testing
