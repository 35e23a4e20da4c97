#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Compiled tables, facts found in files and unpacked debug files are there for the next recording.
# May run beside others.
# Other builds replace the tables of this one: a folder of its own stands for root's.
cache=$(getent passwd 0 | cut -d: -f6)/.cache/prof
[ "${1:-}" = own ] || exec unshare --mount bash "$0" own
mkdir -p "$cache" && mount -t tmpfs -o mode=700 tmpfs "$cache" || exit
. "$(dirname "$0")/lib.sh"
compiled() { # NAME OPTION... -- COMMAND...: files that were read
	local name=$1
	shift
	"$PROF" record -o "$name.json.gz" --stats "$name.stats" "$@" >/dev/null 2>&1 &&
		stat_of "$name" unwind_compiled
}
spin() { # OPTION...
	compiled "$@" -- /usr/bin/python3 -c 'sum(i * i for i in range(2000000))'
}
files=$(spin none --no-cache)
ok "without a cache, all files are read" test "$files" -gt 3
spin first >/dev/null
is "the next recording reads none but the vDSO, which is no file" "$(spin second)" 1
is "with --no-cache, it is not used" "$(spin again --no-cache)" "$files"
judge "it has the tables, and the functions of the file's runtime" second.json.gz <<'CODE'
import json
stats = [json.load(open(f"{name}.stats")) for name in ("second", "again")]
expect(stats[0]["unwind_rows"] == stats[1]["unwind_rows"], stats)
expect(within("<genexpr>") > 0, "no function of Python")
CODE

# Root has a cache of its own, whatever the environment of the invoking user says.
mkdir -p their/prof
ok "root records for another user" \
	env HOME="$tmp/their" XDG_CACHE_HOME="$tmp/their" "$PROF" record -o root.json.gz -- true
is "and leaves nothing with them" "$(find their -type f)" ""

# Debian packs the debug information of its C library, in which a sleep ends.
cp "$PROF" prof
chmod 711 "$tmp"
chmod 755 prof
kept() { # NAME OPTION...: files that a conversion leaves with its user
	local home=$tmp/$1
	shift
	mkdir "$home" && chown 65534:65534 "$home" &&
		setpriv --reuid 65534 --regid 65534 --clear-groups \
			env HOME="$home" XDG_CACHE_HOME="$home" ./prof convert -q "$@" --to firefox -o /dev/null - <slept.prof &&
		find "$home" -type f ! -name .added
}
ok "a capture" "$PROF" record -q --raw slept.prof -- sleep 0.01
is "converted with --no-cache, it leaves nothing" "$(kept without --no-cache)" ""
like "otherwise what was unpacked of a debug file" "$(kept with)" '/prof/[0-9a-f]+-[0-9a-f]+$'

done_testing
