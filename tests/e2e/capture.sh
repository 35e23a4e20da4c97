#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What is left of a recording whose recorder was killed, and captures as such.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

spools() {
	find . -maxdepth 1 -name '.*.capture'
}
samples() { # FILE: ticks of the clock
	"$PROF" report --format json "$1" 2>/dev/null | python3 -c \
		'import json, sys; print(json.load(sys.stdin)["summary"]["weight"])'
}
sampled() { # FILE COUNT
	[ "$(samples "$1")" -ge "$2" ]
}

# The profile of a capture is that of the recording.
for name in shares tour threads; do
	arguments=()
	[ $name != shares ] || arguments=(0.3)
	run "$PROF" record --keep-capture -e page-faults --per-cpu -o $name.json -- \
		"$workloads/$name" "${arguments[@]}"
	is "$name: exit status" "$status" 0
	capture=$(spools)
	run "$PROF" convert "$capture" -o again.json
	is "$name: converted" "$status$err" 0
	ok "$name: to the same bytes" cmp $name.json again.json
	"$PROF" convert "$capture" -o again.folded
	"$PROF" convert $name.json -o direct.folded
	ok "$name: in another format, too" cmp direct.folded again.folded
	is "$name: prof info tells what it is" \
		"$("$PROF" info "$capture" | awk '$1 == "Format" { print $2 }')" capture
	rm -f -- "$capture" again.*
done

# A BPF program is loaded before recording begins, and gone before it ends.
python3 "$root/tests/e2e/vanishing_code.py" &
vanishing=$!
at_exit+=("kill $vanishing 2>/dev/null")
wait_until test -e loaded
"$PROF" attach -q --keep-capture --no-off-cpu -o bpf.json -p $vanishing &
attached=$!
spooled() {
	local file
	file=$(spools) && [ -n "$file" ] && sampled "$file" 100
}
wait_until spooled
touch stop
wait $attached
capture=$(spools)
"$PROF" convert "$capture" -o again.json
ok "code that is gone: to the same bytes" cmp bpf.json again.json
like "code that is gone has its name" "$("$PROF" report --format json again.json)" 'bpf_prog_[0-9a-f]*_vanishing'
rm -f -- "$capture" again.json bpf.json loaded stop

run "$PROF" record --raw raw.prof -- sh -c 'echo out; exit 3'
is "--raw: the command's status" "$status" 3
is "--raw: its output" "$out" out
like "--raw: says what to do" "$err" 'wrote .*raw\.prof \([^)]*\): convert it with prof convert'
is "--raw: no profile, and no spool" "$(ls -A)" "$(printf '%s\n' .err .out direct.folded raw.prof shares.json threads.json tour.json)"
is "--raw: mode" "$(stat -c %a raw.prof)" 600
run "$PROF" convert raw.prof -o raw.json
is "--raw: converted" "$status$err" 0
is "--raw: a valid profile" "$(python3 "$root/tests/check_profile.py" raw.json)" "raw.json: ok"

# A killed recorder leaves what it had, and its command goes on.
kill_recorder() { # NAME: sets $pid of the command, $had ticks
	# shellcheck disable=SC2016 # the inner shell's
	"$PROF" record -q -o "$1.json.gz" -- sh -c 'echo $$ >pid; exec "$0" die 60' "$workloads/spin" >/dev/null &
	recorder=$!
	wait_until spooled
	pid=$(<pid)
	at_exit+=("kill $pid 2>/dev/null")
	run "$PROF" recover
	like "$1: a spool that lives is left alone" "$err" 'still being recorded'
	had=$(samples "$(spools)")
	kill -9 $recorder
	wait $recorder 2>/dev/null
	ok "$1: the command goes on" work_on "$pid" 20
	kill "$pid"
}
kill_recorder killed
run "$PROF" recover --list
like "recover --list: what there is" "$err" 'sh, from [0-9-]+ [0-9:]+, [0-9.]+ s, cut'
is "recover --list: leaves it" "$(spools | wc -l)" 1
run "$PROF" recover
is "recover: exit status" "$status" 0
like "recover: says that it was cut" "$err" 'was cut: it ends [0-9.]+ s after its start'
like "recover: to where it would have been" "$err" 'wrote .*/killed.json.gz'
is "recover: the spool is gone" "$(spools)" ""
ok "recover: with what had been there" sampled killed.json.gz "$had"
judge "recover: with names" killed.json.gz <<'CODE'
expect(within("spinning") > 5, within("spinning"))
CODE
run "$PROF" recover
is "recover: nothing is left" "$status$err" '0prof: no interrupted recording found'

kill_recorder newer
echo precious >newer.json.gz
run "$PROF" recover .
is "recover beside a newer file" "$status" 0
is "which stays" "$(<newer.json.gz)" precious
ok "the profile has another name" sampled recovered.newer.json.gz "$had"

