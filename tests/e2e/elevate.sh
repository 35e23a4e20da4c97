#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Recordings by a user without privileges, on a terminal: prof asks sudo for a recorder.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

# A folder that others can reach: the source may be in somebody's home.
cp "$PROF" prof
cp "$(dirname "$PROF")/prof-browse" prof-browse
cp "$workloads/shares" shares
chmod 755 prof prof-browse shares
prof=$tmp/prof

user=prof-e2e-$$
group=prof-e2e-group-$$
at_exit+=("userdel $user 2>/dev/null; groupdel $group 2>/dev/null; rm -f /etc/sudoers.d/$user"
	"rm -f /run/sudo/ts/$user")
groupadd "$group"
ok "a user can be added" useradd --no-create-home --home-dir "$tmp/home" --groups "$group" "$user"
mkdir home
chown "$user:" home
uid=$(id -u "$user")
gid=$(id -g "$user")
echo "$user:right one" | chpasswd
sudoers() { # RULE...
	printf '%s\n' "$@" >"$tmp/.sudoers"
	chmod 440 "$tmp/.sudoers"
	mv "$tmp/.sudoers" "/etc/sudoers.d/$user"
	rm -f "/run/sudo/ts/$user"
}
free="$user ALL=(ALL) NOPASSWD: ALL"

talk=() # pairs for on_terminal.py
on_terminal() { # COMMAND...
	run python3 "$root/tests/e2e/on_terminal.py" "$user" "${talk[@]}" -- "$@"
}
as_user() {
	setpriv --reuid="$uid" --regid="$gid" --init-groups "$@"
}
is_valid() { # FILE
	ok "$1: a valid profile" python3 "$root/tests/check_profile.py" "$1"
}
cd home || exit 1

