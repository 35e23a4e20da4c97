#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof push and prof fleet, and profiles that come back from an engine. Needs no root.
#
# May run beside others.
. "$(dirname "$0")/../e2e/lib.sh"

mkdir engine
start python3 "$root/tests/fake_engine.py" engine
server=$started
wait_until test -s engine/port
at=clickhouse+http://127.0.0.1:$(<engine/port)
url=$at/many
file=$golden/waits.json
# Rows of a report, which are in no order where they weigh the same, without the errors of sampling.
rows() { # FILE [OPTION...]
	"$PROF" report --limit 0 --format json --include-idle "$@" | grep '^{"function"' | sed 's/, "self_error.*//' | sort
}

run "$PROF" push "$file" "$url"
is "no tables: exit status" "$status" 125
like "says what to do" "$err" 'the database many has no prof tables.*run: prof fleet init'
run "$PROF" fleet init "$url"
is "init: exit status" "$status" 0
like "init says what it made" "$err" 'created the tables of many, version 1'
like "once more" "$("$PROF" fleet init "$url" 2>&1)" 'already exist'
refuses "nothing in them" 125 'many has no matching samples' "$PROF" report "$url"

run "$PROF" push --host h1 --service web --label release=1 "$file" "$url"
is "push: exit status" "$status" 0
like "says what it sent" "$err" 'sent [0-9]+ windows? with [0-9]+ samples of web'
wanted=$(rows "$file")
like "there is something to compare" "$wanted" function
is "what comes back is what was sent" "$(rows "$url")" "$wanted"
run "$PROF" push --host h1 --service web --label release=1 "$file" "$url"
like "what is there is not sent again" "$err" 'already has all samples'
is "and counts once" "$(rows "$url")" "$wanted"

hostile=$'a\'b\\"; DROP TABLE prof_samples; -- \e[31m%00'
run "$PROF" push --host "h'2" --service "$hostile" --label "release=2')" "$golden/simple.json" "$url"
is "hostile names: exit status" "$status" 0
is "they choose what they name" "$(rows "$url?host=h%272&label.release=2%27)")" "$(rows "$golden/simple.json")"
is "and nothing else" "$(rows "$url?service=web")" "$wanted"
refuses "they are not a part of a statement" 125 'no matching samples' "$PROF" report "$url?service=x%27%20OR%201=1%20--%20"
run "$PROF" fleet services "$url"
like "services" "$out" 'web +1 '
unlike "no name steers the terminal" "$out" $'\e'
is "--json has the names as they are" "$("$PROF" fleet services --json "$url" |
	python3 -c 'import json, sys; print(sorted(row["service"] for row in json.load(sys.stdin))[0])')" "$hostile"
