#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The end comes, whatever does not answer: file systems, servers, the output; and signals while prof
# finishes leave a profile, or a capture that converts.
# May run beside others.
. "$(dirname "$0")/lib.sh"

export XDG_RUNTIME_DIR=$tmp/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
# A program whose debug information is elsewhere.
id=1234567890abcdef1234567890abcdef12345678
mkdir -p back/.build-id/12 front
gcc -g -O2 -I "$root" -Wl,--build-id=0x$id -o whole "$root/tests/workloads/inlines.c" -lm
objcopy --only-keep-debug whole "back/.build-id/12/${id:2}.debug"
objcopy --strip-all whole bare
echo text >back/first

mount_it() { # [flush]
	rm -f switch mounted
	python3 "$root/tests/e2e/hanging_files.py" "$tmp/back" "$tmp/front" "$tmp/switch" "$@" >mounted &
	silent=$!
	at_exit+=("kill $silent 2>/dev/null" "umount -l $tmp/front 2>/dev/null")
	wait_until test -s mounted
	cat front/first >/dev/null
}
unmount_it() {
	kill "$silent"
	wait "$silent" 2>/dev/null
	umount -l front
}

# At most three files are named, in no certain order; others may wait for the same file system.
silent_names="abandoned after 1 s without an answer: names of .*($tmp/bare| and [0-9]+ more)"
for what in open read byte; do
	mount_it
	echo $what >switch
	run timeout -s KILL 100 "$PROF" record -o $what.json.gz --stats $what.stats --stall 1 \
		--debug-dir "$tmp/front" -- ./bare 0.3
	is "$what: exit status" "$status" 0
	like "$what: named" "$err" "$silent_names"
	ok "$what: a valid profile" python3 "$root/tests/check_profile.py" $what.json.gz
	unmount_it
done
# A program on it, which is opened after its server has stopped or before. The kernel would hold a
# process that closes its file, even at its end.
cp "$workloads/spin" back
for when in before after; do
	mount_it flush
	start front/spin die 100 >/dev/null
	spinner=$started
	wait_until grep -q front/spin "/proc/$started/maps"
	[ $when = after ] || echo open >switch
	start timeout -s KILL 60 "$PROF" attach -q -p "$started" -d 1 -o $when.json.gz --ready-file "$tmp/$when.ready" 2>$when.err
	recorder=$started
	[ $when = before ] || wait_until test -s $when.ready
	echo open >switch
	wait $recorder
	is "stopped $when: exit status" $? 0
	ok "stopped $when: a valid profile" python3 "$root/tests/check_profile.py" $when.json.gz
	unmount_it
	kill "$spinner"
done
like "stopped before: said" "$(<before.err)" 'the file system of .*/front/spin does not answer: its code cannot be named'
is "stopped after: said" "$(<after.err)" ''
like "stopped after: named" "$("$PROF" report --by function after.json.gz)" 'spin'
# A file of it that is closed for lack of descriptors, as a program maps many others.
cat >many.py <<'CODE'
import mmap
open("switch", "w").write("open")
for i in range(1500):
    with open(f"mapped/{i}", "w+b") as file:
        file.write(b"\x7fELF\2\1\1" + bytes(9) + b"\3\0>\0\1\0\0\0" + bytes(5000))
        file.flush()
        mmap.mmap(file.fileno(), 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)
CODE
mkdir mapped
mount_it flush
start front/spin die 100 >/dev/null
wait_until grep -q front/spin "/proc/$started/maps"
# shellcheck disable=SC2016 # the inner shell's
run bash -c 'ulimit -n 1024 && exec "$@"' - timeout -s KILL 100 "$PROF" record -q -a -o many.json.gz -- \
	/usr/bin/python3 many.py