# A capture is not believed what it may replace elsewhere.
mkdir others moved
"$PROF" record -q --keep-capture -o others/two.json -- "$workloads/shares" 0.05
mv others/.two* moved
echo precious >others/two.json
touch -d '1 hour ago' others/two.json
run "$PROF" recover moved
is "recover of a capture that was moved" "$status" 0
is "replaces nothing where it came from" "$(<others/two.json)" precious
ok "its profile lies beside it" test -s moved/recovered.two.json
# Nor what it may create.
rm others/two.json
"$PROF" record -q --keep-capture -o others/two.json -- "$workloads/shares" 0.05
rm others/two.json
mv others/.two* moved
run "$PROF" recover moved
is "creates nothing where it came from" "$status$(ls -A others)" 0
ok "but beside it" test -s moved/recovered.2.two.json
refuses "-o with a folder" 125 'is a folder, not a capture' "$PROF" recover -o x.json moved
refuses "-o without a capture" 2 'needs exactly one capture' "$PROF" recover -o x.json
: >moved/.empty.json.aaaaaa.capture
run "$PROF" recover moved
like "an empty spool" "$err" 'killed before recording began'
is "is removed" "$status$(find moved -name '.*.capture')" 0
head -c 200 raw.prof >moved/.early.json.aaaaaa.capture
run "$PROF" recover moved
like "a spool of nobody yet" "$err" 'killed before recording began'
is "is removed, too" "$status$(find moved -name '.*.capture')" 0

# A file that has not the name of a spool is not prof's to remove.
: >moved/empty
refuses "an empty file" 125 'not a capture: the file is empty' "$PROF" recover moved/empty
ok "an empty file stays" test -e moved/empty
cp raw.prof moved
run "$PROF" recover moved/raw.prof
is "recover of a capture that was asked for" "$status" 0
ok "which stays" cmp raw.prof moved/raw.prof
# shellcheck disable=SC2016 # the inner shell's
run sh -c 'cat raw.prof | "$0" convert -q - -o piped.json' "$PROF"
"$PROF" convert -q raw.prof -o read.json
is "a capture from a pipe" "$status" 0
ok "which gives the same profile" cmp piped.json read.json

# Nobody else's file is trusted, and no link.
"$PROF" record -q --keep-capture -o others/one.json -- "$workloads/shares" 0.05
chown nobody others/.one*
refuses "another user's spool" 125 "owned by user [0-9]+, who can recover it" "$PROF" recover others
mv others/.one* others/target
chown root others/target
ln -s target others/.link.aaaaaa.capture
refuses "a link" 125 'Too many levels of symbolic links' "$PROF" recover others
refuses "a file that is no capture" 125 'not a capture' "$PROF" recover shares.json
refuses "no such folder" 125 'No such file' "$PROF" recover nowhere
refuses "an unknown option" 2 'nonsense' "$PROF" recover --nonsense
refuses "--raw and --output" 2 'not with --output' "$PROF" record --raw x -o y -- touch started
refuses "--raw to a device" 125 'Invalid argument' "$PROF" record --raw /dev/null -- touch started
ok "which stays one" test -c /dev/null
refuses "--raw -" 2 'must be a file' "$PROF" record --raw - -- touch started
refuses "--raw and --stats" 2 'need a profile' "$PROF" record --raw x --stats y -- touch started
refuses "--raw without a spool" 2 'not with --raw' "$PROF" record --raw x --no-spool -- touch started
refuses "no folder for the spool" 125 'spool-dir nowhere: cannot create a capture: No such' \
	"$PROF" record --spool-dir nowhere -- touch started
refuses "no folder for the capture" 125 'write nowhere/x: No such' \
	"$PROF" record --raw nowhere/x -- touch started
echo old >old.prof
refuses "no command" 127 'not found' "$PROF" record --raw old.prof -- no-such-command
is "no command: the old file stays" "$(<old.prof)" old
# Names of other processes that differ from their first threads' are no match, either.
"$workloads/call_me" thread 1000000 &
renamed=$!
wait_until grep -q MainThread "/proc/$renamed/comm"
refuses "filters that nothing meets" 125 'no process matched the filters' \
	"$PROF" record -a --comm no-such-name --raw old.prof -- true
kill "$renamed"
is "filters that nothing meets: the old file stays" "$(<old.prof)" old
is "no spool is left" "$(spools)" ""

# Runs are told apart in captures, too.
"$PROF" record -q --keep-capture --iterations 2 --warmup 1 --variant a="$workloads/shares 0.05" \
	--variant b="$workloads/shares 0.1" -o runs.json
capture=$(spools)
run "$PROF" convert "$capture" -o again.json --stats again.stats
is "runs: converted" "$status$err" 0
ok "runs: to the same bytes" cmp runs.json again.json
ok "runs: --stats" python3 -c '
import json
stats = json.load(open("again.stats"))
assert [run["iteration"] for run in stats["runs"]] == [1, 1, 2, 2], stats
assert stats["cut"] is False, stats
assert stats["samples"] > 0 and stats["file_bytes"] > 0, stats'
rm -f -- "$capture" again.*
refuses "--stats of two" 125 '--stats needs exactly one capture' \
	"$PROF" convert raw.prof raw.prof -o two.json --stats two.stats
