#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Recording without privileges, and as root for another user by sudo.
. "$(dirname "$0")/lib.sh"

# A folder that others can reach: the source may be in somebody's home.
cp "$PROF" prof
cp "$workloads/shares" shares
chmod 755 prof shares
prof=$tmp/prof

user=prof-e2e-$$
group=prof-e2e-group-$$
at_exit+=("userdel $user 2>/dev/null; groupdel $group 2>/dev/null; rm -f /etc/sudoers.d/$user{,-pty}")
groupadd "$group"
ok "a user can be added" useradd --no-create-home --home-dir "$tmp/home" --groups "$group" "$user"
mkdir home
chown "$user:" home
uid=$(id -u "$user")
gid=$(id -g "$user")
as_user() {
	setpriv --reuid="$uid" --regid="$gid" --init-groups "$@"
}

cd home || exit 1
refuses "without privileges: says what is missing" 125 'root|sudo|CAP_|perf_event_paranoid' \
	as_user "$prof" record -o x.json.gz -- touch started
run as_user "$prof" check
is "prof check: exit status without privileges" "$status" 1
like "prof check: what to do" "$out" 'sudo|setcap|root'
run as_user "$prof" check --json
is "prof check --json: exit status without privileges" "$status" 1
ok "prof check --json: JSON" python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$tmp/.out"

# Under sudo, the command runs as the caller, who owns the profile.
echo "$user ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/$user
chmod 440 /etc/sudoers.d/$user
refuses "a folder of root's" 125 'ermission denied' \
	as_user sudo -n "$prof" record -o /root/x.json.gz -- touch started
cat >identity <<'SHELL'
id -u
id -g
id -G
echo "$HOME $USER $LOGNAME"
grep CapEff /proc/self/status
SHELL
run as_user sudo -n "$prof" record -q -o sudo.json.gz --stats sudo.stats -- sh identity
is "sudo: exit status" "$status" 0
is "sudo: uid, gid, groups, environment, capabilities of the command" "$out" \
	"$uid"$'\n'"$gid"$'\n'"$(id -G "$user")"$'\n'"$tmp/home $user $user"$'\n'"CapEff:	0000000000000000"
is "sudo: whose profile" "$(stat -c '%u %g %a' sudo.json.gz)" "$uid $gid 600"
is "sudo: whose --stats" "$(stat -c '%u %g' sudo.stats)" "$uid $gid"
judge "sudo: the profile" sudo.json.gz <<<'expect(p["threads"][0]["name"] == "sh", p["threads"][0])'

# The environment is the caller's, as without sudo.
mkdir "$tmp/tools"
# shellcheck disable=SC2016 # for the inner shell
printf '#!/bin/sh\necho "$MARK $OTHER $LD_LIBRARY_PATH $PATH"\nexit 3\n' >"$tmp/tools/mytool"
chmod 755 "$tmp/tools/mytool"
for pty in use_pty '!use_pty'; do
	echo "Defaults:$user $pty" >"/etc/sudoers.d/$user-pty"
	run as_user env PATH="$tmp/tools:$PATH" MARK=caller OTHER=own LD_LIBRARY_PATH=/nowhere \
		sudo -n OTHER=given "$prof" record -q -o mytool.json.gz mytool
	is "sudo, $pty: a command in the caller's PATH is found" "$status" 3
	is "sudo, $pty: it has the caller's environment, and what sudo was given" "$out" \
		"caller given /nowhere $tmp/tools:$PATH"
done
rm "/etc/sudoers.d/$user-pty"
run as_user env PATH="$tmp/tools:$PATH" MARK=caller sudo -n sh -c "MARK=set; export MARK
	$prof record -q -o script.json.gz $tmp/tools/mytool; exit \$?"
like "sudo of a script: the environment is the script's" "$out" "^set   $(sudo -n printenv PATH)\$"

run as_user sudo -n "$prof" record -q -o work.json.gz -- "$tmp/shares" 0.2
judge "sudo: names and samples as always" work.json.gz \
	<<<'expect(within("sixty") > 80, within("sixty"))'

run as_user sudo -n "$prof" record -q --as-root -o root.json.gz -- sh identity
is "--as-root: the command is root's" "$(head -1 <<<"$out")" 0
ok "--as-root: with all capabilities" test "$(tail -1 <<<"$out")" != "CapEff:	0000000000000000"
is "--as-root: the profile is the caller's" "$(stat -c %u root.json.gz)" "$uid"

mkdir "$tmp/closed"
chmod 755 "$tmp/closed"
refuses "sudo: no output where the caller may not write" 125 'ermission denied' \
	as_user sudo -n "$prof" record -o "$tmp/closed/x.json.gz" -- touch started
echo precious >"$tmp/closed/file"
ln -s "$tmp/closed/file" link.json.gz
run as_user sudo -n "$prof" record -q -o link.json.gz -- true
is "sudo: a symlink into what is not the caller's does not help" "$(<"$tmp/closed/file")" precious

run env SUDO_UID="$uid" SUDO_GID="$gid" "$prof" record -q -o variables.json.gz -- id -u
is "SUDO_UID set and root: the same" "$out" "$uid"
run env SUDO_UID=nonsense SUDO_GID=12x "$prof" record -q -o nonsense.json.gz -- id -u
is "SUDO_UID that is no number: root" "$out" 0
run env SUDO_UID=0 SUDO_GID=0 "$prof" record -q -o zero.json.gz -- id -u
is "SUDO_UID=0: root" "$out" 0

