#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Options by default: files, the variable, the command line; under sudo, only what is harmless.
# May run beside others.
# Others must not see the files in /etc.
[ -n "${own_mounts-}" ] || exec env own_mounts=1 unshare -m --propagation private bash "$0"
. "$(dirname "$0")/lib.sh"
cp -a /etc etc
mount --bind etc /etc

export PROF
config=$XDG_CONFIG_HOME/prof/config
mkdir "$XDG_CONFIG_HOME/prof"
system=/etc/prof.conf
rm -f $system
frequency() { # ARGUMENT...
	"$PROF" record -o f.json "$@" -- true 2>f.err &&
		python3 -c 'import json; print(round(1000 / json.load(open("f.json"))["meta"]["interval"]))'
}

# Each source outweighs the one before.
is "none" "$(frequency)" 999
printf '[record]\nfrequency = 100\nno-arguments\n' >$system
is "the system's" "$(frequency)" 100
printf '# a comment\n\n[record]\n  frequency=200\n[report]\nlimit = 3\n' >"$config"
is "the user's" "$(frequency)" 200
is "the variable" "$(PROF_OPTIONS='-F 250' frequency)" 250
is "the command line" "$(PROF_OPTIONS='-F 250' frequency -F 500)" 500
is "another way of saying it" "$(PROF_OPTIONS='-F 250' frequency -i 10)" 100
is "--no-config" "$(PROF_OPTIONS='-F 250' frequency --no-config)" 999
is "words of the recorded command are its own" "$("$PROF" record -q -o f.json -- echo --no-config)" --no-config
run env PROF_OPTIONS="--thread 'a b' -q" "$PROF" config record
is "prof config" "$out" "# $system
# $config
# PROF_OPTIONS
[record]
# frequency = 100  # $system:2: replaced by $config
no-arguments  # $system:3
frequency = 200  # $config:4
thread = a b  # PROF_OPTIONS
quiet  # PROF_OPTIONS"
run "$PROF" config attach
like "attach has what record has" "$out" "frequency = 200"
run "$PROF" config report
like "other sections" "$out" "limit = 3  # $config:6"

# A default that does not fit gives way; one that is switched off is off.
printf '[record]\nno-arguments = no\nstats = s.json\nkill\n' >"$config"
run "$PROF" record --raw r.cap -- true
is "--raw goes before a default --stats, and --kill has no duration" "$status" 0
run "$PROF" config record
like "no" "$out" '# no-arguments  # [^:]*:2: switched off'
# shellcheck disable=SC2016 # for its shell
ok "the default counts else" bash -c '"$PROF" record -q -o f.json -- true && test -s s.json'
rm -f $system

# A wrong line is named.
wrong() { # TEXT REGEX
	printf '%b' "$1" >"$config"
	refuses "wrong: $1" 2 "$config:$2" "$PROF" record -o x.json -- touch started
}
wrong '[record]\nfrequency = x\n' '2: --frequency x: not a number'
wrong '[record]\nfrequnecy = 9\n' '2: prof record has no option --frequnecy'
wrong '\n[recrod]\n' '2: \[recrod\]: no such command'
wrong '[record]\noutput\n' '2: output: a value is missing'
wrong '[record]\nquiet = maybe\n' '2: quiet: must be yes or no'
wrong '[record]\n--quiet\n' '2: --quiet: write options without dashes'
wrong '[record\n' '1: a section must be'
wrong 'frequency = 9\n[record]\n' '1: frequency: belongs to a section'
printf '[record]\nfrequency = 9\n\0' >"$config"
run "$PROF" config record
like "a file that is no text" "$out" "# $config: not a text"
like "of which a warning tells" "$err" "warning: $config: not a text"
printf '[record]\nfrequency = x\n' >"$config"
run "$PROF" record --help
is "help comes nevertheless" "$status" 0
run "$PROF" info "$golden/code.json"
is "other commands work" "$status" 0
rm "$config"
refuses "the variable: unknown" 2 'PROF_OPTIONS: .*--nonsense' env PROF_OPTIONS=--nonsense "$PROF" record -- touch started
refuses "the variable: a word" 2 'PROF_OPTIONS: word: not an option' env PROF_OPTIONS=word "$PROF" record -- touch started
refuses "the variable: half a quotation" 2 'PROF_OPTIONS: a quotation' env PROF_OPTIONS="-o 'x" "$PROF" record -- touch started

# Under sudo, the caller's file is read with his rights, and names no file that root touches.
home=$tmp/home
mkdir -p "$home/.config/prof"
cp /etc/passwd passwd
printf 'prof-user:x:12345:12345::%s:/bin/sh\n' "$home" >>passwd
# shellcheck disable=SC2016 # for its shell
as_sudo() { # COMMAND...
	unshare -m sh -c 'mount --bind "$0" /etc/passwd && exec "$@"' "$tmp/passwd" \
		env SUDO_UID=12345 SUDO_GID=12345 SUDO_USER=prof-user SUDO_COMMAND=x "$@"
}
printf '[record]\nfrequency = 300\nstats = %s/stats\nall\ndebug-dir = /root\nas-root\n' "$tmp" >"$home/.config/prof/config"
chown -R 12345:12345 "$home"
run as_sudo env PROF_OPTIONS="--keep-capture --raw $tmp/raw" "$PROF" config record
is "sudo: what counts" "$(grep -v '^#' <<<"$out" | sed 's/  #.*//')" "[record]
frequency = 300
keep-capture"
like "sudo: why the rest does not" "$out" '# stats = .*: ignored from a caller with fewer rights'
# Options that he may not set neither count nor replace those that root has set.
printf '[record]\nthread = web\nsources = no\nquiet\n' >$system
printf '[record]\nthread = *\nquiet = no\n[convert]\nsources\n[recover]\nsources\n[symbolize]\nsources\n' >"$home/.config/prof/config"
run as_sudo "$PROF" config record
is "sudo: root's options stay" "$(grep -v '^#' <<<"$out" | sed 's/  #.*//')" "[record]
thread = web"
for command in convert recover symbolize; do
	run as_sudo "$PROF" config $command
	like "sudo: sources of $command" "$out" '# sources.*: ignored from a caller with fewer rights'
done
rm $system
chown root "$home/.config/prof/config"
chmod 600 "$home/.config/prof/config"
run as_sudo "$PROF" config record
unlike "sudo: what he cannot read is not read" "$out" 'frequency'
touch $system
chmod 666 $system
run "$PROF" config record
like "a system's file that others may write" "$out" "$system: ignored: users other than root may write it"
done_testing
