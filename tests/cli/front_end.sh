#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof on the terminal of a user without privileges, beside a sudo that is none: what it says when it
# gets no recorder, or one that ends before its time. Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

# Root runs prof as somebody else, who must be able to reach all files.
user=$(id -un)
[ "$(id -u)" -ne 0 ] || user=nobody
cp "$PROF" prof
cp "$built/cli/deny" deny
mkdir home fake no-sudo
chmod 777 home
at_exit+=("touch $tmp/fake/over")
chmod 755 prof deny no-sudo
chmod 777 fake
prof=$tmp/prof deny=$tmp/deny

# Messages as cmd/run/elevation.h has them: kind, value, and what is 0 here.
message() { # NAME KIND VALUE
	# shellcheck disable=SC2059 # escapes
	{
		printf "\\$(printf %o "$2")\0\0\0\\$(printf %o "$3")\0\0\0"
		head -c 528 /dev/zero
	} >"fake/$1"
}
message hello 1 0
message ready 3 0
message done-7 7 7
message done-300 7 44
printf 'no message' >fake/malformed
# Runs $tmp/fake/steps for `sudo -n -- PROF …`, and $tmp/fake/verify for `sudo -v`.
cat >fake/sudo <<'SHELL'
#!/bin/sh
cd "${0%/*}" || exit
send() { cat "$1" >&0; }
wait_long() { while [ ! -e over ]; do sleep 0.05; done; }
receive() { dd bs=1024 count=1 of=/dev/null 2>/dev/null; }
if [ "$1" = -v ]; then . ./verify; else . ./steps; fi
SHELL
chmod 755 fake/sudo

talk=() # pairs for on_terminal.py
on_terminal() { # COMMAND...
	(cd home && rm -f started went-on)
	run env -C home PATH="$tmp/fake:$PATH" python3 "$root/tests/e2e/on_terminal.py" "$user" "${talk[@]}" -- "$@"
}
# A recording of `touch started` by a sudo of these steps; the command is not to be started.
fails() { # DESCRIPTION STATUS REGEX STEPS [VERIFY] [-- COMMAND TO RUN PROF WITH...]
	local description=$1 wanted=$2 regex=$3
	printf '%s\n' "$4" >fake/steps
	printf '%s\n' "${5:-exit 1}" >fake/verify
	shift 5
	on_terminal "$@" "$prof" record -q -o x.json.gz -- touch started
	is "$description: exit status" "$status" "$wanted"
	like "$description: says so" "$out" "$regex"
	ok "$description: the command was not started" test ! -e home/started
	is "$description: nothing is left" "$(ls -A home)" ""
}

fails "sudo refuses the password" 125 'prof record: sudo did not allow it; as root run: .*/prof record -q -o' \
	'exit 1' 'exit 1'
fails "sudo starts nothing, and says why" 125 \
	'sudo could not start the recorder: sudo: not here'$'\n''prof record: run: sudo .*/prof record -q' \
	'echo first line >&2; printf "sudo: not here\n\n" >&2; exit 1' 'exit 0'
fails "sudo says it by escape sequences" 125 'sudo could not start the recorder: \?\[31mred' \
	'printf "\033[31mred" >&2; exit 1' 'exit 0'
fails "sudo starts nothing, and says nothing" 125 'sudo could not start the recorder: no message' \
	'exit 1' 'exit 0'
fails "what sudo starts is no recorder" 125 'sudo could not start the recorder: ' 'send ready; exit' 'exit 0'
fails "what sudo starts talks nonsense" 125 'sudo could not start the recorder: ' 'send malformed; exit' 'exit 0'
fails "a recorder that ends before it was asked for anything" 125 \
	'(the recorder ended early: no profile was written; the command was not run|reach the recorder)' \
	'send hello; exit' 'exit 0'
fails "a recorder that ends before it records" 125 \
	'the recorder ended early: no profile was written; the command was not run' \
	'send hello; receive; exit' 'exit 0'
fails "a recorder that is killed" 125 \
	'the recorder ended early \(signal 9\): no profile was written; the command was not run' \
	'send hello; receive; kill -9 $$' 'exit 0'
fails "a recorder that talks nonsense" 125 'the recorder ended early: no profile was written; the command' \
	'send hello; receive; send malformed; exit' 'exit 0'
fails "a recorder that refuses" 7 '' 'send hello; receive; send done-7; exit' 'exit 0'

talk=('verified' '\x03')
fails "Ctrl-C before the recorder is there" 130 '' '[ -e asked ] && wait_long; exit 1' \
	'touch asked; echo verified >/dev/tty; exit 0'
talk=('Passphrase' '\x03')
fails "Ctrl-C instead of the password" 130 '' 'exit 1' 'echo Passphrase: >/dev/tty; wait_long'
talk=()
touch fake/over

# A command goes on when its recorder is gone. The terminal's end must find it deaf to SIGHUP.
printf '%s\n' 'send hello; receive; send ready; receive' \
	'while [ ! -e ../home/deaf ]; do sleep 0.02; done' >fake/steps
on_terminal "$prof" record -q -o x.json.gz -- \
	sh -c 'trap "" HUP; : >deaf; while [ ! -e go ]; do sleep 0.02; done; : >went-on'
is "a recorder that ends while the command runs: exit status" "$status" 125
like "a recorder that ends while the command runs: the command goes on" "$out" \
	'no profile was written; the command continues with pid [0-9]+'
touch home/go
ok "a recorder that ends while the command runs: it does go on" wait_until test -e home/went-on
rm -f home/go home/deaf
printf '%s\n' 'send hello; receive; send ready; receive; receive; send done-7; exit' >fake/steps
on_terminal "$prof" record -q -o x.json.gz -- touch started
is "a recorder that has written: its status is prof's" "$status" 7
ok "a recorder that has written: the command has run" test -e home/started
printf '%s\n' 'send hello; receive; send ready; receive; exit' >fake/steps
on_terminal env DEBUGINFOD_URLS=http://127.0.0.1:9 "$prof" record -q -o x.json.gz -- true
like "a recorder that ends after the command: no word of the command" "$out" \
	'no profile was written'

# Things that are missing before sudo is asked.
fails "no signals" 125 'cannot receive signals: Too many open files' 'exit 1' 'exit 1' "$deny" signalfd4=EMFILE --
fails "no sockets" 125 'cannot create a socket pair: Too many open files' 'exit 1' 'exit 1' "$deny" socketpair=EMFILE --
fails "no pidfd" 125 'start sudo: Too many open files' 'exit 1' 'exit 1' "$deny" pidfd_open=EMFILE --
fails "no path of its own" 125 'read /proc/self/exe: Input/output error' 'exit 1' 'exit 1' \
	"$deny" readlink=EIO readlinkat=EIO --
# shellcheck disable=SC2016 # for the inner shell
fails "another prof in its place" 125 'prof was replaced in the meantime: run it again' 'exit 1' 'exit 1' \
	sh -c 'cp "$1" copy && exec 3<copy && rm copy && shift && exec /proc/self/fd/3 "$@"' sh
fails "no sudo" 125 'recording needs root, and sudo is not installed; as root \(in a container: --user 0\) run: .*prof record' \
	'exit 1' 'exit 1' env PATH="$tmp/no-sudo"
fails "no terminal" 125 'sudo is used only on a terminal; run: sudo .*prof record' 'exit 1' 'exit 1' \
	setsid -w
on_terminal "$prof" record --as-root -- touch started
is "--as-root: exit status" "$status" 125
like "--as-root: what to run" "$out" '--as-root needs root; run: sudo .*prof record --as-root'
done_testing
