#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Wrong use, of each option of each command: one clear line, a hint, and nothing happens. Needs no root.
. "$(dirname "$0")/../e2e/lib.sh"
wrong() { # REGEX ARGUMENT...
	local regex=$1
	shift
	refuses "prof $*" 2 "$regex" "$PROF" "$@"
}
# Usage that is right in itself, and refused because of what exists.
refused() { # REGEX ARGUMENT...
	local regex=$1
	shift
	refuses "prof $*" 125 "$regex" "$PROF" "$@"
}

wrong 'nonsense' nonsense
wrong 'unknown command .annotate.: .* prof report --annotate NAME' annotate x.json.gz
refused $'cannot read profile.json.gz: No such file or directory\n  name a file, or record one: prof record -- COMMAND' report
wrong '--nonsense' --nonsense
wrong "unexpected argument '-'" -
wrong 'command' record
wrong 'command' record --
wrong '--format nonsense: .*firefox' record --format nonsense -- touch started
wrong '--nonsense' record --nonsense -- touch started
wrong 'Y' record -Y -- touch started
wrong 'frequency' record -F 0 -- touch started
wrong 'frequency' record -F -5 -- touch started
wrong 'frequency' record -F abc -- touch started
wrong 'frequency' record -F 99x -- touch started
wrong 'frequency' record -F '' -- touch started
wrong 'frequency' record -F nan -- touch started
wrong 'frequency' record -F inf -- touch started
wrong 'interval' record -i 0 -- touch started
wrong 'interval' record -i -1 -- touch started
wrong 'interval' record -F 99 -i 1 -- touch started
wrong 'event' record -e '' -- touch started
wrong 'event' record -e 'nonsense/' -- touch started
wrong 'event' record -e 'page-faults/period=0/' -- touch started
wrong 'duration' record -d 0 -- touch started
wrong 'duration' record -d 1x -- touch started
wrong 'kill' record --kill -- touch started
wrong '--kill and --as-root need a command' record -a --kill -d 1
wrong '--kill and --as-root need a command' record -a --as-root
wrong 'ring-size' record --ring-size 12Q -- touch started
wrong 'ring-size.*64K and 1G' record --ring-size 1K -- touch started
wrong 'ring-size.*64K and 1G' record --ring-size 2G -- touch started
wrong '--unwind guess: must be auto, cfi, fp or none' record --unwind guess -- touch started
wrong 'unwind-memory.*4M and 4G' record --unwind-memory 1M -- touch started
wrong '--ready-fd x: not a descriptor' record --ready-fd x -- touch started
wrong '--ready-fd -1: not a descriptor' record --ready-fd -1 -- touch started
wrong '--ready-fd 2147483648: not a descriptor' record --ready-fd 2147483648 -- touch started
wrong '--ready-file: the name must not be empty' record --ready-file '' -- touch started
wrong '--per-cpu: takes no value' record --per-cpu=yes -- touch started
wrong '--duration: a value is missing' record --duration
wrong 'o' record -o
wrong 'cpu' record --cpu x -- touch started
wrong 'cpu' record --cpu 3-0 -- touch started
wrong 'cpu' record --cpu 1,0 -- touch started
wrong 'cpu' record --cpu '' -- touch started
refused '--cpu: CPU 8191 is not online' record --cpu 8191 -- touch started
wrong 'output' record -o '' -- touch started
wrong '--stats: the name must not be empty' record --stats '' -- touch started
wrong '--stats -: must be a file' record --stats - -- touch started
wrong '--stats and --output name the same file: a' record --stats a -o a -- touch started
wrong '--debug-dir: the name must not be empty' record --debug-dir '' -- touch started
wrong '--sources: needs the names that --no-symbols leaves out' record --sources --no-symbols -- touch started
wrong 'prof attach' record -p 1 -- touch started
wrong 'record a running process: prof attach -p 1' record -p 1
wrong 'need -a' record --uid 0 -- touch started
wrong 'need -a' record --include-self -- touch started
wrong '--thread: a name must not be empty' record --thread '' -- touch started
wrong '--thread: x\[: unterminated \[' record --thread 'x[' -- touch started
wrong '--thread: \?+: the name is too long' record --thread "$(printf '?%.0s' {1..70})" -- \
	touch started
wrong '--comm: a name must not be empty' record -a --comm a,,b -- touch started
wrong "--pid: 'x' is not a pid or tid" record -a -p 1,x -- touch started
wrong "--pid: '0' is not" record -a -p 0 -- touch started
wrong "--tid: '2147483648' is not" record -a --tid 2147483648 -- touch started
wrong '--uid: a name must not be empty' record -a --uid '' -- touch started
wrong '--cgroup: a name must not be empty' record -a --cgroup '' -- touch started
wrong '--pidfile' record -a --pidfile x -- touch started
refused 'no process with pid 2147483647' record -a -p 2147483647 -- touch started
refused 'no thread with tid 2147483647' record -a --tid 2147483647 -- touch started
refused 'no such user: nobody-is-called-so' record -a --uid nobody-is-called-so -- touch started
refused '--uid 4294967295: not a user' record -a --uid 4294967295 -- touch started
refused '--uid: more than' record -a --uid "$(seq -s, 0 99)" -- touch started
refused 'there-is-none' record -a --cgroup /there-is-none -- touch started
wrong '--comm: .*: too many names' record -a --comm "$(seq -s, 100000000000000 100000000000099)" -- \
	touch started

