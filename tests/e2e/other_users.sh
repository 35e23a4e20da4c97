#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Files that a recorded program names are read with its user's permissions, whoever records: no text
# of another user's file gets into a profile, under any name.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

# Ids without a name in the user database.
eve=61931 bob=61932
as() { # USER COMMAND...
	local id=$1
	shift
	setpriv --reuid "$id" --regid "$id" --clear-groups "$@"
}
chmod 711 "$tmp"
mkdir eve bob
chown $eve:$eve eve
chown $bob:$bob bob
chmod 755 eve bob
secret='precious'
printf '%s\n' "$secret" >secret
printf '%s\n' "$secret" >bob/key
chown $bob:$bob bob/key
chmod 600 secret bob/key

# Builds a program whose debug information gives its function that file.
program() { # FILE NAMED
	cat >"$1.in.c" <<CODE
#include <unistd.h>
#line 1 "$2"
static __attribute__((noinline)) unsigned int spin(unsigned int i)
{
	for (int n = 0; n < 100000; n++) {
		i *= 2654435761u;
		__asm__ volatile("" : "+r"(i));
	}
	return i;
}
int main(int argc, char **argv)
{
	unsigned int sum = argc;
	if (argc > 1 && argv[1][0] == 's' && setuid($eve))
		return 1;
	for (unsigned int i = 0; i < 4000; i++)
		sum += spin(i);
	return sum == 1;
}
CODE
	gcc -O1 -g -o "$1" "$1.in.c" && chmod 755 "$1"
}
sources() { # DESCRIPTION FILE CODE: on texts, by name
	judge "$1" "$2" <<CODE
s, strings = p["shared"]["sources"], p["shared"]["stringArray"]
texts = {strings[n].split("/")[-1]: t for n, t in zip(s["filename"], s["content"])}
every = [t for t in texts.values() if t]
$3
CODE
}
absent='
expect("spin" in {frames[-1]["name"] for *_, frames in samples() if frames}, "it has not run")
expect("x.c" in texts, "its file has no name")
expect(not any("precious" in t for t in every), texts)'
left_out='not readable by the users who ran it'

program spins "$tmp/eve/x.c"
ln -s "$tmp/secret" eve/x.c
record link 0 --sources -- setpriv --reuid $eve --regid $eve --clear-groups "$tmp/spins"
sources "a link to what only root may read" link.json.gz "$absent"
like "a link: it says that the text was left out" "$err" "$left_out"

record own 0 --sources -- ./spins
sources "root's own program has it" own.json.gz '
expect(texts["x.c"] == "precious\n", texts)'

# Named later: the owners of the program's file and of the profile decide who may read it.
cp spins hers
chown $eve hers
record later 0 --no-symbols -- setpriv --reuid $eve --regid $eve --clear-groups "$tmp/hers"
run "$PROF" symbolize --sources -o later.json.gz later.json.gz
sources "named later: a program of hers" later.json.gz "$absent"
like "named later: it says that the text was left out" "$err" "$left_out"
record plain 0 --no-symbols -- ./spins
cp plain.json.gz plain-hers.json.gz
chown $eve plain-hers.json.gz
for name in plain-hers plain; do
	run "$PROF" symbolize --sources -o "$name-named.json.gz" "$name.json.gz"
done
sources "named later: a profile of hers" plain-hers-named.json.gz "$absent"
sources "named later: all is root's" plain-named.json.gz 'expect(texts["x.c"] == "precious\n", texts)'

# In a mount namespace of their own, users can have any file under any name.
rm eve/x.c
as $eve touch eve/x.c
cat >bind <<SHELL
mount --bind $tmp/secret $tmp/eve/x.c && exec $tmp/spins
SHELL
chmod 644 bind
record bind 0 --sources -- setpriv --reuid $eve --regid $eve --clear-groups unshare -Urm sh "$tmp/bind"
sources "a mount in a user namespace" bind.json.gz "$absent"
like "a mount: it says that the text was left out" "$err" "$left_out"

