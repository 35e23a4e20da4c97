#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Completion in bash, zsh and fish, typed on a terminal. Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"

mkdir bin 'a folder' home
ln -s "$PROF" bin/prof
export PATH=$tmp/bin:$PATH HOME=$tmp/home
touch 'a file.json' other.json
lines=() wanted=()
completes() { # LINE WANTED
	lines+=("$1") wanted+=("$2")
}
type_lines() { # SHELL LINE...
	timeout 300 python3 "$root/tests/cli/type_line.py" "$1" "$root/packaging/completions" "${@:2}"
}
completes 'prof rec' 'prof reco'
completes 'prof record --start-p' 'prof record --start-paused'
completes 'prof record --unwind c' 'prof record --unwind cfi'
completes 'prof report --format=js' 'prof report --format=json'
completes 'prof config repo' 'prof config report'
completes 'prof report oth' 'prof report other.json'
completes 'prof report -q a\ fi' 'prof report -q a file.json'
completes 'prof record -e page-faults,maj' 'prof record -e page-faults,major-faults'
# Names of the command to run.
completes 'prof record -F 99 -- mktem' 'prof record -F 99 -- mktemp'
completes 'prof record mktem' 'prof record mktemp'
for command in $("$PROF" __complete ''); do
	completes "prof $command --hel" "prof $command --help"
done
for shell in bash zsh fish; do
	type_lines $shell "${lines[@]}" >"$shell.typed" 2>&1 &
done
wait
for shell in bash zsh fish; do
	mapfile -t typed <"$shell.typed"
	for i in "${!lines[@]}"; do
		is "$shell: ${lines[i]}" "${typed[i]-}" "${wanted[i]}"
	done
done
# A folder, where no file will do.
for shell in bash fish; do
	is "$shell: --debug-dir=a" "$(type_lines $shell 'prof record --debug-dir=a')" 'prof record --debug-dir=a folder/'
done

# Values of this machine now: processes with their names, users, groups.
run "$PROF" __complete attach --pid "$$"
like "pids have names" "$out" "^$$"$'\tbash'
run "$PROF" __complete record -a --uid roo
is "users" "$out" root
run "$PROF" __complete attach --comm bas
like "names of processes" "$out" '^bash'
run "$PROF" __complete record -e cpu-cl
is "events" "$out" cpu-clock
# A command that is being typed does not run.
run "$PROF" __complete stop "$$"
is "a request is not sent" "$status$err" 0
run "$PROF" __complete nothing x
is "an unknown command" "$status$out$err" 0

# Every option of the help, no more and no less.
for command in $("$PROF" __complete ''); do
	listed=$("$PROF" "$command" --help | grep -oE '^ +(-[A-Za-z], )?--[a-z-]+' | grep -oE -- '--.*' | sort -u)
	completed=$("$PROF" __complete "$command" -- | cut -f1 | sort -u)
	is "$command: options as in the help" "$(comm -3 <(echo "$listed") <(echo "$completed"))" ''
done
done_testing
