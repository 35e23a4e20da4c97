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
run "$PROF" attach --name "nobody-$$,named-$$" -d 0.2 -o name.json.gz
is "name: exit status" "$status" 0
like "name: says who that is" "$err" "^prof: attached to named-$$ \($named\)"
is "name: only that one" "$(names_of name.json.gz)" "named-$$"
run "$PROF" attach -q --name "*named-$$ *60" -d 0.2 -o line.json.gz
is "name: a command line" "$status$(names_of line.json.gz)" "0named-$$"
kill "$named"
wait "$named" 2>/dev/null
refuses "name: nobody" 125 'no process with the name nobody' "$PROF" attach --name "nobody*"
refuses "name: empty" 2 'must not be empty' "$PROF" attach --name ''
# Leave out what has started prof, which carries the same arguments.
# shellcheck disable=SC2016 # for its shell
refuses "name: not the shell" 125 'no process' bash -c '"$0" attach --name "*attach --name xyz*"; exit $?' "$PROF"

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
refuses "unit: nobody is in it" 125 'no process is in it' "$PROF" attach --unit "$unit.service"
refuses "unit: no such one" 125 'no process runs in such' "$PROF" attach --unit "$unit.nothing"
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
enter again 1
run "$PROF" attach -q --cgroup "$group" -o cgroup.json.gz
is "cgroup: its process" "$status$(names_of cgroup.json.gz)" "0again (${id:0:12})"
done_testing