# The command's environment is the same as without prof.
cat >see.sh <<'SHELL'
id
pwd
umask
ulimit -a
env | sort | grep -v '^_='
cat /proc/self/oom_score_adj
tty
grep -E 'Cap|Sig(Blk|Ign)|NoNewPrivs' /proc/self/status
[ "$(ps -o tpgid= -p $$)" = "$(ps -o pgid= -p $$)" ] && echo in the foreground
ls /proc/self/fd
exit 7
SHELL
mkdir "$tmp/tools"
printf '#!/bin/sh\nexec sh "$@"\n' >"$tmp/tools/mytool"
chmod 755 "$tmp/tools/mytool"
for pty in use_pty '!use_pty'; do
	sudoers "$free" "Defaults:$user $pty"
	name=${pty#!}
	[ "$name" = "$pty" ] || name=no_pty
	for how in '' "$prof record -q -o $name.json.gz --stats $name.stats --"; do
		on_terminal env PATH="$tmp/tools:$PATH" MARK=set LD_LIBRARY_PATH=/nowhere \
			bash -c "umask 027; ulimit -Sn 20; ulimit -c 0; ulimit -t 60; $how mytool see.sh"
		is "$pty: exit status ${how:+under prof}" "$status" 7
		[ "$how" ] || plain=$out
	done
	is "$pty: all that the command sees is as without prof" "$out" "$plain"
	is "$pty: whose profile" "$(stat -c '%u %g %a' "$name.json.gz")" "$uid $gid 600"
	is "$pty: whose statistics" "$(stat -c '%u %g %a' "$name.stats")" "$uid $gid 600"
	is_valid "$name.json.gz"
done
like "there is something to see" "$out" 'MARK=set.*in the foreground'

sudoers "$free"
on_terminal "$prof" record -o said.json.gz -- "$tmp/shares" 0.2
like "it says what it does" "$out" 'prof: recording as root, by sudo; the command itself runs as you'
on_terminal "$prof" top -a --batch --window 1 -d 3 --limit 1
like "what runs now goes to a program with the user's own rights" "$out" '"until": 1.000000000, .*"function"'
judge "names and samples as always" said.json.gz \
	<<<'expect(within("sixty") > 80, within("sixty"))'

# Terminal, pipes, descriptors.
talk=('name' 'Ada\n')
# shellcheck disable=SC2016 # for the inner shell
on_terminal "$prof" record -q -o line.json.gz -- sh -c 'echo name; read -r line; echo "hello $line"'
like "the command reads from the terminal" "$out" 'hello Ada'
talk=()
STDIN=keep on_terminal "$prof" record -q -o input.json.gz -- tr a-z A-Z <<<'from a file'
is "standard input that is no terminal" "$out" "FROM A FILE"
on_terminal sh -c "$prof record -q -o - -- echo said on stderr | cat >stdout.json.gz"
is "-o -: what the command says goes to stderr" "$out" 'said on stderr'
is_valid stdout.json.gz
on_terminal sh -c "$prof record -q -o fd.json.gz --ready-fd 9 -- true 9>ready.fd"
is "--ready-fd" "$(<ready.fd)" ready
on_terminal "$prof" record -q -o file.json.gz --ready-file ready.file -- true
is "--ready-file" "$(<ready.file) $(stat -c %u ready.file)" "ready $uid"
on_terminal "$prof" record -q --ready-fd 77 -o x.json.gz -- touch started
is "--ready-fd that is closed: exit status" "$status" 125
like "--ready-fd that is closed: says so" "$out" 'ready-fd 77: not open for writing'

# Commands that cannot be run.
for case in 127:no-such-tool:'no-such-tool: command not found' 126:./see.sh:'see.sh: Permission denied'; do
	IFS=: read -r wanted tool text <<<"$case"
	on_terminal "$prof" record -q -o none.json.gz -- "$tool"
	is "$tool: exit status" "$status" "$wanted"
	like "$tool: says why" "$out" "$text"
done
on_terminal "$prof" record -q -o /root/none.json.gz -- touch started
is "a folder of root's: exit status" "$status" 125
like "a folder of root's: says why" "$out" 'ermission denied'
ok "nothing was started or written" sh -c '! ls started none.json.gz /root/none.json.gz 2>/dev/null'

# Several runs: the front end starts each, and tells its CPU time.
on_terminal "$prof" record -q -o runs.json.gz --stats runs.stats --iterations 3 --warmup 1 \
	--variant "a=sh -c 'echo a >>runs.log; exec $tmp/shares 0.2'" \
	--variant "b=sh -c 'echo b >>runs.log; exec $tmp/shares 0.1'"
is "runs: exit status" "$status" 0
is "runs: all of them, as the user" "$(sort runs.log | uniq -c | tr -s ' ' | paste -sd,) \
$(stat -c %u runs.log)" " 4 a, 4 b $uid"
is_valid runs.json.gz
ok "runs: their variants and times" python3 - <<'CODE'
import json
runs = json.load(open("runs.stats"))["runs"]
assert sorted((run["iteration"], run["variant"]) for run in runs) == [
    (i, variant) for i in (1, 2, 3) for variant in "ab"], runs
assert all(run["status"] == 0 and run["wall_ms"] > 0 for run in runs), runs
assert all(run["cpu_ms"] > 90 for run in runs), runs
CODE
run "$prof" diff runs.json.gz
is "runs: can be compared" "$status" 0
on_terminal "$prof" record -q -o runs.json.gz --iterations 3 -- sh -c 'echo x >>fail.log; exit 4'
is "runs: the first failure is the last" "$status $(wc -l <fail.log)" "4 1"
on_terminal "$prof" record -q -o none.json.gz --iterations 2 --variant a=true --variant b=./absent
is "runs: one that cannot be executed" "$status" 127
ok "runs: no file then" test ! -e none.json.gz

# Without a command.
start setpriv --reuid="$uid" --regid="$gid" --init-groups "$tmp/shares" 20
on_terminal "$prof" attach -o attached.json.gz -d 0.5 -p "$started"
is "attach: exit status" "$status" 0
like "attach: says what it does" "$out" $'by sudo\n'
judge "attach: it was recorded" attached.json.gz <<<'expect(within("sixty") > 5, within("sixty"))'
on_terminal "$prof" attach -o none.json.gz -p 4000000
is "attach: no such process: exit status" "$status" 125
on_terminal "$prof" record -q -a -d 0.3 -o all.json.gz
is "-a: exit status" "$status" 0
judge "-a: everybody is in it" all.json.gz <<<'expect(len({t["pid"] for t in p["threads"]}) > 5, check_profile.thread_names(p))'
on_terminal "$prof" record -q -a -o all.json.gz -- sh -c 'exit 3'
is "-a with a command: its exit status" "$status" 3
kill "$started"

# Begins in the background, into NAME.json.gz; returns when recording has begun. $driver plays the
# user.
begin_on_terminal() { # NAME ARGUMENT...
	local name=$1
	shift
	rm -f "$name.ready"
	python3 "$root/tests/e2e/on_terminal.py" "$user" "${talk[@]}" -- \
		"$prof" record -o "$name.json.gz" --ready-file "$name.ready" "$@" >"$tmp/$name.out" &
	driver=$!
	wait_until test -e "$name.ready" || diagnose "$(<"$tmp/$name.out")"
}
finish_on_terminal() { # NAME
	wait "$driver"
	status=$?
	out=$(<"$tmp/$1.out")
}
# Prints the pid of the front end, or of the helper, that records into NAME.json.gz.
half() { # front|helper NAME
	local process line wanted=0
	[ "$1" = front ] || wanted=1
	for process in /proc/[0-9]*; do
		[ "$(cat "$process/comm" 2>/dev/null)" = prof ] || continue
		line=$(tr '\0' ' ' <"$process/cmdline")
		[[ $line == *" $2.json.gz "* ]] || continue
		[ "$(grep -c -e --record-for-front-end <<<"$line")" = $wanted ] && echo "${process#/proc/}"
	done
}
cat >patient.sh <<'SHELL'
trap 'echo interrupted' INT
echo begun
for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done
echo over
exit 5
SHELL

# Ctrl-C.
talk=('begun' '\x03')
on_terminal "$prof" record -q -o once.json.gz -- sh patient.sh
is "Ctrl-C: the command decides" "$status ${out//$'\n'/ }" "5 begun ^Cinterrupted over"
is_valid once.json.gz
# The second Ctrl-C follows when prof says that it has the first.
talk=('begun' '\x03' 'once more ends it now' '\x03')
on_terminal "$prof" record -o twice.json.gz -- \
	sh -c 'trap "echo interrupted" INT; echo begun; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 1; done'
is "Ctrl-C twice ends the recording" "$status" 130
is_valid twice.json.gz
talk=('begun' '\x03')
on_terminal "$prof" record -q -o died.json.gz -- sh -c 'echo begun; sleep 20'
is "Ctrl-C: the command dies of it" "$status" 130
is_valid died.json.gz
# Ctrl-Z stops prof and the command, as jobs of the shell.
cat >job.sh <<SHELL
set -m
$prof record -q -o job.json.gz -- sh -c 'echo begun; sleep 1; echo over'
echo "stopped \$?"
fg >/dev/null
echo "continued \$?"
SHELL
talk=('begun' '\x1a')
on_terminal bash job.sh
is "Ctrl-Z and fg" "$(grep -E '^(stopped|over|continued)' <<<"${out//^Z/}")" $'stopped 148\nover\ncontinued 0'
is_valid job.json.gz
talk=()
begin_on_terminal attended -a
kill -INT "$(half front attended)"
finish_on_terminal attended
is "-a: a signal ends it" "$status" 0
is_valid attended.json.gz

# Signals to prof alone.
begin_on_terminal term -- sh -c 'trap "echo got it; exit 9" TERM; while :; do sleep 0.05; done'
kill -TERM "$(half front term)"
finish_on_terminal term
is "SIGTERM reaches the command" "$status" 9
like "SIGTERM reaches the command: it says so" "$out" 'got it'
is_valid term.json.gz
begin_on_terminal root -- sleep 20
kill -TERM "$(half helper root)"
finish_on_terminal root
is "SIGTERM to the recorder reaches the command" "$status" 143
is_valid root.json.gz

# Time.
on_terminal "$prof" record -q -d 0.3 -o time.json.gz -- \
	sh -c 'echo $$ >pid; trap "" HUP; exec sleep 30'
is "-d: exit status" "$status" 0
ok "-d: the command goes on" kill "$(<pid)"
is_valid time.json.gz
on_terminal "$prof" record -q -d 0.3 --kill -o kill.json.gz -- sh -c 'echo $$ >pid; exec sleep 30'
is "-d --kill: exit status" "$status" 0
ok "-d --kill: the command has ended" is_gone "$(<pid)"

# Either half dies.
begin_on_terminal orphan -- sh -c 'echo $$ >pid; trap "" HUP; exec sleep 30'
kill -KILL "$(half helper orphan)"
finish_on_terminal orphan
is "the recorder is killed: exit status" "$status" 125
like "the recorder is killed: says what that means" "$out" \
	"recorder ended early \(signal 9\): no profile was written; the command continues with pid $(<pid)"
ok "the recorder is killed: the command goes on" kill "$(<pid)"
ok "the recorder is killed: no profile" test ! -e orphan.json.gz
begin_on_terminal alone -- sh -c 'echo $$ >pid; trap "" HUP; exec sleep 30'
kill -KILL "$(half front alone)"
wait "$driver"
ok "prof is killed: the recorder writes what there is" wait_until test -e alone.json.gz
is_valid alone.json.gz
ok "prof is killed: the command goes on" kill "$(<pid)"

# Passwords. Nothing is remembered for the next time.
sudoers "$user ALL=(ALL) ALL"
talk=('[Pp]assword[^\n]*: ' 'right one\n')
on_terminal sh -c "$prof record -o asked.json.gz -- sh -c 'id -u; exit 4'; echo \$?
	$prof record -o again.json.gz -- true"
is "the password is asked for once: exit status" "$status" 0
like "the password is asked for: says why" "$out" 'needs root: sudo asks for your password'
like "the password is asked for: the command is the caller's, and so is its status" "$out" \
	$'\n'"$uid"$'\n.*\n4\n'
like "the password is known: nothing is asked for" "$out" $'\n4\nprof: recording as root, by sudo; '
is_valid asked.json.gz
is_valid again.json.gz
rm -f "/run/sudo/ts/$user"
talk=('[Pp]assword[^\n]*: ' 'wrong\n' '[Pp]assword[^\n]*: ' 'wrong\n' '[Pp]assword[^\n]*: ' 'wrong\n')
on_terminal "$prof" record -o x.json.gz -- touch started
is "three wrong passwords: exit status" "$status" 125
like "three wrong passwords: what to do" "$out" "as root run: $prof record -o x.json.gz -- touch started"
talk=('[Pp]assword[^\n]*: ' '\x03')
on_terminal "$prof" record -o x.json.gz -- touch started
is "Ctrl-C instead of the password: exit status" "$status" 130
sudoers "$user ALL=(ALL) ALL" "Defaults:$user timestamp_timeout=0"
talk=('[Pp]assword[^\n]*: ' 'right one\n')
on_terminal "$prof" record -o x.json.gz -- touch started
is "sudo that remembers nothing: exit status" "$status" 125
like "sudo that remembers nothing: what to do" "$out" "run: sudo $prof record -o x.json.gz"
talk=()
ok "nothing was started or written" sh -c '! ls started x.json.gz 2>/dev/null'

# Cases in which sudo cannot be asked.
sudoers "$free"
refuses "no terminal" 125 "^[^"$'\n'"]*run: sudo $prof record -o x.json.gz -- touch 'a b' started\$" \
	as_user "$prof" record -o x.json.gz -- touch 'a b' started
# Printed arguments cannot pose as anything else: here, text after them runs from right to left.
run as_user "$prof" record -o x.json.gz -- touch $'a\xe2\x80\xaeb' started
is "a name with an invisible character: exit status" "$status" 125
like "a name with an invisible character: without it" "$err" "'?a\?+b'? started"
refuses "no terminal: attach" 125 "^[^"$'\n'"]*run: sudo $prof attach -p 1\$" as_user "$prof" attach -p 1
mkdir "$tmp/few"
ln -s "$(command -v touch)" "$tmp/few/touch"
on_terminal env PATH="$tmp/few" "$prof" record -o x.json.gz -- touch started
is "no sudo: exit status" "$status" 125
is "no sudo: one line" "$out" \
	"prof record: recording needs root, and sudo is not installed; as root (in a container: --user 0) run: $prof record -o x.json.gz -- touch started"
on_terminal "$prof" record --as-root -o x.json.gz -- touch started
is "--as-root: exit status" "$status" 125
like "--as-root: what to do" "$out" "run: sudo $prof record --as-root"
ok "nothing was started or written" sh -c '! ls started x.json.gz 2>/dev/null'

# The helper serves only the front end of the user for whom sudo runs it.
refuses "the helper: started by root" 125 'only prof itself can start this' \
	"$prof" --record-for-front-end record -o x.json.gz -- touch started
refuses "the helper: no socket" 125 'only prof itself can start this' \
	as_user sudo -n "$prof" --record-for-front-end record -o x.json.gz -- touch started
refuses "the helper: without root" 125 'only prof itself can start this' \
	as_user "$prof" --record-for-front-end record -o x.json.gz -- touch started
while IFS=: read -r case wanted; do
	run python3 "$root/tests/e2e/false_front.py" "$user" "$case" "$prof"
	like "the helper: $case" "$out$err" "^125 .*$wanted|$wanted.*125"
done <<'CASES'
another user's socket:the caller is user 0, but sudo runs this for user
a stream:only prof itself
no command:started no command
another user's command:the command belongs to user 0
no pidfd:the process for the command died
an ended command:the process for the command died
half a message:reach the caller
fewer descriptors than said:reach the caller
descriptors that do not exist:reach the caller
CASES
ok "nothing was started or written" sh -c '! ls started x.json.gz false.json.gz 2>/dev/null'

# Debug files are downloaded by the user, whose environment names servers and the cache.
build_id=$(readelf -n "$tmp/shares" | sed -n 's/.*Build ID: //p')
mkdir -p "served/buildid/$build_id"
objcopy --only-keep-debug "$tmp/shares" "served/buildid/$build_id/debuginfo"
strip -o bare "$tmp/shares"
mkdir cache
chown -R "$user:" served cache
on_terminal env DEBUGINFOD_URLS="file://$PWD/served" DEBUGINFOD_CACHE_PATH="$PWD/cache" \
	"$prof" record -q -o served.json.gz -- ./bare 0.2
judge "downloads: names from a server that only the user's environment names" served.json.gz \
	<<<'expect(within("sixty") > 80, within("sixty"))'
is "downloads: kept in the user's own cache" "$(stat -c %u "cache/$build_id/debuginfo")" "$uid"
on_terminal "$prof" record -q -o bare.json.gz -- ./bare 0.2
judge "downloads: without that there are no names" bare.json.gz \
	<<<'expect(within("sixty") == 0, within("sixty"))'

is "no temporary files are left" "$(leftovers . "$tmp")" ""
done_testing
