#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Recordings by a user without privileges, on a terminal: prof asks sudo for a recorder.
. "$(dirname "$0")/lib.sh"

# Where others may reach it: the source may lie in somebody's home.
cp "$PROF" prof
cp "$workloads/shares" shares
chmod 755 prof shares
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

# What the command sees is what it sees without prof.
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
			bash -c "umask 027; ulimit -n 321; ulimit -c 0; $how mytool see.sh"
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

# What cannot be run.
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

# Without a command.
start setpriv --reuid="$uid" --regid="$gid" --init-groups "$tmp/shares" 20
on_terminal "$prof" attach -o attached.json.gz -d 0.3 -p "$started"
is "attach: exit status" "$status" 0
like "attach: says what it does" "$out" $'by sudo\n'
judge "attach: it was recorded" attached.json.gz <<<'expect(within("sixty") > 50, within("sixty"))'
on_terminal "$prof" attach -o none.json.gz -p 4000000
is "attach: no such process: exit status" "$status" 125
on_terminal "$prof" record -q -a -d 0.3 -o all.json.gz
is "-a: exit status" "$status" 0
judge "-a: everybody is in it" all.json.gz <<<'expect(len({t["pid"] for t in p["threads"]}) > 5, check_profile.thread_names(p))'
on_terminal "$prof" record -q -a -o all.json.gz -- sh -c 'exit 3'
is "-a with a command: its exit status" "$status" 3
kill "$started"

is "no temporary files are left" "$(leftovers . "$tmp")" ""
done_testing
