#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs in containers, or in parts of one: namespaces, roots and control groups.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

# A root with a libc of its own: another build id, which no file of this machine has.
jail=$tmp/jail
mkdir -p "$jail/proc" "$jail/dev" "$jail/tmp"
cp "$workloads/shares" "$jail/shares"
ldd "$workloads/shares" | grep -o '/[^ ]*' | while read -r library; do
	mkdir -p "$jail$(dirname "$library")"
	cp -L "$library" "$jail$library"
done
cat >brand.py <<'CODE'
import struct
import sys
path, byte = sys.argv[1], int(sys.argv[2])
data = open(path, "rb").read()
at = data.index(struct.pack("<III", 4, 20, 3) + b"GNU\0") + 16
open(path, "wb").write(data[:at] + bytes([byte] * 20) + data[at + 20:])
CODE
libc=$(ldd "$workloads/shares" | grep -o '/[^ ]*libc\.so\.6')
python3 brand.py "$jail$libc" 171
named() { # NAME BYTE: it was the libc with that build id, and all is named
	judge "$1: its own libc, and names" "$1.json.gz" "$2" <<'CODE'
# The program that enters the root may have been sampled in the machine's libc, too.
ids = [lib["codeId"] for lib in p["libs"] if lib["name"] == "libc.so.6"]
expect(f"{int(args[0]):02x}" * 20 in ids, ids)
expect(within("sixty") > 100, f"{within('sixty')} samples in sixty()")
expect(within("__libc_start_main") > 0.9 * within("sixty"), "no __libc_start_main()")
CODE
}
record root 0 -- chroot "$jail" /shares 0.4
named root 171

# Files that exist only while the program runs, and no path leads to them from outside.
mkdir mounted
cat >private <<'SHELL'
mount -t tmpfs tmpfs mounted && cp -a jail/. mounted/ && chroot mounted /shares 0.4
SHELL
record private 0 -- unshare --mount sh private
named private 171

# A mapping of an overlay has the inode of the layer below.
mkdir merged
cat >layers <<'SHELL'
mount -t tmpfs tmpfs mounted && mkdir mounted/upper mounted/work &&
	mount -t overlay overlay -o lowerdir=jail,upperdir=mounted/upper,workdir=mounted/work merged &&
	python3 brand.py "merged$1" 172 && chroot merged /shares 0.4
SHELL
record overlay 0 -- unshare --mount sh layers "$libc"
named overlay 172

cp "$workloads/shares" gone
record deleted 0 -- sh -c './gone 0.5 & until readlink /proc/$!/exe | grep -q gone; do :; done; rm gone; wait'
judge "deleted while it runs: names" deleted.json.gz \
	<<<'expect(within("sixty") > 100, within("sixty"))'

# Links inside a process's root never lead out.
mkdir -p "$jail/data"
printf 'precious' >"$tmp/secret"
ln -s "$tmp/secret" "$jail/data/link"
record links 0 -- chroot "$jail" /shares 0.1
ok "nothing of a file behind a link is in the profile" \
	sh -c '! zcat links.json.gz | grep -q precious'

# Advice on a file without names is about the system that it is from.
mkdir -p "$jail/usr/bin" "$jail/etc" "$jail/var/lib/dpkg/info"
strip -o "$jail/usr/bin/shares-$$" "$workloads/shares"
echo 'ID=debian' >"$jail/etc/os-release"
echo "/usr/bin/shares-$$" >"$jail/var/lib/dpkg/info/of-the-jail.list"
unset DEBUGINFOD_URLS
run "$PROF" record -o advice.json.gz -- chroot "$jail" "/usr/bin/shares-$$" 0.2
like "advice after the end: it is another system's" "$err" \
	"of /usr/bin/shares-$$, which has no names: it is a file of shares-$$ that differs from the one of that name on this machine: set DEBUGINFOD_URLS"
mkdir "$jail/before"
# shellcheck disable=SC2016 # for the inner shell
start unshare --mount sh -c 'mount --bind "$1" "$1" && cd "$1" && pivot_root . before && exec "$2" 60' sh \
	"$jail" "/usr/bin/shares-$$"
wait_until grep -q shares /proc/"$started"/comm
run "$PROF" attach -d 0.3 -o advice.json.gz -p "$started"
like "advice while it runs: that system's package" "$err" \
	'which has no names: it is in the container or root of shares-[0-9]+, so there install of-the-jail-dbgsym, after adding the archive of debug packages to apt.s sources, or set'
