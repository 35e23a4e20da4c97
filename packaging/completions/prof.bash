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
	local words offsets answer line value word before

	_prof_divide
	word=${words[-1]}
	mapfile -t answer < <("$1" __complete "${words[@]:1}" 2>/dev/null)
	COMPREPLY=()
	# What bash takes for words of their own stays on the line.
	before=${word%"${COMP_WORDS[COMP_CWORD]}"}
	[[ $word == *[=:] ]] && before=$word
	for line in "${answer[@]}"; do
		value=${line%%$'\t'*}
		case $line in
		:files | :folders)
			compopt -o filenames
			value=$([ "$line" = :files ] && echo -f || echo -d)
			mapfile -t COMPREPLY < <(compgen "$value" -- "${word#--*=}")
			;;
		:command\ *) _prof_command "${line#:command }" ;;
		*) COMPREPLY+=("${value#"$before"}") ;;
		esac
	done
	# Only names that are processes' tell one pid from another.
	if [[ ${#COMPREPLY[@]} -gt 1 && ${COMPREPLY[0]} =~ ^[0-9]+$ ]]; then
		mapfile -t COMPREPLY < <(printf '%s\n' "${answer[@]#"$before"}" | tr '\t' ' ')
	fi
}
complete -F _prof prof
