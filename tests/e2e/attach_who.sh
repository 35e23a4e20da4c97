#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof attach: processes that are meant by names, units, containers and control groups, and waiting
# for them.
# May run beside others.
. "$(dirname "$0")/lib.sh"

spin=$workloads/spin
# Makes $1 a group of version 2, or of version 1 with controllers, that goes with the script.
make_group() { # PATH
	local mount
	mount=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[ -n "$mount" ] ||
		mount=$(awk '$3 == "cgroup" && $4 ~ /pids|freezer|memory/ { print $2; exit }' /proc/mounts)
	group=$mount/$1
	mkdir -p "$group"
	at_exit+=("cd $mount && for i in 1 2 3 4 5; do rmdir -p $1 2>/dev/null || sleep .1; done; cd $tmp")
}
# Starts a copy of spin in the group: sets $started. It is there when this returns.
enter() { # NAME SECONDS
	cp "$spin" "$1"
	# shellcheck disable=SC2016 # for its shell
	start sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "./$1" die "$2" >/dev/null
	wait_until grep -qx "$1" "/proc/$started/comm"
}
names_of() { # FILE
	python3 -c 'import gzip, json, sys
p = json.load(gzip.open(sys.argv[1]))
print(*sorted({t["processName"] for t in p["threads"]}))' "$1"
}
id=$(printf '%08x%056d' $$ 7)
unit=prof-test-$$

# A name is that of the task or of the program; a glob with a space spans the command line.
cp "$spin" "named-$$"
start "./named-$$" die 60 >/dev/null
named=$started
wait_until grep -qx "named-$$" "/proc/$named/comm"
run "$PROF" attach --name "nobody-$$,named-$$" -d 0.2 -o name.json.gz
is "name: exit status" "$status" 0
like "name: says who that is" "$err" "^prof: attached to named-$$ \($named\)"
is "name: only that one" "$(names_of name.json.gz)" "named-$$"
run "$PROF" attach -q --name "*named-$$ *60" -d 0.2 -o line.json.gz
is "name: a command line" "$status$(names_of line.json.gz)" "0named-$$"
kill "$named"
wait "$named" 2>/dev/null
refuses "name: nobody" 125 'no process is named nobody' "$PROF" attach --name "nobody*"
refuses "name: empty" 2 'must not be empty' "$PROF" attach --name ''
# Leave out what has started prof, which carries the same arguments.
# shellcheck disable=SC2016 # for its shell
refuses "name: not the shell" 125 'no process' bash -c '"$0" attach --name "*attach --name xyz*"; exit $?' "$PROF"

# The recorder is a child of what it attaches to.
# shellcheck disable=SC2016 # for its shell
run bash -c '"$0" attach -q -p $$ -d 0.2 -o parent.json.gz; exit $?' "$PROF"
is "the shell that runs it: only that one" "$status$(names_of parent.json.gz)" 0bash

# A unit is its control group: whoever comes later belongs to it, and it ends with the last one.
make_group "prof-test-$$.slice/$unit.service"
enter first 1.2
"$PROF" attach --unit "$unit" -o unit.json.gz >unit.out 2>unit.err &
recorder=$!
wait_until grep -q attached unit.err
enter later 2
wait $recorder
is "unit: exit status" $? 0
is "unit: also who came later" "$(names_of unit.json.gz)" "first ($unit.service) later ($unit.service)"
judge "unit: it is the subject, with waits" unit.json.gz <<'CODE'
expect(p["meta"]["product"] == "first", p["meta"]["product"])
expect(within("spinning") > 1500, within("spinning"))
CODE
refuses "unit: nobody is in it" 125 'no process in this control group' "$PROF" attach --unit "$unit.service"
refuses "unit: no such one" 125 'no process runs in a matching' "$PROF" attach --unit "$unit.nothing"
refuses "unit: not with a pid" 2 'unit: not with --pid' "$PROF" attach --unit "$unit" -p 1

# A container, by the beginning of its id; prof waits for it.
"$PROF" attach --container "${id:0:12}" --wait -o container.json.gz >container.out 2>container.err &
recorder=$!
wait_until grep -q waiting container.err
make_group "prof-test-$$.slice/docker-$id.scope"
enter boxed 1
wait $recorder
is "container: exit status" $? 0
is "container: its process" "$(names_of container.json.gz)" "boxed (${id:0:12})"

