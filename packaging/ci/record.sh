#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Records a step of a CI job and summarizes it. The step's exit status is kept; a machine on which
# nothing can be recorded still runs it.
#
#   record.sh COMMAND [ARGUMENT]...
#
# Environment, all optional:
#   PROF_OUTPUT    file of the profile (profile.json.gz)
#   PROF_ARGS      further options of prof record, separated by blanks
#   PROF_BASELINE  profile to compare with
#   PROF_GATE      rule of prof diff that fails the step, such as total=5%
#   PROF           prof itself (prof)
#   GITHUB_STEP_SUMMARY, GITHUB_OUTPUT  files that GitHub's runners read
# shellcheck disable=SC2016 # backquotes of Markdown
set -uo pipefail

output=${PROF_OUTPUT:-profile.json.gz}
prof=${PROF:-prof}
read -ra args <<<"${PROF_ARGS-}"
summary=${GITHUB_STEP_SUMMARY:-/dev/stderr}
SUMMARY_MAX=$((1000 * 1024))

if [ $# -eq 0 ]; then
	echo "usage: record.sh COMMAND [ARGUMENT]..." >&2
	exit 2
fi
note() {
	[ -z "${GITHUB_ACTIONS-}" ] || echo "::warning title=prof::$1"
	echo "prof: $1" >&2
	printf '> **prof:** %s\n\n' "$1" >>"$summary"
}
set_output() { # NAME VALUE
	[ -z "${GITHUB_OUTPUT-}" ] || echo "$1=$2" >>"$GITHUB_OUTPUT"
}

# The command runs as the caller with his environment, folder and limits: prof sees to that.
as_root=()
if [ "$(id -u)" -ne 0 ]; then
	if sudo -n true 2>/dev/null; then
		as_root=(sudo -n --preserve-env)
	fi
fi
program=$(command -v "$prof" || echo "$prof")
if ! reason=$("${as_root[@]}" "$program" check 2>&1); then
	note "nothing was recorded: $(grep -m 1 -v '^ok' <<<"$reason")"
	"$@"
	exit
fi

stats=$(mktemp)
trap 'rm -f "$stats"' EXIT
"${as_root[@]}" "$program" record "${args[@]}" --stats "$stats" -o "$output" -- "$@"
status=$?
set_output status "$status"
if [ ! -s "$stats" ]; then
	[ $status -eq 126 ] || [ $status -eq 127 ] || note "no profile was written"
	exit $status
fi
set_output profile "$output"

# Prints a command's output up to what the summary may hold.
section() { # TITLE COMMAND...
	printf '### %s\n\n' "$1"
	shift
	"$@" 2>&1 | head -c 200000
	printf '\n\n'
}
number() { # KEY
	sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p" "$stats" | head -1
}
quality() {
	printf '%s samples of %s processes, %s lost; %s of %s stacks whole, %s of %s frames named.\n' \
		"$(number samples)" "$(number processes)" "$(number lost)" "$(number whole)" \
		"$(number cpu_samples)" "$(number named_frames)" "$(number frames)"
}
{
	printf '## Profile of `%s`\n\n' "$(tr -d '`\n' <<<"$1" | head -c 200)"
	quality
	printf '\nOpen `%s` at <https://profiler.firefox.com>, or with `prof view`.\n\n' "$output"
	section 'CPU by process' "$program" report --format markdown --by process --limit 20 "$output"
	section 'Functions' "$program" report --format markdown --limit 30 "$output"
} | head -c $SUMMARY_MAX >>"$summary"
lost=$(number lost)
[ "${lost:-0}" -eq 0 ] || note "$lost samples were lost"

if [ -n "${PROF_BASELINE-}" ] && [ -s "$PROF_BASELINE" ]; then
	gate=()
	[ -z "${PROF_GATE-}" ] || gate=(--gate "$PROF_GATE")
	table=$(mktemp)
	"$program" diff "${gate[@]}" --markdown "$table" "$PROF_BASELINE" "$output" >/dev/null
	verdict=$?
	{
		printf '### Against the baseline\n\n'
		head -c 200000 "$table"
		echo
	} >>"$summary"
	rm -f "$table"
	set_output verdict "$verdict"
	if [ $status -eq 0 ] && [ $verdict -eq 1 ]; then
		exit 1
	fi
fi
exit $status
