#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# prof view: what front-ends ask for, and who is refused.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
unset SSH_CONNECTION DISPLAY WAYLAND_DISPLAY BROWSER DEBUGINFOD_URLS

record one 0 -- "$workloads/inlines" 0.3
# Sets $url and $viewer.
view() { # ARGUMENT...
	rm -f url
	"$PROF" view "$@" >url 2>view.err &
	viewer=$!
	at_exit+=("kill $viewer 2>/dev/null")
	wait_until test -s url
	url=$(head -1 url)
}
asks() { # DESCRIPTION CHECK [FILE]
	ok "$1" env VIEW_PID="$viewer" python3 "$root/tests/e2e/view_client.py" "$2" "$url" "${3:-one.json.gz}"
}
ends() { # DESCRIPTION SIGNAL
	kill "-$2" "$viewer"
	wait "$viewer"
	is "$1" $? 0
}

view --no-open --firefox one.json.gz
like "the address is that of the front-end" "$url" \
	'^https://profiler.firefox.com/from-url/http%3A%2F%2F127.0.0.1%3A[0-9]+%2F[A-Za-z0-9_-]{32}%2Fprofile.json/\?symbolServer='
is "it has no capabilities" "$(grep -hE '^Cap(Inh|Prm|Eff|Amb)' "/proc/$viewer/status" | grep -cv '0000000000000000$')" 0
port=$(sed -E 's/.*127.0.0.1(%3A|:)([0-9]+).*/\2/' url)
is "and listens on this machine alone" \
	"$(grep -hE "^ *[0-9]+: [0-9A-F]+:$(printf %04X "$port") [0-9A-F]+:0000 0A" /proc/net/tcp /proc/net/tcp6 | awk '{print $2}')" \
	"0100007F:$(printf %04X "$port")"
asks "names, inlined functions and lines" names
asks "unknown libs and addresses" unknown
asks "10,000 addresses" many
asks "source" source
asks "assembly" assembly
asks "the file, whole and in part" transfer
asks "nothing without the token, for other hosts and origins" refusals
asks "requests before those of another origin" preflight
asks "wrong, large and slow requests" hostile
asks "50 at once" parallel
asks "300 connections that hold on to it" crowd
asks "500 requests at once: answered or refused" storm
asks "all of that in 100 MB" small
ends "Ctrl-C ends it" INT

view --no-open one.json.gz
like "a page that needs no internet: the address" "$url" '^http://127.0.0.1:[0-9]+/[A-Za-z0-9_-]{32}/page.html$'
python3 -c 'import sys, urllib.request
sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read())' "$url" >page.html
is "it is the profile" "$("$PROF" report --format csv page.html)" "$("$PROF" report --format csv one.json.gz)"
like "it may ask this server" "$(<page.html)" "connect-src 'self'"
asks "for the source and the assembly of what it shows" page
ends "Ctrl-C ends it, too" INT
refuses "a page in a front-end" 2 'cannot be combined with a front-end' "$PROF" view --page --firefox one.json.gz

mkdir front
echo -n '<p>front-end' >front/index.html
echo -n 'front();' >front/app.js
echo -n hidden >secret
ln -s ../secret front/link
view --no-open --frontend front one.json.gz
like "a front-end of one's own: the address" "$url" '^http://127.0.0.1:[0-9]+/[A-Za-z0-9_-]{32}/$'
asks "its files" files
asks "names, with it, too" names
ends "SIGTERM ends it" TERM

record two 0 -- "$workloads/shares" 0.2
view --no-open one.json.gz two.json.gz
python3 -c 'import sys, urllib.request
sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read())' "$url" >sides.html
is "two files: a page of both, with what prof diff says" "$(sed -n 's/.*id="prof-comparison">\([^<]*\)<.*/\1/p' sides.html |
	base64 -d | gzip -dc)" "$("$PROF" diff --format json one.json.gz two.json.gz)"
ends "it ends" INT
view --no-open --firefox one.json.gz two.json.gz
like "two files in the front-end: one profile" "$url" '/from-url/[^&]*profile.json/[?]symbolServer='
asks "with both and their difference, and assembly of either" difference
ends "it ends" INT
view --no-open one.json.gz two.json.gz one.json.gz
like "three files: side by side, a thread of each" "$url" \
	'/compare/[?]profiles\[\]=.*profile.json.*thread%3D[0-9]+%26profileName%3Done.*&profiles\[\]=.*profile-2.json.*profileName%3Dtwo'
ends "it ends" INT
gunzip -c one.json.gz | sed 's/"interval": *[0-9.]*/"interval":4/' >coarse.json
view --no-open one.json.gz coarse.json
like "two of other intervals: side by side" "$url" '/compare/[?]profiles'
like "which says why" "$(<view.err)" 'cannot show a difference.*: different intervals'
ends "it ends" INT

"$PROF" record -q --raw one.capture -- "$workloads/inlines" 0.2
view --no-open one.capture
like "a capture" "$url" '/page.html$'
ends "it ends" INT
view --no-open --idle 1 one.json.gz
wait "$viewer"
is "--idle: it ends by itself" $? 0
like "and says so" "$(<view.err)" 'no requests for a while'