is "closed for lack of descriptors: exit status" "$status" 0
like "closed for lack of descriptors: said" "$err" '[0-9]+ files were closed for lack of descriptors'
ok "closed for lack of descriptors: a valid profile" python3 "$root/tests/check_profile.py" many.json.gz
unmount_it
kill "$started"
rm -f switch
# Names that are added later do not wait longer.
"$PROF" record -q --no-symbols -o unnamed.json.gz -- ./bare 0.3
mount_it
echo read >switch
run timeout -s KILL 100 "$PROF" symbolize --stall 1 --debug-dir "$tmp/front" unnamed.json.gz -o later.json.gz
is "symbolize: exit status" "$status" 0
like "symbolize: named" "$err" "$silent_names"
ok "symbolize: a valid profile" python3 "$root/tests/check_profile.py" later.json.gz
unmount_it
# A program that runs from there is recorded all the same.
cp bare back/running
mount_it
front/running 1000 &
running=$!
at_exit+=("kill -9 $running 2>/dev/null")
wait_until grep -q "$tmp/front/running" "/proc/$running/maps"
echo open >switch
run timeout -s KILL 100 "$PROF" attach -p "$running" -d 0.5 --stall 1 -o mapped.json.gz
is "mapped: exit status" "$status" 0
like "mapped: named" "$err" "file system of $tmp/front/running does not answer"
ok "mapped: a valid profile" python3 "$root/tests/check_profile.py" mapped.json.gz
kill -9 "$running"
unmount_it
# A file that a snapshot waits for holds up neither the recording nor another trigger.
mount_it
echo open >switch
began=$SECONDS
run timeout -s KILL 100 "$PROF" record --last 5s --when-file "$tmp/front/absent" --when-exit 3 -o watched.json.gz -- \
	sh -c './bare 0.3; (exit 3); sh -c "exit 3"; ./bare 0.3'
is "watched: exit status" "$status" 0
ok "watched: ends" test $((SECONDS - began)) -lt 30
ok "watched: a valid profile" python3 "$root/tests/check_profile.py" watched.json.gz
unmount_it
ok "stats: phases with times" python3 -c 'import json
s = json.load(open("open.stats"))
assert s["finish_by"]["names_ms"] >= 1000 and set(s["finish_by"]) == {
    "drain_ms", "names_ms", "sources_ms", "write_ms"}, s
assert sum(s["finish_by"].values()) <= s["finish_ms"], s'
run "$PROF" record -v -o plain.json.gz -- ./whole 0.1
like "phases for people" "$err" 'finished in [0-9.]+ s: drain [0-9.]+, names [0-9.]+.*, sources [0-9.]+, write [0-9.]+'

# A dead output: the recording is kept elsewhere.
mount_it
mkdir spool
run timeout -s KILL 100 "$PROF" record -o front/x.json.gz --spool-dir spool --stall 1 --stats dead.stats \
	-- sh -c './bare 0.3; echo write >switch'
is "a dead output: exit status" "$status" 125
like "a dead output: where the data is" "$err" $'no progress for 1 s\n.* is kept: prof recover spool/\\.x\\.json\\.gz\\..*\\.capture$'
unmount_it
run "$PROF" recover -q -o recovered.json.gz spool/.x.json.gz.*.capture
is "a dead output: recovered" "$status" 0
ok "a dead output: a valid profile" python3 "$root/tests/check_profile.py" recovered.json.gz
# The first failure counts, and everything else is tried.
run "$PROF" record -q -o /dev/full --stats full.stats --spool-dir spool -- true
is "a full output: exit status" "$status" 125
is "a full output: two lines" "$(wc -l <.err)" 2
is "a full output: the numbers are there" "$(stat_of full exit_status)" 125

