#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What scripts/quickstart says where sudo refuses, and where the machine cannot record, by a fake sudo.
set -u
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

mkdir "$tmp/bin"
# Everything is installed and built.
printf '#!/bin/sh\nexit 0\n' >"$tmp/bin/make"
printf '#!/bin/sh\necho 1000\n' >"$tmp/bin/id"
cat >"$tmp/bin/dpkg-query" <<'SH'
#!/bin/sh
shift 3
for name; do echo "$name install ok installed"; done
SH
cat >"$tmp/bin/sudo" <<'SH'
#!/bin/sh
case $ALLOWED,$1 in
yes,true) ;;
yes,*) echo 'fail btf: this kernel has none' && exit 1 ;;
*) echo 'sudo: 3 incorrect password attempts' >&2 && exit 1 ;;
esac
SH
chmod +x "$tmp/bin/"*

count=0
says() { # ALLOWED WANTED UNWANTED
	local got
	got=$(ALLOWED=$1 PATH=$tmp/bin:$PATH scripts/quickstart 2>&1 </dev/null)
	count=$((count + 1))
	if [[ $got != *"$2"* || $got == *"$3"* ]]; then
		echo "# ${got//$'\n'/$'\n'# }"
		printf 'not '
	fi
	echo "ok $count - sudo, $1: $2"
}
says no "sudo refused, and recording needs root" "this machine cannot record"
says yes "this machine cannot record, see above" "sudo refused"
echo "1..$count"