wrong '--nonsense' attach --nonsense
wrong 'no process to attach to: use --pid' attach
wrong 'unexpected argument 1: .*--pid' attach 1
wrong 'unexpected argument 2' attach -p 1 2
wrong 'cpu' attach -p 1 --cpu 0-
wrong '--pidfile: a name must not be empty' attach --pidfile ''
wrong '--stats -' attach -p 1 --stats -
wrong '--kill' attach -p 1 --kill
wrong 'interval' attach -p 1 -F 99 -i 1
refused 'no process with pid 2147483647' attach -p 2147483647
refused 'no process is named no-process-is' attach --comm no-process-is
refused 'pidfile: No such file' attach --pidfile pidfile
mkdir folder
refused 'folder: not a regular file' attach --pidfile folder
rmdir folder
for text in '' 0 x 1x 99999999999; do
	echo "$text" >pidfile
	refused 'pidfile: the file does not contain a pid' attach --pidfile pidfile
done
head -c 100 /dev/zero | tr '\0' 1 >pidfile
refused 'pidfile' attach --pidfile pidfile
echo 2147483647 >pidfile
refused 'pidfile: no process with pid 2147483647' attach --pidfile pidfile
rm pidfile
# The main thread gives the process its pid; another is no process.
python3 - "$PROF" <<'CODE' >thread.out 2>&1
import subprocess, sys, threading
done = threading.Event()
thread = threading.Thread(target=done.wait)
thread.start()
result = subprocess.run([sys.argv[1], "attach", "-p", str(thread.native_id)], capture_output=True, text=True)
done.set()
print(result.returncode, result.stderr)
CODE
like "prof attach -p TID: says of which process" "$(<thread.out)" \
	'^125 prof attach: [0-9]+ is a thread of process [0-9]+'$'\n''  use the process: [0-9]+'

wrong "did you mean 'record'" recrod -- touch started
wrong "did you mean 'record'" help recrod
wrong 'did you mean --output' record --ouput=x -- touch started
wrong 'did you mean --json' check --jsn
wrong '--unwind, --unwind-memory' record --unw fp -- touch started
wrong 'prof record -- touch' touch started
wrong 'stacks are always recorded' record -g -- touch started
wrong 'stacks are always recorded' record --call-graph dwarf -- touch started
wrong 'unexpected' version surplus
wrong 'unexpected' help record surplus
wrong "unknown command 'a\?\[31m\?b'" $'a\x9b[31m\xe2\x80\xaeb'
wrong 'nonsense' check --nonsense
wrong '.' check surplus
wrong 'cannot be combined' check -q --json

wrong 'no file given' info
wrong 'more than one file: a and b' info a b
wrong 'the file name must not be empty' info ''
wrong '--nonsense' info --nonsense
wrong '-o' info -o x
wrong 'no file to symbolize' symbolize
wrong '--output is missing' symbolize a
wrong 'more than one file: a and b' symbolize a b -o c
wrong 'the file name must not be empty' symbolize '' -o c
wrong '--output: the name must not be empty' symbolize a -o ''
wrong '--format nonsense' symbolize --format nonsense a -o c
wrong '--debug-dir: the name must not be empty' symbolize --debug-dir '' a -o c
wrong '--nonsense' symbolize --nonsense
wrong '--no-symbols' symbolize --no-symbols a -o c

for command in "" record attach check info report symbolize; do
	# shellcheck disable=SC2086 # no word where there is none
	run "$PROF" $command --help
	is "prof $command --help: exit status" "$status" 0
	like "prof $command --help: on stdout" "$out" '^Usage: prof'
	is "prof $command --help: nothing on stderr" "$err" ""
	long=$out
	# shellcheck disable=SC2086 # no word where there is none
	run "$PROF" help $command
	is "prof help $command: the same" "$out" "$long"
	# shellcheck disable=SC2086 # no word where there is none
	run "$PROF" $command -h
	is "prof $command -h: the same" "$out" "$long"
done
# shellcheck disable=SC2016 # for the inner shell
run "$PROF" --hel
like "a name may be cut short" "$out" '^Usage: prof COMMAND'
run bash -c '"$1" --help >&-' sh "$PROF"
is "--help where stdout is closed: exit status" "$status" 125
like "--help where stdout is closed: says so" "$err" 'standard output'
# shellcheck disable=SC2016 # for the inner shell
run bash -c '"$1" --help >/dev/full' sh "$PROF"
is "--help into a full device: exit status" "$status" 125
like "--help into a full device: says so" "$err" 'standard output: No space left'
# It is longer than what is kept until the end.
run bash -c '"$1" record --help >/dev/full' sh "$PROF"
is "record --help into a full device: exit status" "$status" 125
like "record --help into a full device: says so" "$err" 'cannot write to standard output'
for option in --version -V version; do
	run "$PROF" $option
	is "prof $option: exit status" "$status" 0
	like "prof $option" "$out" '^prof [0-9]+\.[0-9]+'
done
like "version: formats and parts" "$out" 'formats: profile [0-9]+, capture [0-9]+.*debuginfod: .*view, share, push: yes'
run "$PROF"
is "prof alone: exit status" "$status" 2
like "prof alone: the help, on stdout" "$out" '^Usage: prof.*record  *record a command'
is "prof alone: nothing on stderr" "$err" ""

# Code of each language can be selected.
wrong '--language lisp: must be javascript, .* or native' report --language lisp missing.json
while read -r title; do
	refused 'missing.json' report --language "${title,,}" missing.json
done < <(sed -n 's/^LANGUAGE(.*"\.\{0,1\}\(.*\)")$/\1/p' "$root/lib/model/languages/languages.def")

# Internal commands do nothing for others.
for words in record-for-front-end "record-for-front-end record" fetch-debug-files; do
	# shellcheck disable=SC2086 # words
	run "$PROF" "--$words" </dev/null
	is "prof --$words alone: refused" "$((status != 0))" 1
done

done_testing