# A capture is converted where the file system of the program does not answer any more.
cp whole back/away
chmod 755 back/away
mount --bind back front
run "$PROF" record -q --raw away.capture -- front/away 0.3
is "a capture: recorded" "$status" 0
umount front
mount_it
echo open >switch
run timeout -s KILL 100 "$PROF" convert away.capture -o away.json.gz
is "a capture: converted" "$status" 0
like "a capture: named" "$err" "abandoned after 10 s without an answer: names of $tmp/front/away"
ok "a capture: a valid profile" python3 "$root/tests/check_profile.py" away.json.gz
# Until it has started, the process is a copy of this shell, which catches the signal, too.
catches_term() { # PID
	local caught
	[ "$(<"/proc/$1/comm")" = "$(basename "$PROF")" ] || return
	caught=$(awk '$1 == "SigCgt:" { print $2 }' "/proc/$1/status")
	((16#$caught & 1 << 14))
}
"$PROF" recover --debug-dir "$tmp/front" -o hurried.json.gz away.capture >/dev/null 2>&1 &
recovering=$!
wait_until catches_term "$recovering"
kill -TERM "$recovering"
wait "$recovering"
is "a capture: a signal ends naming" $? 0
ok "a capture: then it is a valid profile" python3 "$root/tests/check_profile.py" hurried.json.gz
unmount_it

# Signals while it finishes, as it waits for a file.
begin_to_finish() { # NAME
	mount_it
	echo open >switch
	"$PROF" record -o "$1.json.gz" --stall 1000 --debug-dir "$tmp/front" -- ./bare 0.3 2>"$1.err" &
	recorder=$!
	wait_until finishes
}
finishes() { # ...
	[[ $("$PROF" status --json "$recorder") = *'"finishing"'* ]]
}
begin_to_finish once
kill -INT "$recorder"
wait "$recorder"
is "one signal: exit status" $? 0
like "one signal: said" "$(<once.err)" 'a signal interrupted naming'
ok "one signal: a valid profile" python3 "$root/tests/check_profile.py" once.json.gz
unmount_it
begin_to_finish twice
kill -INT "$recorder"
sleep 0.1 # less is one
kill -INT "$recorder"
wait "$recorder"
is "two signals: exit status" $? 125
like "two signals: where the data is" "$(tail -n 1 twice.err)" 'is kept: prof recover \.twice\.json\.gz\..*\.capture$'
ok "two signals: no profile" test ! -e twice.json.gz
unmount_it
run "$PROF" recover -q -o twice.json.gz .twice.json.gz.*.capture
ok "two signals: recovered" python3 "$root/tests/check_profile.py" twice.json.gz
# At any moment.
for i in 1 2 3 4 5 6; do
	rm -rf moment
	mkdir moment
	"$PROF" record -q -o moment/p.json.gz --sources -- "$workloads/spin" die 0.1 >/dev/null 2>&1 &
	recorder=$!
	sleep "0.$((RANDOM % 4 + 1))$RANDOM"
	kill -INT "$recorder" 2>/dev/null
	((i % 2)) || kill -INT "$recorder" 2>/dev/null
	wait "$recorder"
	[ -e moment/p.json.gz ] || "$PROF" recover -q moment
	ok "a signal at a random moment $i" sh -c "for p in moment/*.json.gz; do python3 '$root/tests/check_profile.py' \"\$p\" || exit; done"
done

# A server that sends nothing, and one that is slow.
cat >server.py <<'CODE'
import socket, sys, threading, time
server = socket.create_server(("127.0.0.1", 0))
open("port", "w").write(str(server.getsockname()[1]))
def serve(client):
    client.recv(65536)
    if sys.argv[1] == "slow":
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n")
        for _ in range(6):
            time.sleep(1)
            client.sendall(b"x")
        client.close()
    else:
        time.sleep(1000)
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
CODE
for what in silent slow; do
	rm -f port
	start python3 server.py $what
	wait_until test -s port
	DEBUGINFOD_URLS=http://127.0.0.1:$(<port)
	export DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH=$tmp/cache-$what
	run timeout -s KILL 100 "$PROF" record -v -o $what.json.gz --stall 4 -- ./bare 0.3
	unset DEBUGINFOD_URLS
	is "$what server: exit status" "$status" 0
	kill "$started"
	[ $what = slow ] || like "$what server: given up" "$err" 'bare: downloading the debug file took too long'
done
unlike "slow server: it was waited for" "$err" 'took too long'
like "slow server: what came is looked at" "$err" 'bare: the file could not be read'

# Progress, for those who are no terminal.
run "$PROF" record --progress json -o lines.json.gz -- ./whole 0.1
ok "progress as JSON" python3 -c 'import json, sys
lines = [json.loads(l) for l in sys.argv[1].splitlines() if l.startswith("{")]
phases = [l["phase"] for l in lines]
assert phases[-3:] == ["drain", "names", "write"], phases
assert all("seconds" in l for l in lines), lines' "$err"
run "$PROF" record --progress plain -o lines.json.gz -- ./whole 0.1
like "progress in lines" "$err" $'prof: drain, [0-9.]+ s\n.*prof: names [0-9]+/[0-9]+, [0-9.]+ s\n'
run "$PROF" record -q --progress plain -o lines.json.gz -- true
is "no progress if it is to be quiet" "$err" ""
run "$PROF" record --progress loud -- true
is "a style that is none" "$status" 2
done_testing
