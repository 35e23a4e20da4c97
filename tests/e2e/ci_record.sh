#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# packaging/ci/record.sh and packaging/action in an imitation of a CI job.
# May run beside others.
# shellcheck disable=SC2016 # backquotes of Markdown
. "$(dirname "$0")/lib.sh"

export PROF GITHUB_STEP_SUMMARY=$tmp/summary.md GITHUB_OUTPUT=$tmp/outputs
record=$root/packaging/ci/record.sh
begin_job() {
	rm -f summary.md outputs profile.json.gz
	touch summary.md outputs
	chmod 666 summary.md outputs
}
job() { # COMMAND...
	begin_job
	run "$record" "$@"
}
job "$workloads/spin" die 0.3
is "exit status of the command" "$status" 0
is "outputs" "$(<outputs)" $'status=0\nprofile=profile.json.gz'
ok "a profile" python3 "$root/tests/check_profile.py" profile.json.gz
like "summary: processes and functions" "$(<summary.md)" '### Hot path.*`spinning`.*### By process.*`spin`'
like "summary: losses, whole stacks" "$(<summary.md)" ' samples of clock.* 0 lost, [0-9.]* % whole'
cp profile.json.gz base.json.gz

job bash -c 'echo "with  spaces" "and '"'quotes'"'"; exit 3'
is "status and output pass" "$status$out" "3with  spaces and 'quotes'"
job false
is "status 1" "$status" 1
ok "a failed command has a profile" test -s profile.json.gz
job bash -c 'kill -9 $$'
is "a signal" "$status" 137
job "$tmp/no such command"
is "not found" "$status" 127
unlike "not found: no profile" "$(<outputs)" profile=
run "$record"
is "no command" "$status" 2

PROF_BASELINE=base.json.gz PROF_GATE=total=1% job "$workloads/spin" die 0.3
like "with a baseline" "$(<summary.md)" 'Against the baseline.*CPU'
like "the verdict" "$(<outputs)" 'verdict=3'
is "one run a side cannot decide" "$status" 3
like "one run a side: what to do" "$(<summary.md)" 'set PROF_NOISE'
PROF_NOISE=0% PROF_BASELINE=base.json.gz PROF_GATE=total=100000% job "$workloads/spin" die 0.3
is "with their noise it can" "$status" 0
export PROF_ARGS="--iterations 4"
job "$workloads/spin" die 0.1
cp profile.json.gz base.json.gz
PROF_BASELINE=base.json.gz PROF_GATE=total=1% job "$workloads/spin" die 0.3
unset PROF_ARGS
is "a regression fails the step" "$status" 1

cp profile.json.gz earlier.json.gz
PROF_FEEDBACK=default.pgo PROF_EARLIER='earlier.json.gz missing.json.gz' job "$workloads/spin" die 0.3
ok "feedback for compilers, with the samples of an earlier job" python3 - <<CODE
import json, subprocess
def samples(path):
    return json.loads(subprocess.run(["$PROF", "report", "--no-config", "--format", "json", path], check=True,
                                     capture_output=True).stdout)["summary"]["weight"]
assert samples("default.pgo") == samples("earlier.json.gz") + samples("profile.json.gz") > 0
CODE

PROF_PUSH=clickhouse+http://127.0.0.1:1/none job true
is "nobody takes it: the status is the command's" "$status" 0
like "nobody takes it: the summary says so" "$(<summary.md)" 'the profile was not sent'

# A job goes on where nothing can be recorded, and says why.
cat >denied <<'CODE'
#!/bin/sh
[ "$1" = "$DENIED" ] || exit 0
printf 'missing  capabilities  `CAP_BPF`\n::error::x\n'
exit 125
CODE
chmod +x denied
export DENIED
for DENIED in check record; do
	PROF=$tmp/denied GITHUB_ACTIONS=true job sh -c 'echo done anyway; exit 4'
	is "$DENIED refuses: the command runs" "$status:${out##*$'\n'}" "4:done anyway"
	like "$DENIED refuses: an annotation of one line" "$out" '::warning title=prof::nothing was recorded: missing  capabilities  CAP_BPF
done anyway$'
	is "$DENIED refuses: why" "$(<summary.md)" '> **prof:** `nothing was recorded: missing  capabilities  CAP_BPF`'
done

# The action's own step, as a runner starts it.
step=$(sed -n '/^      run: |$/,/^    -/s/^        //p' "$root/packaging/action/action.yml")
action() { # NAME=VALUE...
	begin_job
	run env GITHUB_ACTION_PATH="$root/packaging/action" PROF_NAME='my profile' "$@" \
		bash --noprofile --norc -eo pipefail -c "$step"
}
action SUMMARY=true PROF_ARGS= PROF_BASELINE= PROF_GATE= PROF_PUSH= \
	PROF_RUN='x="a  b"; false | true || printf "%s|" "$x" '"'\$x'"'