# File capabilities: the advice of `prof check` suffices.
run as_user "$prof" check
setcap=$(grep -o 'setcap [^ ]* [^ ]*' <<<"$out" | head -1)
like "prof check: the command that grants what is missing" "$setcap" "^setcap cap_bpf.* $prof\$"
# shellcheck disable=SC2086 # a command and its arguments
ok "it can be run" $setcap
run as_user "$prof" check
is "file capabilities: prof check" "$status" 0
unlike "file capabilities: nothing is missing" "$out" 'missing|note +capabilities'
cat >work.py <<'CODE'
import os
with open(f"/proc/{os.getppid()}/status") as file:
    print(next(line.split()[1] for line in file if line.startswith("CapPrm")))
with open("/proc/self/status") as file:
    print(next(line.split()[1] for line in file if line.startswith("CapPrm")))
print(sum(i * i for i in range(3000000)))
CODE
run as_user "$prof" record -q -o capabilities.json.gz -- python3 work.py
is "file capabilities: exit status" "$status" 0
is "file capabilities: the command has none" "$(sed -n 2p <<<"$out")" 0000000000000000
judge "file capabilities: names of the program and of the kernel" capabilities.json.gz <<'CODE'
found = {f["name"] for _, _, _, frames in samples() for f in frames}
expect(any(name.startswith("_PyEval") or name.startswith("Py") for name in found), found)
expect(any("page_fault" in name or "syscall" in name for name in found), found)
CODE
is "file capabilities: whose profile" "$(stat -c '%u %a' capabilities.json.gz)" "$uid 600"
mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
run as_user "$prof" record -q -e sched:sched_process_exec -o events.json -- true
is "file capabilities: a tracepoint" "$status $err" "0 "
# The program's right to read files is for mapped files, not for files that its user names.
mkdir -m 700 "$tmp/secret"
echo '/* precious */' >"$tmp/secret/secret.c"
cp capabilities.json.gz "$tmp/secret/profile.json.gz"
echo $$ >"$tmp/secret/pid"
printf '#line 1 "%s"\n%s\n' "$tmp/secret/secret.c" \
	'int main(void) { for (volatile int i = 0; i < 100000000; i++) ; return 0; }' >names-secret.c
cc -g -o names-secret names-secret.c
run as_user "$prof" record --sources -o sources.json -- ./names-secret
is "file capabilities: --sources: exit status" "$status" 0
like "file capabilities: --sources: what its user may not read" "$err" '1 not readable'
ok "file capabilities: --sources: nothing of it" sh -c '! grep -q precious sources.json'
run as_user "$prof" symbolize "$tmp/secret/profile.json.gz" -o symbolized.json.gz
is "file capabilities: prof symbolize: another user's profile" "$status" 125
run as_user "$prof" attach -d 0.1 --pidfile "$tmp/secret/pid" -o attached.json.gz
is "file capabilities: prof attach: another user's file" "$status" 125
like "file capabilities: prof attach: says why" "$err" 'ermission denied'
rm -f names-secret* sources.json
setcap cap_bpf=ep "$prof"
refuses "one capability is missing: which, and what to do" 125 'cap_perfmon.*setcap' \
	as_user "$prof" record -o x.json.gz -- touch started
# A user who may sample all processes may not inspect all of them if /proc hides others' processes
# (or, on older kernels, anyway).
setcap cap_bpf,cap_perfmon=ep "$prof"
# shellcheck disable=SC2016 # for the inner shell
run unshare -m sh -c 'mount -t proc -o hidepid=1 proc /proc && exec "$@"' sh \
	setpriv --reuid="$uid" --regid="$gid" --init-groups "$prof" record -a -d 0.2 -o all.json.gz
is "file capabilities: -a where processes may not be looked into: exit status" "$status" 0
like "file capabilities: -a: what is missing is said" "$err" 'mappings of [0-9]+ of [0-9]+ processes'
judge "file capabilities: -a: they are listed" all.json.gz \
	<<<'expect(len({t["pid"] for t in p["threads"]}) > 5, check_profile.thread_names(p))'
setcap -r "$prof"

# Root of a container has only some privileges. Those not needed are dropped at once.
cd "$tmp" || exit 1
bounds=-all,+bpf,+perfmon,+sys_ptrace,+dac_read_search,+checkpoint_restore,+syslog
run unshare --pid --fork --mount-proc setpriv --bounding-set=$bounds \
	"$prof" record -q -o container.json.gz --stats container.stats -- python3 home/work.py
is "a container with few capabilities: exit status" "$status" 0
judge "a container with few capabilities: the profile" container.json.gz container.stats <<'CODE'
import json
stats = json.load(open(args[0]))
found = {f["name"] for _, _, _, frames in samples() for f in frames}
expect(any(name.startswith("_PyEval") or name.startswith("Py") for name in found), found)
# A deep stack leaves its copy, which is what there is until the tables are ready.
copied = min(stats["truncated"], stats["finished_later"])
all_of_them = stats["cpu_samples"] - stats["kernel_only"] - stats["exiting"] - copied
expect(stats["whole"] > 0.95 * all_of_them, stats)
CODE
run "$prof" record -q -o root.json.gz -- python3 home/work.py
ok "root: the recorder has given up what it does not need" python3 - "$(head -1 <<<"$out")" <<'CODE'
import sys
SYS_ADMIN, NET_ADMIN, SYS_MODULE, PERFMON = 21, 12, 16, 38
held = int(sys.argv[1], 16)
sys.exit(not held >> PERFMON & 1 or any(held >> bit & 1 for bit in (SYS_ADMIN, NET_ADMIN, SYS_MODULE)))
CODE

is "no temporary files are left" "$(leftovers . home closed)" ""
done_testing
