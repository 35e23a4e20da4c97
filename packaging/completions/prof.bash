# SPDX-License-Identifier: MIT
# bash completion for prof(1). `prof __complete` says what a word may become.

# Sets words and offsets: the line up to the cursor, divided at blanks alone, where bash divides at
# "=" and ":", too; and the index in COMP_WORDS at which each word begins.
_prof_divide() {
	local rest=${COMP_LINE:0:COMP_POINT} trimmed word i

	words=() offsets=()
	for ((i = 0; i <= COMP_CWORD; i++)); do
		trimmed=${rest#"${rest%%[![:space:]]*}"}
		word=${COMP_WORDS[i]}
		((i < COMP_CWORD)) || word=$trimmed
		if ((i == 0)) || [[ $trimmed != "$rest" || -z $rest ]]; then
			words+=("$word")
			offsets+=("$i")
		else
			words[-1]+=$word
		fi
		rest=${trimmed#"$word"}
	done
}

# Completes the command that prof is to run, which begins with this word.
_prof_command() { # INDEX
	local index=$(($1 + 2))

	if declare -F _command_offset >/dev/null; then
		_command_offset "${offsets[index]}"
	elif ((index == ${#words[@]} - 1)); then
		mapfile -t COMPREPLY < <(compgen -c -- "${words[-1]}")
	else
		compopt -o default
	fi
}

_prof() {
	local words offsets text answer word before last=

	_prof_divide
	word=${words[-1]}
	text=$("$1" __complete "${words[@]:1}" 2>/dev/null)
	answer=() COMPREPLY=()
	# bash reads a pipe byte by byte: ten thousand processes would take long.
	[ -z "$text" ] || mapfile -t answer <<<"$text"
	if [[ ${answer[-1]-} == :* ]]; then
		last=${answer[-1]}
		unset 'answer[-1]'
	fi
	# What bash takes for words of their own stays on the line.
	before=${word%"${COMP_WORDS[COMP_CWORD]}"}
	[[ $word == *[=:] ]] && before=$word
	answer=("${answer[@]#"$before"}")
	# Only names that are processes' tell one pid from another.
	if [[ ${#answer[@]} -gt 1 && ${answer[0]} =~ ^[0-9]+$'\t' ]]; then
		COMPREPLY=("${answer[@]/$'\t'/ }")
	else
		COMPREPLY=("${answer[@]%%$'\t'*}")
	fi
	case $last in
	:files | :folders)
		compopt -o filenames
		mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(
			compgen "$([ "$last" = :files ] && echo -f || echo -d)" -- "${word#--*=}")
		;;
	:command\ *) _prof_command "${last#:command }" ;;
	esac
}
complete -F _prof prof
