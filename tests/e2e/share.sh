#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof share, against a store on this machine: what is sent, kept and deleted, and what is not.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

mkdir store "$PWD/state"
export XDG_STATE_HOME=$PWD/state
start python3 "$root/tests/e2e/fake_store.py" store
server=$started
wait_until test -s store/port
PROF_STORE=http://127.0.0.1:$(<store/port)
export PROF_STORE
answer_as() { # MODE
	echo -n "$1" >store/mode
	rm -f store/request.json store/body
}
request() { # EXPRESSION of r, the request
	python3 -c "import json; r = json.load(open('store/request.json')); print($1)"
}
# Programs in /tmp, of which paths are left out.
cp "$workloads/shares" ./regan
record one 0 -- ./regan 0.3

answer_as jwt
run "$PROF" share --yes --frontend https://front.example one.json.gz
is "exit status" "$status" 0
is "the address is printed" "$out" "https://front.example/public/tok3n"
like "what is inside is shown" "$err" 'regan: [0-9]+ samples of 1 process, [0-9]+ functions.*command line: none'
is "where it is sent" "$(request 'r["method"] + " " + r["path"]')" "POST /compressed-store"
is "the front-end's way of asking" "$(request 'r["headers"]["Accept"]')" \
	"application/vnd.firefox-profiler+json;version=1.0"
mv store/body sent.json.gz
is "it is a profile" "$(python3 "$root/tests/check_profile.py" sent.json.gz)" "sent.json.gz: ok"
is "without the folder" "$(gunzip -c sent.json.gz | grep -c "$PWD")" 0
is "and the arguments" "$(gunzip -c sent.json.gz | grep -c '"arguments":"')" 0
is "the right to delete it is the user's alone" "$(stat -c %a state/prof/shared/tok3n state/prof/shared)" 600$'\n'700
like "--list" "$("$PROF" share --list)" '^20[0-9-]+ [0-9:]+  https://front.example/public/tok3n  one.json.gz$'

answer_as jwt
run "$PROF" share --delete https://front.example/public/tok3n
is "--delete: exit status" "$status" 0
is "what is asked for" "$(request 'r["method"] + " " + r["path"]')" "DELETE /profile/tok3n"
like "by that right" "$(request 'r["headers"]["Authorization"]')" '^Bearer [^.]+\.[^.]+\.sig$'
is "it is no longer listed" "$("$PROF" share --list)" ""
refuses "once more" 125 'was not shared from this machine' "$PROF" share --delete tok3n

answer_as plain
run "$PROF" share --yes --full one.json.gz
is "--full, and a store that answers with the name: exit status" "$status" 0
like "it has the command line" "$(gunzip -c store/body)" '"arguments":"./regan 0.3"'

before=$(sha256sum store/body)
run "$PROF" share one.json.gz </dev/null
is "nobody can be asked: exit status" "$status" 125
like "says what to do" "$err" 'cannot ask for confirmation without a terminal: use --yes'
is "nothing was sent" "$(sha256sum store/body)" "$before"
touch full
run env XDG_STATE_HOME="$PWD/full" "$PROF" share --yes one.json.gz
is "no place for the right to delete it: exit status" "$status" 125
like "says which" "$err" 'store the deletion token in .*/full/prof/shared'
is "nothing was published" "$(sha256sum store/body)" "$before"
fails() { # DESCRIPTION MODE REGEX
	answer_as "$2"
	run "$PROF" share --yes one.json.gz
	is "$1: exit status" "$status" 125
	like "$1: why" "$err" "$3"
	is "$1: no address" "$out" ""
}
fails "too large" large 'does not accept a profile of this size.*--time'
fails "a store in trouble" broken 'status 500 no idea'
fails "an answer that is none" garbage 'does not name the profile'
unlike "its text cannot steer a terminal" "$err" $'\e'
kill "$server"
wait "$server" 2>/dev/null
fails "no network" jwt '127.0.0.1.*(connect|Connect)'
refuses "nothing to share" 2 'FILE, --list or --delete' "$PROF" share
refuses "both" 2 'not with --sanitize' "$PROF" share --full --sanitize one.json.gz
refuses "a file that is none" 125 'No such file' "$PROF" share --yes nowhere
done_testing
