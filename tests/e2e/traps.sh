#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Links, FIFOs, devices and mounts that another user's program puts in the recorder's way: nothing
# behind them gets into the profile, and nothing blocks the recorder.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

user=nobody
uid=$(id -u $user)
as_user() {
	setpriv --reuid="$uid" --regid="$(id -g $user)" --clear-groups "$@"
}
mkdir -m 700 secret
mkdir theirs shared
chown $user theirs
chmod 1777 shared
mkfifo go gone

# Waits for the recorder, which nothing may block.
ends() { # NAME
	wait_until is_gone "$recorder" || kill -KILL "$recorder"
	finish "$1" 0
}
nothing_of_it() { # NAME
	ok "$1: nothing of it" sh -c "zcat $1.json.gz >text && ! grep -q precious text"
}

# Perf maps. COMMAND gets $map, $pid, and a secret map that would name all the code.
program=$workloads/anon_code
map_trap() { # NAME RUNNER COMMAND
	local name=$1 address size
	rm -f said
	# shellcheck disable=SC2086 # a command and its arguments
	$2 "$program" 0.3 <go >said &
	exec 4>go
	wait_until test -s said
	read -t 120 -r pid address size <>said
	map=/tmp/perf-$pid.map
	at_exit+=("umount $map 2>/dev/null; rm -rf $map")
	echo "$address $size precious" >secret/map
	chmod 600 secret/map
	echo "$address $size own_code" >theirs/map
	chown $user theirs/map
	eval "$3"
	begin "$name" attach -p "$pid"
	echo >&4
	exec 4>&-
	ends "$name"
	rm -rf "$map"
}
lease() { # FILE
	rm -f leased
	start as_user /usr/bin/python3 -c 'import fcntl, os, sys, time
fcntl.fcntl(os.open(sys.argv[1], os.O_RDWR), fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("leased", flush=True)
time.sleep(100)' "$1" >leased
	wait_until test -s leased
}
own_code_is_named() { # NAME
	judge "$1: its own names the code" "$1.json.gz" \
		<<<'expect(within("own_code") > 100, within("own_code"))'
}
# shellcheck disable=SC2016 # for eval
map_traps() {
	map_trap map as_user 'cp -p theirs/map $map'
	own_code_is_named map
	map_trap map-link as_user 'as_user ln -s "$tmp/secret/map" $map'
	nothing_of_it map-link
	map_trap map-of-root as_user 'cp secret/map $map && chmod 600 $map'
	nothing_of_it map-of-root
	map_trap map-fifo as_user 'mkfifo $map && chown $user $map'
	map_trap map-device as_user 'mknod $map c 1 5 && chown $user $map'
	map_trap map-folder as_user 'as_user mkdir $map'
	map_trap map-mounted "unshare --mount setpriv --reuid=$uid" \
		'touch $map; nsenter -t $pid --mount mount --bind "$tmp/secret/map" $map'
	nothing_of_it map-mounted
	# A lease blocks everyone who opens the file until it is given up.
	map_trap map-lease as_user 'cp -p theirs/map $map; lease $map'
	# Links in a process's own root are followed inside it.
	program=/anon_code
	map_trap map-jail "chroot jail" 'mkdir jail/tmp; cp theirs/map jail/tmp/perf-$pid.map
		chown root jail/tmp/perf-$pid.map'
	own_code_is_named map-jail
	rm -r jail/tmp
	map_trap map-jail-link "chroot jail" 'ln -s "$tmp/secret" jail/tmp; cp secret/map secret/perf-$pid.map'
	nothing_of_it map-jail-link
}
mkdir -p jail/proc
build_static() { # OUTPUT SOURCE FLAG...
	cc -O2 -g -fno-omit-frame-pointer -D_GNU_SOURCE -I "$root" -static -o "$1" "${@:3}" "$2"
}
build_static jail/anon_code "$root/tests/workloads/anon_code.c"
map_traps

# The path of a program that is gone when the recorder looks at it: the recorder is stopped while
# the program runs, so only the path tells the file.
sed 's/sixty/own_code/' "$root/tests/workloads/shares.c" >own.c
sed 's/sixty/precious/' "$root/tests/workloads/shares.c" >secret/own.c
build_static own own.c -Wl,--build-id=none
build_static secret/own secret/own.c -Wl,--build-id=none
chmod 700 secret/own
path_trap() { # NAME COMMAND
	rm -rf place away
	mkdir place
	chown $user place
	cp own place/own
	# shellcheck disable=SC2016 # for the inner shell
	begin "$1" record -a --comm own -- \
		sh -c 'read _ <go; "$@" place/own 0.3; echo >gone; read _ <go' sh \
		setpriv --reuid="$uid" --regid="$(id -g $user)" --clear-groups
	kill -STOP "$recorder"
	echo >go
	read -t 120 -r _ <>gone
	eval "$2"
	kill -CONT "$recorder"
	echo >go
	ends "$1"
}
# shellcheck disable=SC2016 # for eval
path_traps() {
	path_trap path :
	own_code_is_named path
	path_trap path-link 'as_user ln -sf "$tmp/secret/own" place/own'
	nothing_of_it path-link
	path_trap path-folder 'mv place away; ln -s secret place'
	nothing_of_it path-folder
	path_trap path-other 'cp secret/own place/new; mv place/new place/own'
	nothing_of_it path-other
	path_trap path-mounted 'mount --bind secret/own place/own'
	umount place/own
	nothing_of_it path-mounted
	path_trap path-fifo 'rm place/own; as_user mkfifo place/own'
	path_trap path-device 'rm place/own; mknod -m 666 place/own c 1 5'
	path_trap path-lease 'chown $user place/own; lease place/own'
}
path_traps

# While the program runs, the mapping leads to the file, whatever took its path.
cp own place/own
# shellcheck disable=SC2016 # for the inner shell
record deleted 0 -- sh -c 'place/own 0.3 & while ! grep -q place/own /proc/$!/maps; do :; done
	ln -sf "$0" place/own; wait' "$tmp/secret/own"
own_code_is_named deleted
nothing_of_it deleted

# Debug files, next to the program and by build id. They are read with the invoking user's
# permissions.
build_static bare own.c -Wl,--build-id
sed 's/sixty/own_code/; s/burn_ms/precious/' "$root/tests/workloads/shares.c" >secret/lines.c
objcopy --only-keep-debug bare debug
objcopy --strip-all --add-gnu-debuglink=debug bare stripped
id=$(readelf -n bare | sed -n 's/.*Build ID: //p')
by_id=usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
# COMMAND replaces a debug file by a trap, $@ is the program.
debug_trap() { # NAME COMMAND OPTION... -- PROGRAM
	local name=$1 command=$2
	shift 2
	rm -rf place jail/place jail/usr secret/debug outside
	mkdir -p place jail/place "jail/$(dirname "$by_id")" outside
	cp stripped place/own
	cp stripped jail/place/own
	cp debug outside
	eval "$command"
	run env SUDO_UID="$uid" SUDO_GID="$(id -g $user)" timeout -s KILL 100 "$PROF" record -q \
		-o "theirs/$name.json.gz" "$@" 0.3
	is "$name: recorded" "$status" 0
	mv "theirs/$name.json.gz" .
}
it_was_not_read() { # NAME
	judge "$1: it was not read" "$1.json.gz" \
		<<<'expect(samples() and not within("own_code"), within("own_code"))'
}
# shellcheck disable=SC2016 # for eval
debug_traps() {
	debug_trap debug 'cp debug place/debug' -- place/own
	own_code_is_named debug
	debug_trap debug-link 'cp debug secret; ln -s "$tmp/secret/debug" place' -- place/own
	it_was_not_read debug-link
	debug_trap debug-of-root 'install -m 600 debug place/debug' -- place/own
	it_was_not_read debug-of-root
	debug_trap debug-fifo 'mkfifo place/debug' -- place/own
	it_was_not_read debug-fifo
	debug_trap debug-device 'ln -s /dev/zero place/debug' -- place/own
	it_was_not_read debug-device
	debug_trap debug-lease 'cp debug place; chown $user place/debug; lease place/debug' -- place/own
	local jailed=(--as-root -- chroot jail /place/own)
	debug_trap debug-jail 'cp debug jail/place' "${jailed[@]}"
	own_code_is_named debug-jail
	debug_trap debug-jail-link 'ln -s "$tmp/outside/debug" jail/place' "${jailed[@]}"
	it_was_not_read debug-jail-link
	debug_trap debug-jail-id 'cp debug jail/$by_id' "${jailed[@]}"
	own_code_is_named debug-jail-id
	debug_trap debug-jail-id-link 'ln -s "$tmp/outside/debug" jail/$by_id' "${jailed[@]}"
	it_was_not_read debug-jail-id-link
	debug_trap debug-jail-up 'ln -s ../../../../../../../../outside/debug jail/place' "${jailed[@]}"
	it_was_not_read debug-jail-up
}
debug_traps

# The profile goes to a folder in which everybody may write.
as_user mkfifo shared/fifo.json
as_user ln -s "$tmp/secret/own.c" shared/link.json
before=$(<secret/own.c)
refuses "another user's FIFO" 125 "the FIFO belongs to another user" \
	"$PROF" record -o shared/fifo.json -- touch started
refuses "another user's FIFO, for --stats" 125 "the FIFO belongs to another user" \
	"$PROF" record -o x.json --stats shared/fifo.json -- touch started
run "$PROF" record -q -o shared/link.json -- true
is "another user's link: exit status" "$status" 0
ok "another user's link: it is replaced" test -f shared/link.json -a ! -L shared/link.json
is "another user's link: what it led to" "$(<secret/own.c)" "$before"
rm shared/link.json
as_user ln -s "$tmp/secret/own.c" shared/link.json
refuses "another user's link, as a third user" 125 'permitted' env SUDO_UID=12345 SUDO_GID=12345 \
	"$PROF" record -o shared/link.json -- touch started

done_testing
