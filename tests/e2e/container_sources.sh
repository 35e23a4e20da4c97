#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --sources for programs in their own root: files of the root come first, even if they are gone at
# the end, and nothing outside is reached through them.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

mkdir app
cat >app/main.c <<'CODE'
#include "part.h"
#include "link.h"
#include "secret.h"
#include "outside.h"
int main(void)
{
	unsigned int sum = 0;
	for (unsigned int i = 0; i < 4000; i++)
		sum += in_part(i) + in_link(i) + in_secret(i) + in_outside(i);
	return sum == 1;
}
CODE
for name in part link secret outside; do
	cat >app/$name.h <<CODE
static __attribute__((noinline)) unsigned int in_$name(unsigned int i)
{
	/* As it was built. */
	for (int n = 0; n < 10000; n++) {
		i *= 2654435761u;
		__asm__ volatile("" : "+r"(i));
	}
	return i;
}
CODE
done
gcc -O1 -g -static -o program "$tmp/app/main.c"

# The same paths inside, with other text: one leads out, one is private, one is missing.
jail=$tmp/jail
mkdir -p "$jail$tmp/app" "$jail/proc"
cp program "$jail/program"
for name in main.c part.h secret.h; do
	sed 's/As it was built/Inside/; s/unsigned int sum/unsigned sum/' app/$name >"$jail$tmp/app/$name"
done
printf 'precious\n' >precious.h
ln -s "$tmp/precious.h" "$jail$tmp/app/link.h"
rm app/link.h

sources() { # DESCRIPTION FILE CODE: on texts, by name
	judge "$1" "$2" <<CODE
s, strings = p["shared"]["sources"], p["shared"]["stringArray"]
texts = {strings[n].split("/")[-1]: t for n, t in zip(s["filename"], s["content"])}
$3
CODE
}
inside='
expect("unsigned sum" in texts["main.c"] and "Inside" in texts["part.h"], "not those inside")
expect("As it was built" in texts["outside.h"], "what is not inside is taken from outside")
expect(texts["link.h"] is None, texts["link.h"])'

record plain 0 --sources -- ./program
sources "outside: as it was built" plain.json.gz '
expect("As it was built" in texts["part.h"] and "unsigned int sum" in texts["main.c"], texts)'

record root 0 --sources -- chroot "$jail" /program
sources "in a root: what is there, and nothing behind a link" root.json.gz "$inside"'
expect("Inside" in texts["secret.h"], texts["secret.h"])'

# Unreachable once the program has ended.
mkdir mounted
cat >private <<'SHELL'
mount -t tmpfs tmpfs mounted && cp -a jail/. mounted/ && chroot mounted /program
SHELL
record private 0 --sources -- unshare --mount sh private
sources "in a file system of its own, gone by now" private.json.gz "$inside"

# The same root with a mount over the sources: a mount namespace suffices.
cat >over <<'SHELL'
mount -t tmpfs tmpfs app && cp "$1/app/"* app/ && exec ./program
SHELL
record over 0 --sources -- unshare --mount sh over "$jail$tmp"
sources "in a mount namespace of its own" over.json.gz '
expect("unsigned sum" in texts["main.c"] and "Inside" in texts["part.h"], texts)'

# Generated code lies in no file whose root could be known.
cat >script <<'SHELL'
mount -t tmpfs tmpfs app && printf '%s\n' "$1" >app/script.js && exec node --perf-basic-prof app/script.js
SHELL
code='function burn(n) { let x = 1; for (let i = 0; i < n; i++) x = (x * 48271) % 2147483647; return x; }
for (let i = 0, end = Date.now() + 500; Date.now() < end; i++) burn(100000);'
record node 0 --sources -- unshare --mount sh script "$code"
sources "a script in a mount namespace of its own" node.json.gz '
expect("function burn" in (texts.get("script.js") or ""), sorted(texts))'

# Interpreted code is in no module whose root could be known.
cat >script <<'SHELL'
mount -t tmpfs tmpfs app && printf '%s\n' "$1" >app/script.py && exec /usr/bin/python3 "$PWD/app/script.py"
SHELL
code='import time
def burn():
    return sum(i * i for i in range(20000))
end = time.monotonic() + 0.5
while time.monotonic() < end:
    burn()'
record python 0 --sources -- unshare --mount sh script "$code"
sources "an interpreted script in a mount namespace of its own" python.json.gz '
expect("def burn" in (texts.get("script.py") or ""), sorted(texts))'

# Under sudo, the user does not get private files.
user=prof-csrc-$$
at_exit+=("userdel $user 2>/dev/null")
useradd --no-create-home "$user"
chmod 600 "$jail$tmp/app/secret.h"
chmod 755 "$jail" "$jail$tmp" "$jail$tmp/app"
mkdir home
chown "$user" home
run env SUDO_UID="$(id -u "$user")" SUDO_GID="$(id -g "$user")" \
	"$PROF" record --sources --as-root -o home/sudo.json.gz -- chroot "$jail" /program
is "for a user: exit status" "$status" 0
like "for a user: it says that one is not readable" "$err" '1 not readable'
sources "for a user: only what they may read, though it is readable outside" home/sudo.json.gz '
expect("Inside" in texts["part.h"] and texts["secret.h"] is None, texts["secret.h"])'
done_testing
