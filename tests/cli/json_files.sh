#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# speedscope's files and V8's CPU profiles: how long each function lasted, and in which unit; and
# that a file in speedscope's format says what it was made of. Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

rows() { # FILE ARGUMENT...
	"$PROF" report --no-config --format csv --unit percent "$@" | cut -d, -f1,5,7 | tr -d '"' | tail -n +2
}
summary() { # FILE ARGUMENT...
	"$PROF" report --no-config "$@" | head -1
}
scope() { # UNIT START END PROFILE
	# shellcheck disable=SC2016 # the name of a member
	printf '{"$schema": "https://www.speedscope.app/file-format-schema.json",
		"shared": {"frames": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}, "profiles": [
		{"name": "t", "unit": "%s", "startValue": %s, "endValue": %s, %s}]}' "$@"
}

scope milliseconds 0 100 '"type": "evented", "events": [
	{"type": "O", "frame": 0, "at": 0}, {"type": "O", "frame": 1, "at": 10}]' >open.json
is "open at the end: until the end" "$(rows open.json)" $'b,90,0\na,10,0'
is "open at the end: the length, and the name" "$(summary open.json)" \
	'speedscope: 0.100 s, 2 samples of clock (100,000 ticks), 100.0 % named'
scope milliseconds 0 40 '"type": "evented", "events": [{"type": "O", "frame": 0, "at": 0}, {"type": "O", "frame": 1, "at": 10},
	{"type": "C", "frame": 0, "at": 20}, {"type": "C", "frame": 1, "at": 40}]' >unmatched.json
refuses "the end of another function" 125 'a function ends that is not the innermost one' \
	"$PROF" report --no-config unmatched.json
scope milliseconds 0 40 '"type": "evented", "events": [{"type": "C", "frame": 0, "at": 20}]' >unopened.json
refuses "the end of a function that did not begin" 125 'a function ends' "$PROF" report --no-config unopened.json
scope bytes 0 3145728 '"type": "sampled", "samples": [[0], [0, 1]], "weights": [1048576, 2097152]' >bytes.json
is "bytes" "$(summary bytes.json)" 'speedscope: 2 samples of bytes (3.1 MB), 100.0 % named'
refuses "bytes are no time" 2 'do not measure time' "$PROF" report --no-config --unit ms bytes.json
scope milliseconds 0 100 '"type": "sampled", "samples": [[0], [1], [0]], "weights": [1, 98, 1]' >weights.json
is "times as weights have the error of so many samples" "$(rows weights.json)" $'b,98,55.17081989\na,2,55.17081989'
scope milliseconds 0 20.5 '"type": "sampled", "samples": [[0], [2]], "weights": [0.5, 20]' >finer.json
"$PROF" convert --no-config weights.json finer.json -o joined.json
is "files with different intervals of measured times can be joined" "$(summary joined.json)" \
	"speedscope: 0.100 s, 5 samples of clock (241 ticks), 100.0 % named"
is "each time has the weight that it had" "$("$PROF" report --no-config --format csv --unit ms joined.json | cut -d, -f1,5 | tr -d '"' | tail -n +2)" \
	$'b,98\nc,20\na,2.5'
is "and compared in one profile" "$("$PROF" diff --no-config -o - weights.json finer.json | gunzip |
	python3 -c 'import json, sys; p = json.load(sys.stdin); print(p["meta"]["interval"], [sum(t["samples"]["weight"]) for t in p["threads"]])')" \
	"0.5 [100, 20.5, -79.5]"

# V8: a sample lasts until the next one.
printf '{"nodes": [{"id": 1, "callFrame": {"functionName": "(root)"}, "children": [2, 3]},
	{"id": 2, "callFrame": {"functionName": "quick"}}, {"id": 3, "callFrame": {"functionName": "blocking"}}],
	"startTime": 1000000, "endTime": 1110000, "samples": [2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2],
	"timeDeltas": [1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 90000]}' >uneven.cpuprofile
is "V8: uneven samples" "$(rows uneven.cpuprofile | cut -d, -f1,2)" $'blocking,82.56880734\nquick,17.43119266\n(root),0'
like "V8: the error is that of ten samples" "$(rows uneven.cpuprofile)" 'blocking,82.56880734,26.9'
is "V8: the length is the file's" "$(summary uneven.cpuprofile)" \
	'V8: 0.110 s, 11 samples of clock (109 ticks), 100.0 % named'
