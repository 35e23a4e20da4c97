#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Without privileges, and as root for somebody else by sudo.
. "$(dirname "$0")/lib.sh"

# Where others may reach it: the source may lie in somebody's home.
cp "$PROF" prof
cp "$workloads/shares" shares
chmod 755 prof shares
prof=$tmp/prof

user=prof-e2e-$$
group=prof-e2e-group-$$
at_exit+=("userdel $user 2>/dev/null; groupdel $group 2>/dev/null; rm -f /etc/sudoers.d/$user")
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
refuses "a folder of root's" 125 'ermission denied' \
	as_user "$prof" record -o /root/x.json.gz -- touch started

# Under sudo the command is run as who called it, and the profile is theirs.
echo "$user ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/$user
chmod 440 /etc/sudoers.d/$user
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

is "no temporary files are left" "$(leftovers . "$tmp/closed")" ""
cd "$tmp" || exit 1
done_testing
