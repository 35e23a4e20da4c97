#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The place of the profile, and the fate of an earlier file.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
command=("$workloads/shares" 0.05)
mode_of() {
	stat -c %a "$1"
}
is_gzip() {
	[ "$(head -c 2 "$1" | od -An -tx1 | tr -d ' ')" = 1f8b ]
}
valid() { # DESCRIPTION FILE
	judge "$1" "$2" <<<'expect(p["threads"], "no thread")'
}

run "$PROF" record -o plain.json -- "${command[@]}"
is ".json: exit status" "$status" 0
is ".json is plain" "$(head -c 1 plain.json)" "{"
valid ".json is valid" plain.json
for name in zipped.json.gz zipped.profile json; do
	run "$PROF" record -o $name -- "${command[@]}"
	ok "$name is compressed" is_gzip $name
	valid "$name is valid" $name
done
is "mode" "$(mode_of zipped.json.gz)" 600
is "mode of a plain file" "$(mode_of plain.json)" 600

"$PROF" record -o - -- sh -c 'echo of the command' >stdout.json.gz 2>stderr.txt
is "-o -: exit status" $? 0
valid "-o -: the profile is on stdout" stdout.json.gz
ok "-o -: what the command prints is on stderr" grep -qx 'of the command' stderr.txt

# shellcheck disable=SC2016 # for the inner shell
refuses "-o - where stdout is closed" 125 'standard output is closed' \
	bash -c '"$1" record -o - -- touch started >&-' sh "$PROF"
# shellcheck disable=SC2016 # for the inner shells
run bash -c '"$1" record -o closed.json.gz -- sh -c "$2" >&- 2>&-' sh "$PROF" \
	'[ ! -e /proc/self/fd/1 ] && [ ! -e /proc/self/fd/2 ] && exit 4'
is "closed descriptors remain closed for the command" "$status" 4
valid "and none of them gets the profile" closed.json.gz

# shellcheck disable=SC2016 # for the inner shell
refuses "a folder that nobody can write to" 125 'cannot write profile.json.gz: .*name another file: -o FILE' \
	bash -c 'cd /proc && "$1" record -- touch started' sh "$PROF"
run "$PROF" record -o /dev/null -- "${command[@]}"
is "a device: exit status" "$status" 0
ok "a device remains one" test -c /dev/null
mkfifo pipe
cat pipe >through.json.gz &
reader=$!
run "$PROF" record -o pipe -- "${command[@]}"
is "a FIFO: exit status" "$status" 0
wait $reader
valid "a FIFO: the profile goes through" through.json.gz
ok "a FIFO remains one" test -p pipe

echo old >existing.json.gz
chmod 644 existing.json.gz
run "$PROF" record -o existing.json.gz -- "${command[@]}"
valid "an existing file is replaced" existing.json.gz
is "and the new one is private" "$(mode_of existing.json.gz)" 600
echo precious >target
ln -s target link.json.gz
run "$PROF" record -o link.json.gz -- "${command[@]}"
valid "a symlink is replaced" link.json.gz
ok "by a file" test ! -L link.json.gz
is "and its target is left alone" "$(<target)" precious
ln -s /nonexistent/target dangling.json.gz
run "$PROF" record -o dangling.json.gz -- "${command[@]}"
valid "a dangling symlink, too" dangling.json.gz
mkdir folder
run "$PROF" record -o folder/inner.json.gz -- "${command[@]}"
valid "in another folder" folder/inner.json.gz

refuses "a folder is refused" 125 'folder' "$PROF" record -o folder -- touch started
refuses "a folder with a slash, too" 125 'folder/' "$PROF" record -o folder/ -- touch started
refuses "a missing folder" 125 'missing' "$PROF" record -o missing/x.json.gz -- touch started
refuses "a missing folder for --stats" 125 'missing' \
	"$PROF" record --stats missing/x -o x.json.gz -- touch started
refuses "a file in the place of a folder" 125 'target' \
	"$PROF" record -o target/x.json.gz -- touch started
refuses "a name that is too long" 125 'too long' \
	"$PROF" record -o "$(printf '%0300d' 0)" -- touch started

for names in "-o x.json --stats ./x.json" "-o x.json --ready-file folder/../x.json" \
	"-o x.json --stats s --ready-file ./s"; do
	# shellcheck disable=SC2086 # words
	refuses "$names: the same file" 125 'same file' "$PROF" record $names -- touch started