exit 5'
is "action: quotes, lines, pipefail, the status" "$status:$out" '5:a  b|$x|'
is "action: outputs" "$(<outputs)" $'artifact=my profile\nstatus=5\nprofile=my profile.json.gz'
ok "action: a blank in the name" test -s 'my profile.json.gz'
like "action: the summary" "$(<summary.md)" 'By process'
action SUMMARY=true PROF_RUN=true PROF_NAME='a/b:"c"
x=y'
is "action: characters that an artifact may not have" "$(<outputs)" $'artifact=a-b--c--x-y\nstatus=0\nprofile=a-b--c--x-y.json.gz'
action SUMMARY=true PROF_RUN=true PROF_NAME=-x
is "action: no option" "$status:$(tail -1 outputs)" '0:profile=profile-x.json.gz'
PROF_OUTPUT=$'-x\ny.json.gz' job true
is "a file that looks like an option, in one line" "$status:$(tail -1 outputs)" '0:profile=./-x y.json.gz'
action SUMMARY=false PROF_RUN=true
is "action: without a summary" "$status:$(<summary.md)" 0:

# The user of a runner, with sudo: the clone may lie where only root may look.
cp "$PROF" "$record" .
chmod 755 prof record.sh
chmod 777 .
user=prof-ci-$$
at_exit+=("userdel $user 2>/dev/null; rm -f /etc/sudoers.d/$user")
useradd --no-create-home --home-dir "$tmp/home" "$user"
mkdir -p home "my tools" "work here"
chown "$user:" home "work here"
printf '#!/bin/sh\necho "$LD_LIBRARY_PATH:$SECRET:$(id -un):$PWD:${SUDO_USER-none}:$1"\n' >"my tools/tool"
chmod +x "my tools/tool"
as_runner() { # COMMAND...
	begin_job
	run setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups env HOME="$tmp/home" \
		PROF="$tmp/prof" PATH="$tmp/my tools:$PATH" LD_LIBRARY_PATH=/nowhere SECRET="a 'b" \
		PROF_OUTPUT="$tmp/work here/p.json.gz" \
		sh -c 'cd "work here"; exec ../record.sh "$@"' sh "$@"
}
seen="/nowhere:a 'b:$user:$tmp/work here:none:one \$two"
as_runner tool 'one $two'
is "without privileges: the command runs as its user" "$status$out" "0$seen"
like "without privileges: the summary says so" "$(<summary.md)" 'nothing was recorded: '
echo "$user ALL=(ALL) NOPASSWD: ALL" >.sudoers
chmod 440 .sudoers
mv .sudoers "/etc/sudoers.d/$user"
as_runner tool 'one $two'
is "sudo: user, environment, folder, arguments" "$status$out" "0$seen"
is "sudo: the profile is the user's" "$(stat -c %U "work here/p.json.gz")" "$user"
like "sudo: the summary" "$(<summary.md)" 'By process'
unlike "sudo: the profile does not have the environment" "$(gzip -dc "work here/p.json.gz")" "a 'b"
as_runner bash -c 'exit 7'
is "sudo: exit status" "$status" 7
as_runner bash -c 'kill -TERM $$'
is "sudo: a signal" "$status" 143
as_runner no-such-command
is "sudo: not found" "$status" 127

# The action installs what its tag has, if it is what the checksum says.
mkdir -p tools "server/o/prof/releases/download/v9.9" temp "prof-9.9-$(uname -m)/bin"
cat >tools/curl <<'CODE'
#!/bin/bash
for last; do :; done
while [ "$1" != --output ]; do shift; done
cp "${last#file://}" "$2"
CODE
chmod +x tools/curl
release=server/o/prof/releases/download/v9.9
tarball=prof-9.9-$(uname -m).tar.gz
cp denied "prof-9.9-$(uname -m)/bin/prof"
tar -czf "$release/$tarball" "prof-9.9-$(uname -m)"
(cd "$release" && sha256sum "$tarball" >SHA256SUMS)
install_action() {
	: >path
	run env PATH="$tmp/tools:/usr/bin:/bin" GITHUB_SERVER_URL="file://$tmp/server" GITHUB_PATH="$tmp/path" \
		RUNNER_TEMP="$tmp/temp" PROF_REPOSITORY=o/prof PROF_TAG="${1-v9.9}" "$root/packaging/action/install.sh"
}
install_action
is "action: installed" "$status" 0
ok "action: on the path" test -x "$(<path)/prof"
echo x >>"$release/$tarball"
install_action
is "action: another checksum: refused" "$status:$(<path)" 1:
install_action ''
like "action: no tag" "$out" '::error title=prof::the action has no tag'
done_testing