# A link in the root leads nowhere else.
rm "$jail/etc/os-release"
ln -s "$tmp/os-release" "$jail/etc/os-release"
cp /etc/os-release "$tmp/os-release"
run "$PROF" attach -d 0.3 -o advice.json.gz -p "$started"
like "advice while it runs: no word of another root's files" "$err" \
	'it is in the container or root of shares-[0-9]+, so there set DEBUGINFOD_URLS to the debuginfod server of its'
kill "$started"

group=/sys/fs/cgroup
for path in /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
	[ ! -e $path/cgroup.procs ] || { group=$path && break; }
done
id=$(printf '%064d' $$)
container=$group/docker/$id
service=$group/prof-e2e-$$.service
ok "control groups can be made" mkdir -p "$container" "$service"
at_exit+=("rmdir '$container' '$service' '$group/docker' 2>/dev/null")
cat >runtime <<'SHELL'
echo $$ >"$1/cgroup.procs"
exec "$2" 0.2
SHELL
cat >both <<'SHELL'
sh runtime "$1" ./shares
unshare --pid --fork sh runtime "$2" ./shares
SHELL
cp "$workloads/shares" shares
record homes 0 -- sh both "$service" "$container"
judge "container and service are told beside the name" homes.json.gz "$id" "prof-e2e-$$.service" <<'CODE'
names = {t["processName"] for t in p["threads"] if t["name"] == "shares"}
wanted = {f"shares (pid 1 in {args[0][:12]})", f"shares ({args[1]})"}
expect(names == wanted, (names, wanted))
expect({t["processName"] for t in p["threads"] if t["name"] == "sh"} == {"sh"},
       check_profile.thread_names(p))
paths = {p["shared"]["stringArray"][data["path"]] for t in p["threads"]
         for data in t["markers"]["data"] if data["type"] == "cgroup"}
expect(any(path.endswith(f"/docker/{args[0]}") for path in paths), paths)
CODE

# A CPU limit is told from other programs that take the CPU, even of a group that is gone by the end.
make_group cpu
set_quota 5 100
limited=$group/inner
mkdir "$limited"
[ $version = 2 ] || cat "$group/cpu.cfs_period_us" >"$limited/cpu.cfs_period_us"
record limit 0 -- sh -c "sh -c 'echo \$\$ >$limited/cgroup.procs && exec ./shares 0.1'; rmdir $limited"
line=$(grep -o 'prof-e2e-cpu.*' <<<"$err")
like "a CPU limit: what it held back" "$line" '^prof-e2e-cpu\.[0-9]+: held back by its CPU limit in ([0-9]+) of ([0-9]+) periods, [0-9.]+ s$'
[[ $line =~ in\ ([0-9]+)\ of\ ([0-9]+)\ periods ]]
periods=${BASH_REMATCH[0]#in } held=${BASH_REMATCH[1]}
ok "a CPU limit: in most periods" test "$held" -gt 5 -a "$((2 * held))" -gt "${BASH_REMATCH[2]}"
run "$PROF" info limit.json.gz
like "a CPU limit: in the profile, too" "$out" \
	"Held back by the CPU limit of /[^ ]*prof-e2e-cpu\.[0-9]+ $periods"
is "a CPU limit: for scripts" "$(stat_of limit cpu_limits | grep -o throttled_ms | uniq)" throttled_ms

run "$PROF" report --process shares homes.json.gz
is "they are asked for by the program" "$status" 0
refuses "a program that is none of them" 125 'heaviest processes: shares' \
	"$PROF" report --process nobody homes.json.gz
run "$PROF" report --process "shares (prof-e2e-$$.service)" --by pid homes.json.gz
like "or by the whole name" "$out" "shares \(prof-e2e-$$.service\)"
# Each run has a container of its own.
record inside 0 -- unshare --pid --fork sh runtime "$container" ./shares
record outside 0 -- sh -c 'exec ./shares 0.2'
run "$PROF" diff --by process inside.json.gz outside.json.gz
like "runs are compared" "$out" ' shares'
unlike "by the program alone" "$out" 'shares \('
judge "a profile is named after what its launcher started" inside.json.gz \
	<<<'expect(p["meta"]["product"] == "shares", p["meta"]["product"])'
judge "any other command names it itself" outside.json.gz \
	<<<'expect(p["meta"]["product"] == "sh", p["meta"]["product"])'

# All CPUs are recorded, whatever CPUs the recorder may use.
if [ "$(nproc)" -gt 1 ]; then
	run taskset -c 0 "$PROF" record -q -o pinned.json.gz --stats pinned.stats -- \
		taskset -c 1 "$workloads/shares" 0.4
	judge "a recorder that is bound to one CPU records another" pinned.json.gz \
		<<<'at_least(400, "main")'
fi

done_testing
