#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the prof that lies beside this file, or removes it; needs no network.
#   ./install.sh [PREFIX]            PREFIX: /usr/local
#   ./install.sh --remove [PREFIX]
set -eu
remove=
if [ "${1-}" = --remove ]; then
	remove=1
	shift
fi
case ${1-} in
-*)
	sed -n 's/^#   /usage: /p' "$0" >&2
	exit 2
	;;
esac
prefix=${1:-/usr/local}
case $prefix in
/*) ;;
*) prefix=$PWD/$prefix ;;
esac
cd "$(dirname "$0")"

# Folders that the first installation made, each before those in it.
list=$prefix/lib/prof/folders
folders=$(cat "$list" 2>/dev/null || {
	[ -e "$prefix" ] || echo .
	find bin lib share -type d | while read -r folder; do
		[ -e "$prefix/$folder" ] || echo "$folder"
	done
})
# Another version may have had other files here.
rm -rf "$prefix/lib/prof" "$prefix/share/doc/prof"
find bin lib share ! -type d | while read -r file; do
	# A running prof keeps the file that it has.
	rm -f "$prefix/$file"
	if [ -z "$remove" ]; then
		mkdir -p "$prefix/$(dirname "$file")"
		cp -p "$file" "$prefix/$file"
	fi
done
if [ -n "$remove" ]; then
	echo "$folders" | sed '1!G;h;$!d' | while read -r folder; do
		rmdir "$prefix/$folder" 2>/dev/null || true
	done
	echo "removed prof from $prefix"
else
	echo "$folders" >"$list"
	sed -i "s,^ExecStart=[^ ]*,ExecStart=$prefix/bin/prof," "$prefix"/lib/systemd/system/prof-*.service
	"$prefix/bin/prof" --version | sed "1s,\$, is in $prefix/bin,"
fi
