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
#   PROF_NOISE     how much such runs vary, such as 3%: one run does not show it
#   PROF_FEEDBACK  feedback for compilers to write, FILE.pgo or FILE.afdo: see prof-pgo(7)
#   PROF_EARLIER   profiles of earlier jobs to merge into it, separated by blanks
#   PROF_PUSH      URL of prof push, where the profile is sent, too
#   PROF_SUMMARY   file to which the summary is added (GITHUB_STEP_SUMMARY, standard error)
#   PROF           prof itself (prof)
#   GITHUB_STEP_SUMMARY, GITHUB_OUTPUT  files that GitHub's runners read
# shellcheck disable=SC2016 # backquotes of Markdown
set -uo pipefail

output=${PROF_OUTPUT:-profile.json.gz}
[[ $output != -* ]] || output=./$output
program=$(command -v "${PROF:-prof}" || echo "${PROF:-prof}")
read -ra args <<<"${PROF_ARGS-}"
summary=${PROF_SUMMARY:-${GITHUB_STEP_SUMMARY:-/dev/stderr}}

if [ $# -eq 0 ]; then
	echo "usage: record.sh COMMAND [ARGUMENT]..." >&2
	exit 2
fi
# Nothing of a text is a command to the runner, or markup.
note() { # TEXT
	local text
	text=$(tr -d '`\r' <<<"${1//$'\n'/ }")
	[ -z "${GITHUB_ACTIONS-}" ] || echo "::warning title=prof::${text//%/%25}"
	echo "prof: $text" >&2
	printf '> **prof:** `%s`\n\n' "$text" >>"$summary"
}
set_output() { # NAME VALUE
	[ -z "${GITHUB_OUTPUT-}" ] || printf '%s=%s\n' "$1" "${2//[$'\r\n']/ }" >>"$GITHUB_OUTPUT"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
as_root=() command=("$@")
if [ "$(id -u)" -ne 0 ] && sudo -n true 2>/dev/null; then
	as_root=(sudo -n)
	# sudo takes variables away; prof gives the user, the folder and the limits back.
	export -p >"$work/environment"
	command=(bash --noprofile --norc -c 'unset "${!SUDO_@}"; . "$0/environment"; exec "$@"' "$work" "$@")
fi
if ! reason=$("${as_root[@]}" "$program" check 2>&1); then
	note "nothing was recorded: $(grep -m 1 -v '^ok' <<<"$reason")"
	"$@"
	exit
fi
"${as_root[@]}" "$program" record "${args[@]}" --stats "$work/stats" --ready-file "$work/ready" \
	-o "$output" -- "${command[@]}"
status=$?
# It ended before the command began.
if [ $status -eq 125 ] && [ ! -s "$work/ready" ]; then
	reason=$("${as_root[@]}" "$program" record "${args[@]}" -o "$work/again" -- true 2>&1)
	note "nothing was recorded: $(head -1 <<<"$reason")"
	"$@"
	exit
fi
set_output status "$status"
if [ ! -s "$work/stats" ]; then
	[ $status -eq 126 ] || [ $status -eq 127 ] || note "no profile was written"
	exit $status
fi
set_output profile "$output"

{
	printf '## Profile of `%s`\n\n' "$(tr -d '`\n' <<<"$1" | head -c 200)"
	"$program" report --format markdown "$output" 2>&1
	echo
} >>"$summary"
lost=$(sed -n 's/.*"lost": *\([0-9]*\).*/\1/p' "$work/stats" | head -1)
[ "${lost:-0}" -eq 0 ] || note "$lost samples were lost"
named=$("$program" report --format json --limit 1 "$output" | sed -n 's/.*"named": \([0-9.]*\).*/\1/p')
! awk -v named="$named" 'BEGIN { exit !(named < 0.9) }' || note "a tenth of the samples or more have no function's name: see Without names"
if [ -n "${PROF_PUSH-}" ] && ! "$program" push "$output" "$PROF_PUSH"; then
	note "the profile was not sent"
fi

if [ -n "${PROF_FEEDBACK-}" ]; then
	earlier=()
	for file in ${PROF_EARLIER-}; do
		[ ! -s "$file" ] || earlier+=("$file")
	done
	reason=$("$program" convert -q -o "$PROF_FEEDBACK" "$output" "${earlier[@]}" 2>&1) ||
		note "no feedback for compilers: $(head -1 <<<"$reason")"
fi

if [ -n "${PROF_BASELINE-}" ] && [ -s "$PROF_BASELINE" ]; then
	{
		printf '### Against the baseline\n\n'
		"$program" diff ${PROF_GATE:+--gate "$PROF_GATE"} ${PROF_NOISE:+--assume-noise "$PROF_NOISE"} \
			--format markdown "$PROF_BASELINE" "$output"
		verdict=$?
		echo
	} >>"$summary"
	set_output verdict "$verdict"
	[ $verdict -ne 3 ] || note "one run per side cannot decide: set PROF_NOISE, or compare with prof record --iterations"
	if [ $status -eq 0 ] && { [ $verdict -eq 1 ] || [ $verdict -eq 3 ]; }; then
		exit $verdict
	fi
fi
exit $status
