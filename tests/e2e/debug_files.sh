#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Names and lines of programs with separate debug information: next to them, in a folder by build
# id, in a container's root, split, packaged, on a server.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
export HOME=$tmp/home
unset DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH XDG_CACHE_HOME
mkdir "$HOME" bin

compile() { # OUTPUT FLAG...
	local output=$1
	shift
	cc -g -O2 -fno-omit-frame-pointer -D_GNU_SOURCE -I "$root" -o "$output" "$@" \
		"$root/tests/workloads/inlines.c"
}
# The functions inlined in one another, with file and line.
cat >whole.py <<'CODE'
lines = open(args[0]).read().splitlines()
first = next(i for i, line in enumerate(lines, 1) if "inner: first" in line)
last = next(i for i, line in enumerate(lines, 1) if "inner: last" in line)
call = next(i for i, line in enumerate(lines, 1) if "middle: call" in line)
hits = [frames for _, _, _, frames in samples()
        if [f["name"] for f in frames[-3:]] == ["outer", "middle", "inner"]]
expect(len(hits) > 100, f"{len(hits)} samples in inner(), inlined twice")
expect(any(first <= f[-1]["line"] <= last for f in hits), "no line of inner()'s loop")
expect(all(f[-2]["line"] == call for f in hits), "inner() is called elsewhere")
expect(all(f[-1]["file"].endswith("inlines.c") for f in hits), "another file")
CODE
whole() { # DESCRIPTION NAME
	judge "$1" "$2.json.gz" "$root/tests/workloads/inlines.c" <whole.py
}
without_lines() { # DESCRIPTION NAME
	judge "$1" "$2.json.gz" <<'CODE'
expect(not within("inner") and samples(), "inner() is named, or there is no sample")
CODE
}
build_id() { # FILE
	readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p'
}
place_by_id() { # FILE FOLDER
	local id
	id=$(build_id "$1")
	mkdir -p "$2/.build-id/${id:0:2}"
	cp "$1" "$2/.build-id/${id:0:2}/${id:2}.debug"
}

compile bin/whole
objcopy --only-keep-debug bin/whole whole.debug
strip bin/whole -o bin/bare
record bare 0 -- bin/bare
without_lines "stripped: functions have no names" bare
(cd bin && objcopy --add-gnu-debuglink=../whole.debug bare linked)
mkdir bin/.debug
cp whole.debug bin/.debug
record linked 0 -- bin/linked
whole "by its link, in .debug" linked
rm -r bin/.debug
place_by_id whole.debug ids
record by-id 0 --debug-dir ids -- bin/bare
whole "by build id in --debug-dir" by-id
run "$PROF" record --debug-dir idz --debug-dir ids -o by-id.json.gz -- bin/bare
is "a folder of --debug-dir that is not there: exit status" "$status" 0
like "a folder of --debug-dir that is not there: it is said" "$err" \
	'warning: --debug-dir idz: No such file'
unlike "one that is there is fine" "$err" 'ids:'
cache=$HOME/.cache/debuginfod_client/$(build_id bin/bare)
mkdir -p "$cache"
cp whole.debug "$cache/debuginfo"
record cached 0 -- bin/bare
whole "in the cache of debuginfod's client" cached
rm -r "$HOME/.cache"

objcopy --compress-debug-sections=zstd bin/whole bin/zstd
record zstd 0 -- bin/zstd
whole "compressed with zstd" zstd
compile bin/split -gsplit-dwarf
record split 0 -- bin/split
whole "split, beside the program" split
rm bin/*.dwo
record unsplit 0 -- bin/split
without_lines "split units that are missing" unsplit

# A root that nobody can enter once the process is gone.
compile static -static
objcopy --only-keep-debug static static.debug
mkdir -p prepared/app/.debug jail
cp static.debug prepared/app/.debug/
strip static -o prepared/app/bare
(cd prepared/app && objcopy --add-gnu-debuglink=.debug/static.debug bare)
record jailed 0 -- chroot prepared /app/bare
whole "by its link, in its own root" jailed
rm -r prepared/app/.debug
place_by_id static.debug prepared/usr/lib/debug
# shellcheck disable=SC2016 # for the inner shell
record mounted 0 -- unshare -m sh -c '
	mount -t tmpfs none jail && cp -r prepared/. jail && exec chroot jail /app/bare'
whole "by build id, in a root that is gone" mounted

# A server that searches its folder before it answers.
mkdir served
cp whole.debug served
port=$((20000 + $$ % 20000))
debuginfod --database=:memory: --port="$port" -F "$tmp/served" >server.log 2>&1 &
server=$!
at_exit+=("kill $server 2>/dev/null")
export DEBUGINFOD_URLS=http://127.0.0.1:$port
has_file() {
	python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1])' \
		"$DEBUGINFOD_URLS/buildid/$(build_id bin/bare)/debuginfo"
}
ok "a debuginfod server" wait_until has_file
record served 0 -- bin/bare
whole "from the server" served
ok "and kept in the user's cache" test -s "$cache/debuginfo"
kill $server
wait $server 2>/dev/null
record offline 0 -- bin/bare
whole "from the cache, without the server" offline
rm -r "$HOME/.cache"
record nobody 0 -- bin/bare
without_lines "a server that is not there: recorded all the same" nobody
# A server that accepts connections but never answers: Ctrl-C ends the wait.
python3 -c '
import socket, sys, time
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
open("listening", "w")
time.sleep(60)' "$port" &
mute=$!
at_exit+=("kill $mute 2>/dev/null")
wait_until test -e listening
rm -rf "$HOME/.cache"
"$PROF" record -o mute.json.gz -- bin/bare 2>mute.err &
recorder=$!
fetches() {
	pgrep -P $recorder -f -- --fetch-debug-files
}
ok "asks the server that is mute" wait_until fetches
kill -INT $recorder
wait $recorder
is "is interrupted: exit status" $? 0
without_lines "is interrupted: the profile is written" mute

done_testing