# Names of containers, in the lists that Podman keeps: in a namespace with such lists alone.
enter named 600
boxed=$started
kill -STOP "$boxed" # it need only be there
other=$(printf '%08x%056d' $$ 8)
storage=/var/lib/containers/storage
cat >passwd <<USERS
root:x:0:0::$tmp/root:/bin/sh
somebody:x:54321:54321::$tmp/home:/bin/sh
USERS
mkdir -p root home/.local/share/containers home/.config/containers out
chmod 1777 out
chmod a+rx . home
start setpriv --reuid 54321 --regid 54321 --clear-groups sleep infinity
somebody=$started
ask() { # NAME SETUP [VARIABLE...]: SETUP calls list, which writes one that has an id by a name
	local name=$1 setup=$2
	shift 2
	rm -f out/named.json.gz
	# shellcheck disable=SC2016 # for the inner shell
	run unshare -m env -u SUDO_UID -u SUDO_GID HOME="$tmp/root" "$@" bash -c '
		list() { echo "[{\"id\": \"$1\", \"names\": [\"x\", \"$2\"]}]"; }
		id=$1 other=$2 storage=$3 home=$4/home
		mount -t tmpfs none /var/lib && cp -a /etc /var/lib && mount --bind /var/lib/etc /etc || exit
		cp "$4/passwd" /etc && rm -rf /etc/containers && mkdir /etc/containers
		mkdir -p "$storage"/{overlay,vfs,btrfs}-containers
		eval "$5" && exec "${@:6}"' sh "$id" "$other" $storage "$tmp" "$setup" \
		"$PROF" attach -q --container "$name" -d 0.2 -o out/named.json.gz
}
finds() { # DESCRIPTION NAME SETUP [VARIABLE...]: the profile has the name, too
	ask "${@:2}"
	# Events of a busy machine may be lost, which is said.
	err=$(grep -v '^prof: warning: events about' <<<"$err")
	is "container name: $1" "$status$err$(names_of out/named.json.gz)" "0named ($2)"
}
misses() { # DESCRIPTION REGEX SETUP
	ask web "$3"
	is "container name: $1: exit status" "$status" 125
	like "container name: $1" "$err" "$2"
}
# shellcheck disable=SC2016 # for the inner shell
{
	finds "overlay" web 'list $id web >$storage/overlay-containers/containers.json'
	finds "run --rm" web 'list $id web >$storage/overlay-containers/volatile-containers.json'
	finds "vfs" web 'list $id web >$storage/vfs-containers/containers.json'
	finds "beside one that ended" web 'list $id web >$storage/btrfs-containers/containers.json
		list $other web >$storage/overlay-containers/containers.json'
	finds "the beginning of an id" "${id:0:12}" :
	finds "a configured root" web 'mkdir -p /var/lib/x/zfs-containers &&
		printf "[storage]\ndriver = \"zfs\"\n  graphroot = \"/var/lib/x\"\n" >/etc/containers/storage.conf
		list $id web >/var/lib/x/zfs-containers/containers.json'
	theirs='mount -t tmpfs none $home/.local/share/containers &&
		mkdir -p $home/.local/share/containers/storage/vfs-containers &&
		list $id web >$home/.local/share/containers/storage/vfs-containers/containers.json'
	chown 54321 "$group"
	finds "of a user who runs something" web "$theirs"
	finds "of the user of sudo" web "$theirs" SUDO_UID=54321 SUDO_GID=54321
	finds "the user's configured root" web 'mount -t tmpfs none $home/.config/containers &&
		mkdir -p $home/.config/containers/s/vfs-containers &&
		echo "graphroot = \"\$HOME/.config/containers/s\"" >$home/.config/containers/storage.conf &&
		list $id web >$home/.config/containers/s/vfs-containers/containers.json'
	chown 0 "$group"
}
unknown='no container with that name or id.*first 12 digits'
# shellcheck disable=SC2016 # for the inner shell
{
	misses "unknown" "$unknown" :
	# Lists belong to users, who may write anything to them, but not what root alone may read.
	misses "no id" "$unknown" 'list ${id:0:12} web >$storage/vfs-containers/containers.json'
	misses "no list" "$unknown" 'mkfifo $storage/vfs-containers/containers.json'
	misses "a list of root's" "$unknown" 'mkdir -m 700 /var/lib/own && list $id web >/var/lib/own/list &&
		mount -t tmpfs none $home/.local/share/containers &&
		mkdir -p $home/.local/share/containers/storage/vfs-containers &&
		ln -s /var/lib/own/list $home/.local/share/containers/storage/vfs-containers/containers.json'
	misses "a name that somebody gives to the container of another" "no process runs in a control group of ${id:0:12}" "$theirs"
	misses "it does not run" "no process runs in a control group of ${other:0:12}.*podman inspect" \
		'list $other web >$storage/vfs-containers/containers.json'
	both='list $id web >$storage/vfs-containers/containers.json
		list $other web >$storage/overlay-containers/containers.json'
}
first=$group
make_group "prof-test-$$.slice/docker-$other.scope"
misses "two that run" 'several running containers have that name.*first 12 digits' "$both"
group=$first
kill -KILL "$somebody" "$boxed"
enter again 1
run "$PROF" attach -q --cgroup "$group" -o cgroup.json.gz
is "cgroup: its process" "$status$(names_of cgroup.json.gz)" "0again (${id:0:12})"
done_testing
