#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files of OpenTelemetry's profiles: times, threads, processes, labels and units are those of the
# file. Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

for name in host several sums heap old; do
	python3 "$root/tests/cli/otlp_file.py" $name $name.otlp
done

run "$PROF" info --no-config host.otlp
like "a host: times, interval and samples" "$out" \
	'Format +otlp.* Start +2023-11-14 22:13:20 UTC.* Duration +0\.200 s.* Interval +50 ms.* Processes +2.* Samples +4, 4 ticks'
like "a host: threads and waits" "$out" \
	'off_cpu +2 samples, 15000000 nanoseconds.* main +in app: 11.* other +in app: 12.* c0ffee +0'
like "a host: modules" "$out" ' app +[0-9]+ of'
run "$PROF" script --no-config host.otlp
like "a host: order of time, CPUs, inlined and unnamed code" "$out" \
	'^c0ffee .*main 11/11 \[003\] 0\.05.* leaf \(inlined\).* work .*\(/bin/app\).*other 11/12 0\.06.* 7000000 off_cpu.*other 11/12 0\.10.* sys_read .*main 11/11 \[003\] 0\.15'
"$PROF" convert --no-config host.otlp -o host.pb.gz
python3 "$root/tests/cli/pprof_file.py" show host.pb.gz >shown
like "a host: labels and the trace" "$(<shown)" 'sample \[1, 50000000, 0\] sys_read k\.c:1 of 0;0x1234 \[pid=11, request="alpha", size=512bytes, span_id="0102030405060708", thread="other", tid=12, trace_id="0102030405060708090a0b0c0d0e0f10"\]'
"$PROF" convert --no-config host.otlp -o host.json
like "a host: attributes of the process" "$(<host.json)" 'service\.name=shop%2C%20west,k8s\.pod\.name=p'

run "$PROF" info --no-config several.otlp
like "several messages, each after its size" "$out" 'Samples +8, 8 ticks.*off_cpu +4 samples, 30000000 nanoseconds'
head -c -3 several.otlp >cut.otlp
refuses "a cut message" 125 'cut\.otlp: .*(cut off|not a profile)' "$PROF" report --no-config cut.otlp

run "$PROF" info --no-config sums.otlp
like "sums that are multiples of the period are the clock's" "$out" 'Duration +0\.050 s.*Interval +10 ms.*Samples +2, 4 ticks.* main +in OpenTelemetry: 5'
like "a thread without a name" "$out" ' +6'
run "$PROF" report --no-config heap.otlp
like "bytes are bytes, and marks of classes no part of them" "$out" '^OpenTelemetry: 3\.000 s, 2 samples of alloc \(4\.2 MB\).*75\.0 % +byte\[\] '
refuses "an older draft" 125 'old\.otlp: the OpenTelemetry profiles are of an older draft' "$PROF" report --no-config old.otlp
printf '{"resourceProfiles":[]}' >json.otlp
refuses "JSON" 125 'OpenTelemetry profiles as JSON' "$PROF" report --no-config json.otlp
done_testing
