#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --sources: the profile contains the source files that the user may read.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

# A program of two and a half files.
mkdir project
cat >project/main.c <<'CODE'
#include "twice.h"
#include "secret.h"
int main(void)
{
	unsigned int sum = 0;
	for (unsigned int i = 0; i < 40000000; i++)
		sum += twice(i) + secret(i); /* über */
	return sum == 1;
}
CODE
cat >project/twice.h <<'CODE'
static __attribute__((noinline, no_icf)) unsigned int twice(unsigned int i)
{
	/* Long enough to be seen, and not to be simplified. */
	for (int n = 0; n < 4; n++) {
		i *= 2654435761u;
		__asm__ volatile("" : "+r"(i));
	}
	return i;
}
CODE
sed 's/twice/secret/' project/twice.h >project/secret.h
build() {
	gcc -O2 -g -o "project/$1" "$tmp/project/main.c"
}
build program
sources() { # DESCRIPTION FILE CODE: on texts, by name
	judge "$1" "$2" <<CODE
s, strings = p["shared"]["sources"], p["shared"]["stringArray"]
texts = {strings[n].split("/")[-1]: t for n, t in zip(s["filename"], s["content"])}
$3
CODE
}

record plain 0 -- project/program
sources "without --sources no text is in the file" plain.json.gz '
expect("main.c" in texts and not any(texts.values()), texts)'

record all 0 --sources -- project/program
like "it says how many there are" "$err" 'sources: 3 files \([0-9]+ B\)'
sources "with it, all three are there, byte by byte" all.json.gz '
for name in ("main.c", "twice.h", "secret.h"):
    expect(texts.get(name) == open("project/" + name).read(), (name, texts.get(name)))'

# Newer than the program; not a regular file; too large; not source code.
touch -d '+1 minute' project/main.c
rm project/twice.h
mkfifo project/twice.h
head -c 3000000 /dev/zero | tr '\0' '\n' >project/secret.h
record refused 0 --sources -- project/program
like "what was left out, and why" "$err" \
	'sources: 1 file \([0-9]+ B\), 1 newer than the binary; left out: .*[0-9]+ not here, 1 too large'
sources "files that are no source files are not there" refused.json.gz '
expect(texts["main.c"] and not texts["twice.h"] and not texts["secret.h"], texts)'

printf 'a\0b' >project/secret.h
record zero 0 --sources -- project/program
like "bytes that are no text" "$err" '1 no source code'

# Debug information may name any file.
sed -i 's/secret.h/secret/' project/main.c
rm project/twice.h
: >project/twice.h
cat >project/secret <<'CODE'
static __attribute__((noinline, no_icf)) unsigned int secret(unsigned int i)
{
	/* Long enough to be seen, and not to be simplified. */
	for (int n = 0; n < 4; n++) {
		i *= 2654435761u;
		__asm__ volatile("" : "+r"(i));
	}
	return i;
}
static inline unsigned int twice(unsigned int i) { return i; }
CODE
build named
record named 0 --sources -- project/named
sources "a name that no source file has" named.json.gz '
expect("secret" in texts and texts["main.c"] and not texts["secret"], texts)'

# Under sudo, root does not read for the user what the user may not read.
user=prof-src-$$
at_exit+=("userdel $user 2>/dev/null")
useradd --no-create-home "$user"
mv project/secret project/secret.h
sed -i 's/"secret"/"secret.h"/' project/main.c
build program
chmod 600 project/secret.h
mkdir home
chown "$user" home
run env SUDO_UID="$(id -u "$user")" SUDO_GID="$(id -g "$user")" \
	"$PROF" record --sources -o home/sudo.json.gz -- project/program
is "for a user: exit status" "$status" 0
like "for a user: it says that one is not readable" "$err" '1 not readable'
sources "for a user: only what they may read" home/sudo.json.gz '
expect(texts["main.c"] and not texts["secret.h"], texts)'

refuses "no names, no sources" 2 'no-symbols' \
	"$PROF" record --sources --no-symbols -o x.json -- touch started
done_testing