"$PROF" convert --no-config uneven.cpuprofile -o uneven.json.gz
"$PROF" convert --no-config uneven.cpuprofile -o again.cpuprofile
is "V8: written and read again" "$(rows again.cpuprofile)" "$(rows uneven.cpuprofile)"
"$PROF" convert --no-config -q "$golden/threads.json" -o threads.cpuprofile 2>notice
like "V8: one thread" "$(<notice)" 'the file has one thread'
is "V8: nodes, samples and their times" "$(python3 -c 'import json, sys
p = json.load(sys.stdin)
names = {n["id"]: n["callFrame"]["functionName"] for n in p["nodes"]}
print([names[s] for s in p["samples"]], p["timeDeltas"], p["startTime"], p["endTime"], sum(n["hitCount"] for n in p["nodes"]))
print(p["nodes"][0]["children"][:2])' <threads.cpuprofile)" \
	$'[\'(idle)\', \'0x10\', \'(idle)\', \'0x10\'] [0, 3000, 1000, 5000] 0 10000 10\n[2, 3]'
is "V8: the same by way of the Firefox Profiler's format" "$(rows uneven.json.gz)" "$(rows uneven.cpuprofile)"

# Names of threads do not get their tids when a profile is read.
"$PROF" convert --no-config "$golden/collapsed.json" -o again.folded
is "collapsed stacks are those of the recording" "$(<again.folded)" "$(<"$root/tests/golden/collapsed/out.folded")"
run "$PROF" report --no-config --thread 'worker 5' --by thread --format csv "$golden/collapsed.json"
is "a filter takes the name" "$(cut -d, -f1,2 <<<"$out")" $'thread,tid\n"worker 5",52\n"worker 5",51'
run "$PROF" report --no-config --by thread --format csv "$golden/collapsed.json"
like "the title has the tid" "$out" '"worker 5 52"'

# speedscope's format, and back.
for name in threads waits events allocs rename inline; do
	"$PROF" convert --no-config "$golden/$name.json" -o "$name.speedscope.json"
	for by in thread function; do
		fields=1-6
		[ $by = thread ] && fields=1-8
		"$PROF" report --no-config --include-idle --by $by --format csv "$golden/$name.json" | cut -d, -f$fields |
			sed 's/,0x[0-9a-f]*//' | sort >wanted
		"$PROF" report --no-config --include-idle --by $by --format csv "$name.speedscope.json" | cut -d, -f$fields | sort >got
		if [ $by = function ]; then
			for file in wanted got; do
				cut -d, -f1,5,6 $file | sort >columns
				mv columns $file
			done
		fi
		is "$name: the same by $by" "$(<got)" "$(<wanted)"
	done
done
is "speedscope: threads last as long as the recording, with samples at their times" \
	"$(python3 -c 'import json, sys
for part in json.load(sys.stdin)["profiles"][-2:]:
    print(part["samples"], part["weights"], part["endValue"])' <threads.speedscope.json)" \
	$'[[], [0], [0], []] [2, 1, 1, 6] 10\n[[], [2], []] [4, 1, 5] 10'
for file in uneven.cpuprofile "$golden/threads.json"; do
	"$PROF" convert --no-config "$file" -o again.speedscope.json
	is "speedscope: the duration of ${file##*/} stays" "$("$PROF" info --no-config again.speedscope.json | grep Duration)" \
		"$("$PROF" info --no-config "$file" | grep Duration)"
done
python3 "$root/tests/cli/pprof_file.py" make micro micro.pb.gz
"$PROF" convert --no-config micro.pb.gz -o micro.speedscope.json
is "speedscope: times have its unit, however a file spells theirs" "$(grep -o '"unit":"[a-z]*"' micro.speedscope.json)" \
	'"unit":"microseconds"'
printf 'help 7/8 1.000: 1 page-faults: \n\t1 x (/a)\n\na 7/7 1.001: 1000000 cpu-clock: \n\t1 y (/a)\n\n' >faults-first.txt
"$PROF" convert --no-config faults-first.txt -o faults-first.speedscope.json
is "speedscope: the clock is shown, also after another event" "$(rows faults-first.speedscope.json)" "$(rows faults-first.txt)"
"$PROF" convert --no-config bytes.json -o again.speedscope.json
is "bytes stay bytes" "$(summary again.speedscope.json)" "$(summary bytes.json)"
done_testing
