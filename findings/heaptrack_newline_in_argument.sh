#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# heaptrack: an argument with a newline gives functions the names of others.
#
# Expected: a recording names the same functions whatever the program's arguments are.
# Seen:     a recording is made of lines, of which the first letter tells the kind, and the command
#           line stands in it as it is. The rest of an argument behind a newline is a line of its own:
#           one that begins with "s", as "sum = 0" of python3 -c, adds a string, and all names and
#           modules shift by one. heaptrack_print says nothing, and its totals are right.
# Versions: Debian 12's heaptrack and libheaptrack 1.4.0-2, on x86-64
# Date:     2026-11-29
set -euo pipefail

described="first second: leaky; first, newline, second: leak.c"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

apt-get -qq download heaptrack=1.4.0-2 libheaptrack=1.4.0-2 libboost-iostreams1.74.0 \
	libboost-program-options1.74.0 libunwind8 libdw1 libelf1 zstd >&2
for package in *.deb; do
	dpkg -x "$package" root
done
export PATH=$scratch/root/usr/bin:$PATH
export LD_LIBRARY_PATH=$scratch/root/usr/lib/x86_64-linux-gnu

cat >leak.c <<'CODE'
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) static void *leaky(void)
{
	void *block = malloc(1000);
	return memset(block, 1, 1000);
}
int main(void)
{
	for (int i = 0; i < 1000; i++)
		leaky();
	return 0;
}
CODE
gcc -g -O1 -o leak leak.c

# Prints the function that the thousand calls of malloc() are said to be in.
culprit() { # NAME ARGUMENT
	heaptrack -o "$scratch/$1" ./leak "$2" >&2
	heaptrack_print -f "$scratch/$1".* 2>/dev/null | awk '/^1000 calls/ { getline; sub(".*/", ""); print; exit }'
}
seen="first second: $(culprit one 'first second'); first, newline, second: $(culprit two $'first\nsecond')"
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
