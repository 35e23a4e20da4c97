#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Captures of all versions, which stay readable for ever. Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

profiles=() # that have to be valid
for capture in "$root"/tests/golden/version-*/*.prof; do
	folder=$(basename "$(dirname "$capture")")
	name=$folder-$(basename "$capture" .prof)
	run "$PROF" convert -q --no-symbols --include-idle "$capture" -o "$name.folded"
	is "$name: exit status" "$status$err" 0
	ok "$name: the same stacks" cmp "$name.folded" "${capture%.prof}.folded"
	"$PROF" convert -q --no-symbols "$capture" -o "$name.json"
	profiles+=("$name.json")
done

# Since version 3 there are parts.
for case in 3/unwound 3/waits 4/unwound 4/waits; do
	capture=$root/tests/golden/version-$case.prof name=part-${case/\//-}
	run "$PROF" convert -q --no-symbols --from 0.005 --to 9 "$capture" -o "$name.json"
	is "$name: exit status" "$status$err" 0
	profiles+=("$name.json")
done

# Options may come after what they are about.
cp "$root/tests/golden/version-4/waits.prof" kept.capture
# shellcheck disable=SC2016 # the inner shell's
for command in recover convert; do
	run bash -c 'ulimit -f 1; exec "$0" "$@"' "$PROF" $command kept.capture -q -o large.json --no-symbols
	is "$command where a file may have no more bytes: exit status" "$status" 125
	like "$command where a file may have no more bytes: says so" "$err" 'large.json: File too large'
	ok "$command where a file may have no more bytes: nothing of it" test ! -e large.json -a -e kept.capture
done
run "$PROF" recover kept.capture -q -o recovered.json --no-symbols
is "recover FILE -o OUT" "$status$err" 0
profiles+=(recovered.json)
is "all of them are valid profiles" "$(python3 "$root/tests/check_profile.py" "${profiles[@]}")" \
	"$(printf '%s: ok\n' "${profiles[@]}")"

# A profile that is written once more counts what it has.
user_code() { # FILE
	python3 -c 'import json, sys
print([entry["value"] for section in json.load(open(sys.argv[1]))["meta"]["extra"]
       for entry in section["entries"] if entry["label"] == "Samples with user code"])' "$1"
}
for case in waits runtimes kernel-frames; do
	first=$golden/$case.json
	"$PROF" convert -q "$first" -o "again-$case.json"
	is "$case: samples with user code" "$(user_code "again-$case.json")" "$(user_code "$first")"
done

# Small ones cut at many places, and with changed bytes: a shorter profile, or one clear line.
python3 - "$root"/tests/golden/version-*/waits.prof <<'CODE'
import random
import sys
random.seed(1)
for version, path in enumerate(sys.argv[1:]):
    data = open(path, "rb").read()
    for n in range(60):
        open(f"cut.{version}.{n}.prof", "wb").write(data[:len(data) * n // 60])
        changed = bytearray(data)
        for _ in range(random.randrange(1, 20)):
            changed[random.randrange(len(data))] = random.randrange(256)
        open(f"changed.{version}.{n}.prof", "wb").write(changed)
CODE
wrong=
for file in cut.*.prof changed.*.prof; do
	run "$PROF" convert --no-symbols "$file" -o out.folded
	case $status in
	0) [ -s out.folded ] || wrong+=" $file:empty" ;;
	125) [ "$(wc -l <.err)" -le 3 ] && [ ! -e out.folded ] || wrong+=" $file:$err" ;;
	*) wrong+=" $file:$status" ;;
	esac
	rm -f out.folded
done
is "damaged: a profile or one clear line" "$wrong" ""
done_testing