# The user who records may read it; the user who runs it may not.
rm eve/x.c
ln -s "$tmp/bob/key" eve/x.c
start setpriv --reuid $eve --regid $eve --clear-groups sh -c "while :; do $tmp/spins; done"
run env SUDO_UID=$bob SUDO_GID=$bob "$PROF" attach --sources -d 1 -o bob/attach.json.gz -p "$started"
is "one user's program, another's recording: exit status" "$status" 0
sources "one user's program, another's recording" bob/attach.json.gz "$absent"
kill "$started"

# One program, two users.
rm eve/x.c
as $eve sh -c 'echo "hers" >eve/x.c && chmod 600 eve/x.c'
hers="setpriv --reuid $eve --regid $eve --clear-groups $tmp/spins"
his="setpriv --reuid $bob --regid $bob --clear-groups $tmp/spins"
record alone 0 --sources -- sh -c "$hers"
sources "what she may read, while she runs it" alone.json.gz 'expect(texts["x.c"] == "hers\n", texts)'
record both 0 --sources -- sh -c "$hers; $his"
sources "what one of two users may not read" both.json.gz 'expect(not texts["x.c"], texts)'

# The user can change without another program.
rm eve/x.c
ln -s "$tmp/secret" eve/x.c
record changes 0 --sources -- ./spins s
sources "a program that gives its rights up" changes.json.gz "$absent"

# Descriptors of this process are no way around permissions of folders.
mkdir -m 700 closed
printf '%s\n' "$secret" >closed/open
ln -sfn "/proc/self/cwd/closed/open" eve/x.c
record magic 0 --sources -- ./spins
sources "no link of /proc" magic.json.gz "$absent"

# Generated code names its files, too.
cat >eve/script.js <<'CODE'
const fs = require("fs");
function burn(n) { let x = 1; for (let i = 0; i < n; i++) x = (x * 48271) % 2147483647; return x; }
fs.unlinkSync(__filename);
fs.symlinkSync(process.argv[2], __filename);
for (let i = 0, end = Date.now() + 700; Date.now() < end; i++) burn(100000);
CODE
mkdir eve/work
chown $eve:$eve eve/work
record dump 0 --sources -- setpriv --reuid $eve --regid $eve --clear-groups \
	sh -c "cd eve/work && exec node --perf-prof ../script.js $tmp/secret"
sources "a script that became a link" dump.json.gz '
expect("script.js" in texts, sorted(texts))
expect(not any("precious" in t for t in every), texts)'

# Functions that a runtime tells of name their files as well.
cat >eve/script.py <<'CODE'
import os
import sys
import time
def burn():
    return sum(i * i for i in range(20000))
os.unlink(__file__)
os.symlink(sys.argv[1], __file__)
end = time.monotonic() + 0.5
while time.monotonic() < end:
    burn()
CODE
record interpreted 0 --sources -- setpriv --reuid $eve --regid $eve --clear-groups \
	sh -c "cd eve/work && exec /usr/bin/python3 $tmp/eve/script.py $tmp/secret"
sources "an interpreted script that became a link" interpreted.json.gz '
expect("script.py" in texts and within("burn") > 0, sorted(texts))
expect(not any("precious" in t for t in every), texts)'

# Debug files.
program linked "$tmp/eve/y.c"
objcopy --only-keep-debug --remove-section .note.gnu.build-id linked eve/linked.debug
objcopy --strip-all --remove-section .note.gnu.build-id linked eve/linked
(cd eve && objcopy --add-gnu-debuglink=linked.debug linked && chmod 755 linked)
mv eve/linked.debug root.debug
chmod 600 root.debug
ln -s "$tmp/root.debug" eve/linked.debug
record debug 0 -v -- setpriv --reuid $eve --regid $eve --clear-groups "$tmp/eve/linked"
judge "a debug file that only root may read says nothing" debug.json.gz <<'CODE'
names = {f["name"] for *_, frames in samples() for f in frames}
expect("spin" not in names, sorted(names))
CODE
like "a debug file: the reason" "$err" 'linked: the users who ran the program may not read the debug file'
chmod 644 root.debug
record readable 0 -v -- setpriv --reuid $eve --regid $eve --clear-groups "$tmp/eve/linked"
judge "the same file, once everybody may read it" readable.json.gz <<'CODE'
names = {f["name"] for *_, frames in samples() for f in frames}
expect("spin" in names, sorted(names))
CODE
done_testing