run "$PROF" fleet hosts "$url?host=h1"
like "hosts" "$out" 'h1 +[0-9]+ +[0-9]+ +'
run "$PROF" fleet windows "$url?label.release=1"
like "windows" "$out" 'h1 .*release=1'
unlike "not those of others" "$out" "h'2"
run "$PROF" fleet tables "$url"
is "tables: exit status" "$status" 0
like "samples: rows, bytes, days, growth a day" "$out" 'prof_samples +([0-9]+) +([0-9]+) +[1-9] +[0-9]+ +[0-9]+ +unlimited'
like "says how to limit them" "$err" 'kept for ever.*ALTER TABLE prof_samples MODIFY TTL time'
python3 - "$at" <<'CODE'
import sys, urllib.request
address = sys.argv[1].replace("clickhouse+", "") + "/?database=many"
urllib.request.urlopen(address, b"ALTER TABLE prof_samples MODIFY TTL time + toIntervalDay(30)").read()
CODE
run "$PROF" fleet tables --json "$url"
is "sums and retention are the engine's" "$(python3 -c 'import json, sys
rows = {row["table"]: row for row in json.load(sys.stdin)}
samples = rows["prof_samples"]
print(sorted(rows), samples["retention"], samples["rows"] > 0,
      samples["rows_per_day"] == samples["rows"] // samples["days"],
      samples["bytes_per_day"] == samples["bytes"] // samples["days"], rows["prof_windows"]["retention"])' <<<"$out")" \
	"['prof_samples', 'prof_schema', 'prof_stacks', 'prof_windows'] time + toIntervalDay(30) True True True unlimited"
is "no advice where there is a limit" "$("$PROF" fleet tables "$url" 2>&1 >/dev/null)" ""
refuses "a time without a window" 125 'no matching samples' "$PROF" report "$url?to=2001-01-01"
run "$PROF" convert "$url?by=host" -o many.json
is "convert: exit status" "$status" 0
is "threads are hosts" "$(python3 -c 'import json; print(sorted(t["name"] for t in json.load(open("many.json"))["threads"]))')" \
	"[\"h'2\", 'h1']"
ok "it is a profile" python3 "$root/tests/check_profile.py" many.json
like "info" "$("$PROF" info "$url")" 'Hosts +2'

start "$PROF" view --no-open --firefox "$url" >view.out 2>view.err
wait_until grep -q from-url view.out
ok "view serves it" python3 -c 'import json, re, sys, urllib.parse, urllib.request
address = urllib.parse.unquote(re.search("from-url/([^/]*)/", open("view.out").read())[1])
names = [t["name"] for t in json.load(urllib.request.urlopen(address))["threads"]]
sys.exit("web" not in names)'
kill "$started"
wait "$started" 2>/dev/null

# A host whose clock ticks at another rate.
python3 -c 'import json, sys
profile = json.load(open(sys.argv[1]))
profile["meta"]["interval"] *= 2
json.dump(profile, open("slower.json", "w"))' "$golden/simple.json"
interval=$(python3 -c 'import json; print(json.load(open("slower.json"))["meta"]["interval"])')
run "$PROF" push -q --host h3 --service slow slower.json "$url"
is "a profile of another rate: exit status" "$status" 0
is "--quiet" "$err" ""
run "$PROF" report "$url"
is "rates do not add up: exit status" "$status" 125
like "says how to choose one" "$err" 'ticks of 2 different intervals.*interval='
is "one of them" "$(rows "$url?interval=$interval")" "$(rows slower.json)"
is "those of one service" "$(rows "$url?service=slow")" "$(rows slower.json)"

printf 's3cret\nmore\n' >password
run "$PROF" fleet hosts "${url/127/reader@127}?password-file=$PWD/password"
is "user and password" "$(<engine/user)" "reader s3cret"
refuses "a password in the address" 125 'put it in a file' "$PROF" report "${url/127/reader:s3cret@127}"
refuses "a database that is none" 2 'of letters, digits and _' "$PROF" fleet init "$at/a;b"
refuses "a part of it that push cannot have" 2 'the only key allowed here is password-file' "$PROF" push "$file" "$url?host=x"
refuses "nothing to do" 2 'init, services, hosts, windows or tables' "$PROF" fleet drop "$url"
refuses "no address" 2 'address is missing' "$PROF" fleet hosts
refuses "no such file" 125 'No such file' "$PROF" push nowhere "$url"
refuses "no time of recording" 125 'no recording time' "$PROF" push "$root/tests/fuzz/corpus/perf_script/samples.txt" "$url"

collector=${at/clickhouse/otlp}
mkdir engine/each
run "$PROF" push --host h1 --service "$hostile" --label release=1 "$file" "$collector?password-file=$PWD/password"
is "push to a collector: exit status" "$status" 0
is "type and token, no other header" "$(<engine/headers)" "application/x-protobuf Bearer s3cret None"
run python3 "$root/tests/otlp_rules.py" engine/each/*
is "the messages keep the rules" "$status" 0
diagnose "$err"
messages=$out
out=$(grep '"samples"' <<<"$messages")
"$PROF" report --limit 0 --format json --by function "$file" >report.json
is "its sums are those of the profile, without waits" \
	"$(python3 -c 'import collections, json, sys
sums = collections.Counter()
for row in json.load(open("report.json"))["rows"]: sums[row["function"]] += row["self"]
print(json.dumps({k: v for k, v in sums.items() if v}, sort_keys=True))')" \
	"$(python3 -c 'import json, sys; print(json.dumps(json.loads(sys.argv[1])["self"], sort_keys=True))' "$out")"
is "waits are a type of their own, in ns" "$(grep -o '"all": {"off_cpu": [0-9]*}' <<<"$messages")" \
	"\"all\": {\"off_cpu\": $(python3 -c 'import json, subprocess, sys
def ticks(*options):
    done = subprocess.run([sys.argv[1], "report", "--limit", "0", "--format", "json", "--by", "function", *options, sys.argv[2]],
                          capture_output=True, check=True)
    return sum(row["self"] for row in json.loads(done.stdout)["rows"])
interval = json.load(open(sys.argv[2]))["meta"]["interval"]
print(round((ticks("--include-idle") - ticks()) * interval * 1e6))' "$PROF" "$file")}"
rm -r engine/each
like "resources" "$out" '"host.name": "h1".*"release": "1".*"service.name": "a.b'
"$PROF" push -q "$golden/inline.json" "$collector"
ok "inlined functions" python3 "$root/tests/otlp_rules.py" engine/otlp

# Engines that take pprof, each with what it refuses.
mkdir engine/each parca parca/each
touch parca/parca
start python3 "$root/tests/fake_grpc.py" parca
wait_until test -s parca/port
sent=$(python3 -c 'import json, sys
print(json.dumps({k: v for k, v in json.loads(sys.argv[1])["self"].items() if v}, sort_keys=True))' "$out")
for engine in pyroscope parca; do
	case $engine in
	pyroscope) to=${at/clickhouse/pyroscope} each=engine/each ;;
	parca) to=parca+http://127.0.0.1:$(<parca/port) each=parca/each ;;
	esac
	rm -f "$each"/*
	run "$PROF" push --host h1 --service "$hostile" --label release=1 --label a.b=1 --label a_b=2 --label 9.x= "$file" "$to"
	is "$engine: exit status" "$status" 0
	diagnose "$err"
	python3 "$root/tests/engine_rules.py" $engine "$each"/* >messages
	is "$engine: its sums are those of the collector" "$(python3 -c 'import collections, json
sums = collections.Counter()
for line in open("messages"): sums.update(json.loads(line)["self"])
print(json.dumps({k: v for k, v in sums.items() if v}, sort_keys=True))')" "$sent"
	like "$engine: labels" "$(<messages)" '"a_b": "1".*"host_name": "h1".*"release": "1", "service_name": "a.b'
	rm "$each"/*
	for case in events inline labels kernel-frames machine-rows runtimes-inlined; do
		run "$PROF" push -q "$golden/$case.json" "$to"
		is "$engine: $case: exit status" "$status" 0
		diagnose "$err"
	done
	ok "$engine: all of it keeps the rules" test "$(find "$each" -type f | wc -l)" -ge 6
done

# They give back what they have merged.
"$PROF" convert --no-config -q -o merged.pb.gz "$file"
cp merged.pb.gz engine/
cp merged.pb.gz parca/
wanted=$("$PROF" report --by function --limit 0 merged.pb.gz)
for engine in pyroscope parca; do
	case $engine in
	pyroscope) to=${at/clickhouse/pyroscope} folder=engine end= ;;
	parca) to=parca+http://127.0.0.1:$(<parca/port) folder=parca end=:delta ;;
	esac
	to=${to%%\?*}
	clock=process_cpu:cpu:nanoseconds:cpu:nanoseconds$end
	run "$PROF" report --by function --limit 0 "$to?service=a \"b\"&host=h1&label.release=1&from=1700000000&to=1700000060"
	is "$engine: read back, exit status" "$status" 0
	is "$engine: read back, it has the same rows" "$out" "$wanted"
	is "$engine: it was asked for what the address says" "$(<"$folder/asked")" \
		"$clock{service_name=\"a \\\"b\\\"\",host_name=\"h1\",release=\"1\"} 1700000000$([ $engine = parca ] || echo .0) 1700000060$([ $engine = parca ] || echo .0)"
	run "$PROF" diff "$to?event=page-faults" merged.pb.gz
	is "$engine: diff, exit status" "$status" 0
	like "$engine: an event of the last hour" "$(<"$folder/asked")" "^process_cpu:page_faults:count:cpu:nanoseconds$end\\{\\} "
	is "$engine: that is an hour" "$(awk '{ print $3 - $2 }' "$folder/asked")" 3600
	refuses "$engine: lists nothing" 2 'cannot list what this engine has' "$PROF" fleet services "$to"
	refuses "$engine: a limit of the engine's is told" 125 'time range exceeds the limit' "$PROF" report "$to?from=1700000000&to=1800000000"
done
echo empty >engine/mode
refuses "pyroscope: nothing is found" 125 'has no samples of process_cpu:cpu:nanoseconds:cpu:nanoseconds\{' \
	"$PROF" report "${at/clickhouse/pyroscope}"
rm engine/mode
echo 'x' | gzip >engine/merged.pb.gz
refuses "pyroscope: what is no profile" 125 'did not answer with a profile' "$PROF" report "${at/clickhouse/pyroscope}"

# Each type of events is a message of its own, with a name and a period as engines want them.
rm -f engine/each/*
"$PROF" push -q "$golden/events.json" "$collector"
messages=$(python3 "$root/tests/otlp_rules.py" engine/each/*)
like "events" "$messages" '"all": \{"page_faults": '
like "events: the clock" "$messages" '"all": \{"samples": '
rm engine/each/*
echo clock >engine/mode
run "$PROF" push "$golden/events.json" "$collector"
is "a collector that takes no events: exit status" "$status" 125
like "a collector that takes no events: says so" "$err" 'rejected 3 profiles: .*no such type'
messages=$(python3 "$root/tests/otlp_rules.py" engine/each/*)
like "it has the clock's" "$messages" '"all": \{"samples": '
is "it has them once, and nothing else" "$(wc -l <<<"$messages")" 1
rm -r engine/each

echo portal >engine/mode
for to in "$collector" "${at/clickhouse/pyroscope}"; do
	refuses "a page of another server: $to" 125 'answered with text/html: a proxy or another server' "$PROF" push "$file" "$to"
done
echo partial >engine/mode
refuses "a collector that refuses a part" 125 'rejected 4 profiles: no\?' "$PROF" push "$file" "$collector"
refuses "what cannot be read" 2 'cannot read from a collector' "$PROF" fleet hosts "$collector"
refuses "what cannot be reported" 125 'cannot read from a collector' "$PROF" report "$collector"

answers() { # DESCRIPTION MODE REGEX
	echo "$2" >engine/mode
	refuses "$1" 125 "$3" "$PROF" report "$url"
	unlike "$1: its words cannot steer a terminal" "$err" $'\e'
}
answers "an engine in trouble" broken 'status 503: no idea'
answers "a wrong password" denied 'status 401: Code: 193'
answers "an answer that is none" garbage 'answer is damaged|newer prof'
answers "tables of a newer prof" newer 'version 9, of a newer prof'
rm engine/mode
kill "$server"
wait "$server" 2>/dev/null
refuses "no engine" 125 '127.0.0.1.*([Cc]onnect)' "$PROF" report "$url"
done_testing