done

run "$PROF" record -o /dev/full -- sh -c 'exit 3'
is "/dev/full: the recording fails, whatever the command returned" "$status" 125
like "/dev/full: and says why" "$err" 'No space left'
run "$PROF" record --stats /dev/full -o x.json.gz -- true
is "/dev/full for --stats: it fails" "$status" 125

# A full disk: the earlier file stays, and what prof recover needs.
# shellcheck disable=SC2016 # for the inner shell
unshare -m bash -c '
	mount -t tmpfs -o size=16k none folder || exit 77
	echo old >folder/full.json
	"$1" record -F 9999 -o folder/full.json -- "$2" 0.5 2>full.err
	echo $? >full.status
	cp folder/full.json full.kept
	find folder -mindepth 1 | sed "s/[0-9a-f]*\.capture$/capture/" | sort >full.left
' sh "$PROF" "$workloads/shares"
is "a full disk: exit status" "$(cat full.status)" 125
like "a full disk: says so" "$(cat full.err)" 'No space left'
ok "a full disk: in three lines at most" test "$(wc -l <full.err)" -le 3
is "a full disk: the old file stays" "$(cat full.kept)" old
is "a full disk: only the recording is left" "$(cat full.left)" $'folder/.full.json.capture\nfolder/full.json'
like "a full disk: says where" "$(cat full.err)" 'is kept: prof recover folder/\.full\.json\.[0-9a-f]*\.capture'

# The command removes the folder with all that is in it: the recording is kept elsewhere.
state=$XDG_STATE_HOME/prof
removes() { # OPTION... (the command removes the folder "removed")
	rm -rf "$state"
	mkdir removed
	# shellcheck disable=SC2016 # the inner shell's
	run "$PROF" record "$@" -- sh -c '"$0" 0.2; rm -r removed' "$workloads/shares"
	is "a removed folder, $1: exit status" "$status" 125
	like "a removed folder, $1: says where" "$err" " is kept: prof recover $state/\.[a-z]+\.json\.gz\.[0-9a-f]*\.capture"
	run "$PROF" recover -q -o rescued.json.gz "$state"/.*.capture
	is "a removed folder, $1: recovered" "$status" 0
	like "a removed folder, $1: what was recorded" "$("$PROF" report rescued.json.gz)" 'shares'
	rm -f rescued.json.gz
}
removes -o removed/p.json.gz
removes --raw removed/raw.json.gz
removes --last 9s -o removed/last.json.gz
# Without a home there is no other place.
mkdir removed
run env -u XDG_STATE_HOME -u HOME "$PROF" record -o removed/p.json.gz -- rm -r removed
is "a removed folder without a home: exit status" "$status" 125
like "a removed folder without a home: said" "$err" \
	'cannot write removed/p.json.gz: its folder was removed.*the recording is lost: removed/\.p\.json\.gz\.[0-9a-f]*\.capture was removed'

# A killed recorder leaves what prof recover needs; on a file system without unnamed files, the part it had
# written.
killed() { # FOLDER
	local child
	echo old >"$1/old.json.gz"
	rm -f begun
	mkfifo begun
	# shellcheck disable=SC2016 # for the inner shell
	"$PROF" record -q -o "$1/old.json.gz" --stats "$1/stats" --ready-file "$1/ready" -- \
		sh -c 'echo $$ >begun; exec sleep 100' &
	read -t 120 -r child <>begun
	kill -KILL $!
	wait $! 2>/dev/null
	kill "$child"
	left=$(cd "$1" && find . -type f | sed 's/[0-9a-f]*\.capture$/capture/' | sort | tr '\n' ' ')
}
mkdir killed
if python3 -c 'import os; os.open("killed", os.O_TMPFILE | os.O_RDWR)' 2>/dev/null; then
	killed killed
	is "killed: only the recording is left" "$left" "./.old.json.gz.capture ./old.json.gz ./ready "
else
	killed killed
	like "killed: what it had begun is left" "$left" \
		'^(\./\.old\.json\.gz\.[^ ]{6,7} ){2}\./\.stats\.[^ ]{6} \./old\.json\.gz \./ready $'
fi
is "killed: the old file stays" "$(<killed/old.json.gz)" old

is "no temporary files are left" "$(leftovers . folder)" ""
done_testing
