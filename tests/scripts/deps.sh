#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/deps chooses the packages of each distribution, by a fake apt.
set -u
cd "$(dirname "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Nothing is installed; $ABSENT are packages that the distribution lacks.
mkdir "$tmp/bin"
printf '#!/bin/sh\nexit 1\n' >"$tmp/bin/dpkg-query"
cat >"$tmp/bin/apt-cache" <<'SH'
#!/bin/sh
candidate=1.0
for name in $ABSENT; do [ "$2" != "$name" ] || candidate='(none)'; done
printf '%s:\n  Installed: (none)\n  Candidate: %s\n' "$2" "$candidate"
SH
cat >"$tmp/bin/apt-get" <<'SH'
#!/bin/sh
echo "$@" >>"$LOG"
SH
printf '#!/bin/sh\nexec "$@"\n' >"$tmp/bin/sudo"
chmod +x "$tmp/bin/"*

count=0
chooses() { # DISTRIBUTION ABSENT WANTED UNWANTED
	local name got why=''
	rm -f "$tmp/log"
	LOG=$tmp/log ABSENT=$2 PATH=$tmp/bin:$PATH scripts/deps 2>"$tmp/err" || why="failed: $(<"$tmp/err")"
	got=" $(cat "$tmp/log" 2>/dev/null) "
	for name in $3; do [[ $got == *" $name "* ]] || why+="; no $name"; done
	for name in $4; do [[ $got != *" $name "* ]] || why+="; $name"; done
	count=$((count + 1))
	[ -z "$why" ] || echo "# $why"
	[ -z "$why" ] || printf 'not '
	echo "ok $count - $1"
}
chooses "Debian 12" "linux-tools-generic libclang-rt-18-dev" "bpftool libclang-rt-dev libc6-dbg procps" \
	"linux-tools-generic libclang-rt-14-dev"
chooses "Debian 13" "libclang-rt-14-dev linux-tools-generic" "bpftool libclang-rt-dev" "libclang-rt-14-dev"
chooses "Ubuntu 24.04" "bpftool libclang-rt-dev libclang-rt-14-dev" "linux-tools-generic libclang-rt-18-dev" \
	"bpftool libclang-rt-dev libclang-rt-14-dev"
echo "1..$count"