cat >browser <<'TEXT'
#!/bin/sh
grep NoNewPrivs /proc/self/status >"$OPENED.rights"
cat "$1" >"$OPENED"
TEXT
chmod +x browser
BROWSER=$PWD/browser OPENED=$PWD/opened TMPDIR=$PWD view one.json.gz
wait_until test -s opened
like "the browser gets a page that leads there" "$(<opened)" 'url=http://127.0.0.1:[0-9]+/[A-Za-z0-9_-]+/page.html'
unlike "the address is in no command line" "$(tr '\0' ' ' <"/proc/$viewer/cmdline")" 'page.html|127.0.0.1'
ends "it ends" INT
# Runs as a user, because root's browser gets no rights back.
nobody=$(id -u nobody)
mkdir -m 777 theirs
install -m 755 browser one.json.gz theirs
chmod a+x .
(cd theirs && exec env BROWSER="$PWD/browser" OPENED="$PWD/opened" TMPDIR="$PWD" SUDO_UID="$nobody" \
	SUDO_GID="$nobody" "$PROF" view one.json.gz >url 2>view.err) &
viewer=$!
at_exit+=("kill $viewer 2>/dev/null")
wait_until test -s theirs/opened
is "a user's browser may set its sandbox up" "$(tr -d '\t' <theirs/opened.rights)" NoNewPrivs:0
is "the server gets no rights" "$(grep NoNewPrivs "/proc/$viewer/status" | tr -d '\t')" NoNewPrivs:1
ends "it ends" INT
is "the page is gone" "$(find . -name 'prof-view-*')" ""
BROWSER=$PWD/browser OPENED=$PWD/again TMPDIR=$PWD "$PROF" record -q --open -o three.json.gz -- sh -c 'exit 3' \
	>url 2>view.err &
viewer=$!
at_exit+=("kill $viewer 2>/dev/null")
wait_until test -s again
like "record --open: the browser opens it" "$(<again)" 'url=http://127.0.0.1:[0-9]+/[A-Za-z0-9_-]+/page.html'
pkill -INT -P "$viewer"
wait "$viewer"
is "and the exit status is the command's" $? 3
refuses "record --open without a file" 2 'needs a profile file' \
	"$PROF" record --open -o - -- touch started
SSH_CONNECTION="10.0.0.1 1000 10.0.0.2 22" USER=ann view one.json.gz
port=$(sed -E 's/.*127.0.0.1(%3A|:)([0-9]+).*/\2/' url)
like "over ssh: how to get there" "$(<view.err)" "ssh -N -L $port:127.0.0.1:$port ann@10.0.0.2"
ends "it ends" INT

port_of() { sed -E 's/.*127.0.0.1(%3A|:)([0-9]+).*/\2/' url; }
rm -f url
# The session has, as a user's, no capabilities.
# shellcheck disable=SC2016 # for the inner shell
SSH_CONNECTION="10.0.0.1 1000 10.0.0.3 22" setpriv --bounding-set=-all sh -c \
	'env -u SSH_CONNECTION SUDO_UID=0 SUDO_GID=0 "$0" view one.json.gz >url 2>view.err & echo $! >pid; wait' \
	"$PROF" &
session=$!
at_exit+=("kill $session 2>/dev/null" "kill \$(<pid) 2>/dev/null")
wait_until test -s url
wait_until grep -q '^prof view: exits' view.err
like "under sudo, which hides that" "$(<view.err)" "ssh -N -L $(port_of):127.0.0.1:$(port_of) .*10.0.0.3"
kill "$(<pid)"
wait "$session"
DISPLAY=:99 BROWSER=no-such-browser view one.json.gz
wait_until grep -q '^prof view: exits' view.err
like "a browser that is not installed" "$(<view.err)" 'cannot open a browser .*installed.*: open the address'
ends "it ends" INT
view --no-open one.json.gz
refuses "a port in use" 125 "port $(port_of): .*in use.*leave out --port" "$PROF" view --no-open --port "$(port_of)" one.json.gz
ends "it ends" INT
BROWSER=$PWD/browser OPENED=$PWD/dashed TMPDIR=$PWD "$PROF" record -q --open -o -x.json -- true >url 2>view.err &
viewer=$!
at_exit+=("kill $viewer 2>/dev/null")
ok "record --open: a name that begins with a dash" wait_until test -s dashed
pkill -INT -P "$viewer"
wait "$viewer"

gunzip -c one.json.gz | sed 's|"codeId":"[0-9a-f]*|"codeId":"00112233445566778899|g' >strange.json
view --no-open strange.json
like "another machine's profile: what is missing" "$(<view.err)" 'no code is available for .*inlines \('
ends "it ends" INT

# The front-end asks for no source of code without addresses: it comes with the profile.
cat >script.py <<'CODE'
def spin():
    return sum(i * i for i in range(3000000))
spin()
CODE
record script 0 -- /usr/bin/python3 "$PWD/script.py"
view --no-open --firefox script.json.gz
asks "the source of a script is in what is served" script
ends "it ends" INT

refuses "no file" 2 'no file to view' "$PROF" view
refuses "an address that cannot be written" 125 'write the address' \
	sh -c "'$PROF' view --no-open one.json.gz >/dev/full"
refuses "a file that is none" 125 '^prof view: cannot read nowhere: No such file' "$PROF" view nowhere
refuses "a file of something else" 125 'not a profile' "$PROF" view front/app.js
refuses "a time that is none" 2 'must be a time' "$PROF" view --idle soon one.json.gz
refuses "a port that is none" 2 'must be a number' "$PROF" view --port 70000 one.json.gz
refuses "a front-end that is none" 125 'index.html is missing' "$PROF" view --frontend . one.json.gz
done_testing
