#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# packaging/ci/record.sh in an imitation of a CI job.
# May run beside others.
# shellcheck disable=SC2016 # backquotes of Markdown
. "$(dirname "$0")/lib.sh"

export PROF GITHUB_STEP_SUMMARY=$tmp/summary.md GITHUB_OUTPUT=$tmp/outputs
job() { # COMMAND...
	rm -f summary.md outputs profile.json.gz
	touch summary.md outputs
	run "$root/packaging/ci/record.sh" "$@"
}
job "$workloads/spin" die 0.3
is "exit status of the command" "$status" 0
is "outputs" "$(<outputs)" $'status=0\nprofile=profile.json.gz'
ok "a profile" python3 "$root/tests/check_profile.py" profile.json.gz
like "summary: processes and functions" "$(<summary.md)" 'CPU by process.*`spin`.*### Functions.*`spinning`'
like "summary: losses" "$(<summary.md)" ' samples of 1 processes, 0 lost; '
cp profile.json.gz base.json.gz

job bash -c 'echo "with  spaces" "and '"'quotes'"'"; exit 3'
is "status and output pass" "$status$out" "3with  spaces and 'quotes'"
job bash -c 'kill -9 $$'
is "a signal" "$status" 137
job "$tmp/no such command"
is "not found" "$status" 127
unlike "not found: no profile" "$(<outputs)" profile=
run "$root/packaging/ci/record.sh"
is "no command" "$status" 2

# Names of symbols are no markup.
ok "summary: at most 1 MiB" [ "$(stat -c %s summary.md)" -le $((1 << 20)) ]

PROF_BASELINE=base.json.gz PROF_GATE=total=1% job "$workloads/spin" die 0.3
like "with a baseline" "$(<summary.md)" 'Against the baseline'
like "the verdict" "$(<outputs)" 'verdict='

# A job goes on where nothing can be recorded, and says why.
cat >denied <<'CODE'
#!/bin/sh
echo "missing  capabilities  CAP_BPF"
exit 1
CODE
chmod +x denied
PROF=$tmp/denied job sh -c 'echo done anyway; exit 4'
is "not recorded: the command runs" "$status$out" "4done anyway"
like "not recorded: why" "$(<summary.md)" 'nothing was recorded: missing'

# The user of a runner, with sudo.
chmod 777 "$tmp"
rm -f profile.json.gz
cp "$PROF" "$root/packaging/ci/record.sh" . # the clone may lie where only root may look
run setpriv --reuid=nobody --regid="$(id -g nobody)" --clear-groups env HOME="$tmp" \
	PROF="$tmp/prof" GITHUB_STEP_SUMMARY=/dev/null GITHUB_OUTPUT=/dev/null \
	"$tmp/record.sh" sh -c 'id -un'
is "without privileges: the command runs as its user" "$status$out" "0nobody"
done_testing