refuses "--stats to the output" 2 'must be a file other than the output' \
	"$PROF" convert raw.prof -o two.json --stats two.json

# Damage costs what is damaged.
"$PROF" record -q --raw whole.prof -- "$workloads/shares" 1.5
"$PROF" convert whole.prof -o whole.json
python3 - <<'CODE'
import struct
data = bytearray(open("whole.prof", "rb").read())
# Frames with samples before the last one: those of the recording's middle.
at, frames = 56, []
while at < len(data):
    flags, = struct.unpack_from("<I", data, at + 4)
    packed, = struct.unpack_from("<I", data, at + 48)
    if not flags & 2:
        frames.append(at)
    at += 64 + packed
assert len(frames) >= 3, frames
open("cut.prof", "wb").write(data[:frames[-1] - 1])
data[frames[-2] + 70] ^= 1
open("damaged.prof", "wb").write(data)
CODE
run "$PROF" convert damaged.prof -o damaged.json
is "damaged: exit status" "$status" 0
like "damaged: says so" "$err" 'are damaged and were left out'
ok "damaged: fewer ticks" test "$(samples damaged.json)" -lt "$(samples whole.json)"
ok "damaged: the rest" test "$(samples damaged.json)" -gt 0
run "$PROF" convert cut.prof -o cut.json --stats cut.stats
is "cut: exit status" "$status" 0
like "cut: says so" "$err" 'the recording was cut'
ok "cut: so do --stats, a marker and the profile's details" python3 -c '
import json
assert json.load(open("cut.stats"))["cut"] is True
profile = json.load(open("cut.json"))
extra = {row["label"]: row["value"] for part in profile["meta"]["extra"] for row in part["entries"]}
assert "Cut" in extra, extra
[schema] = [s for s in profile["meta"]["markerSchema"] if s["name"] == "cut"]
end = max(sum(t["samples"]["timeDeltas"]) for t in profile["threads"])
strings = profile["shared"]["stringArray"]
times = [t["markers"]["startTime"][i] for t in profile["threads"]
	for i in range(t["markers"]["length"]) if strings[t["markers"]["name"][i]] == "cut"]
assert len(times) == 1 and times[0] > end - 0.001, (times, end)'
is "damaged and cut: valid" \
	"$(python3 "$root/tests/check_profile.py" damaged.json cut.json | sort)" \
	"$(printf '%s\n' 'cut.json: ok' 'damaged.json: ok')"

# A full disk ends the spool, not the recording; where the profile has no room, the spool stays.
mkdir small
mount -t tmpfs -o size=8k none small
at_exit=("umount $tmp/small 2>/dev/null" "${at_exit[@]}")
run "$PROF" record --spool-dir small -o full.json.gz -- "$workloads/shares" 3
is "no room for the spool: exit status" "$status" 0
like "no room for the spool: says so" "$err" 'No space left on device: the capture is incomplete, the recording continues'
is "no room for the spool: it is gone" "$(ls -A small)" ""
run "$PROF" record --spool-dir . -o small/full.json -- "$workloads/tour"
is "no room for the profile: exit status" "$status" 125
like "no room for the profile: what to do" "$err" 'the recording is kept: prof recover \.full\.json\.[0-9a-f]*\.capture'
is "no room for the profile: the spool is there" "$(spools | wc -l)" 1
spool=$(spools)
run "$PROF" recover -o small/full.json "$spool"
is "recover -o: no room there" "$status" 125
ok "recover -o: the spool stays" test -s "$spool"
umount small
# On one disk, the spool takes the profile's room: that is given up once the profile fits.
mount -t tmpfs -o size=400k none small
# Pauses, because more calls at a time than a ring holds are lost, and with them the size.
cat >many.py <<'CODE'
import os, time
zeros = os.open("/dev/zero", os.O_RDONLY)
for _ in range(100):
    for _ in range(200):
        os.read(zeros, 1)
    time.sleep(0.005)
CODE
many=(/usr/bin/python3 many.py)
run "$PROF" record --syscalls=0 -o small/room.json.gz -- "${many[@]}"
is "no room for both: exit status" "$status" 0
like "no room for both: that is said" "$err" 'the disk is full: the capture was removed to make room'
is "no room for both: there is the profile" "$(ls -A small)" room.json.gz
rm small/room.json.gz
"$PROF" record -q --syscalls=0 --keep-capture -o kept.json.gz -- "${many[@]}" 2>/dev/null
mv .kept.json.gz.*.capture small
run "$PROF" recover small
is "recover without room for both: exit status" "$status" 0
is "recover without room for both: there is the profile" "$(ls -A small)" recovered.kept.json.gz
rm small/recovered.kept.json.gz
umount small
run "$PROF" recover -o small/full.json "$spool"
is "recover -o, with room: exit status" "$status" 0
ok "recover -o, with room: the profile" test -s small/full.json
done_testing
