#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Refusals of this machine, and the output of prof check: one clear line, a hint, and no effect. Usage
# that is wrong on any machine is in tests/cli.
. "$(dirname "$0")/lib.sh"
limit=$(<$rates)
refuses "a rate above the kernel's limit says what the limit is" 125 "$limit" \
	"$PROF" record -F $((limit + 1)) -- touch started
change_rates
echo 500 >$rates
run "$PROF" record -o lowered.json.gz -- true
echo "$limit" >$rates
is "where the default is above the limit: exit status" "$status" 0
like "where the default is above the limit: sampled as often as that, and said" "$err" '500 Hz'
rm -f lowered.json.gz
refuses "an absurd rate" 125 "$limit" "$PROF" record -F 1e12 -- touch started
refuses "an absurdly short interval" 125 '.' "$PROF" record -i 0.000001 -- touch started

for limit in 8 16; do
	refuses "$limit descriptors are too few: what to do" 125 'limit of open files: ulimit' \
		prlimit --nofile=$limit "$PROF" record -- touch started
done

# shellcheck disable=SC2016 # for the inner shell
refuses "without /proc: what to do" 125 '/proc is not mounted.*mount -t proc' \
	unshare -m sh -c 'umount -l /proc && exec "$@"' sh "$PROF" record -- touch started

run "$PROF" check
is "prof check: exit status where it can record" "$status" 0
like "prof check: the verdict is the last line" "$out" $'\nprof can record here[^\n]*$'
run "$PROF" check -q
is "prof check -q: exit status" "$status" 0
is "prof check -q: prints nothing" "$out$err" ""
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
cp "$PROF" prof-for-all && chmod 755 prof-for-all
mkdir with-sudo without-sudo
printf '#!/bin/sh\nexit 1\n' >with-sudo/sudo
chmod 755 with-sudo with-sudo/sudo without-sudo
setpriv=$(command -v setpriv)
check_with() { # PATH ARGUMENT...
	local path=$1
	shift
	run env PATH="$path" "$setpriv" --reuid 65534 --regid 65534 --clear-groups ./prof-for-all check "$@"
}
check_with "$PWD/with-sudo"
is "prof check without privileges, with sudo: exit status, as for a script" "$status" 1
like "prof check without privileges, with sudo: the verdict, and what to do, once and last" "$out" \
	$'\nprof records through sudo, which it runs itself on a terminal: capabilities: [^\n]*\n  without a terminal: run prof with sudo, or once: sudo setcap [^\n]*$'
unlike "prof check without privileges, with sudo: it does not say that it cannot" "$out" 'cannot record'
check_with "$PWD/with-sudo" --json
like "prof check --json without privileges, with sudo: what a script can do" "$out" '"can_record": false'
check_with "$PWD/without-sudo"
is "prof check without privileges: exit status" "$status" 1
like "prof check without privileges: the verdict, and what to do, once and last" "$out" \
	$'\nprof cannot record here: capabilities: [^\n]*\n  run prof with sudo, or once: sudo setcap [^\n]*$'
is "prof check without privileges: setcap is said once" "$(grep -c setcap <<<"$out")" 1
run "${nobody[@]}" ./prof-for-all check --quiet
is "prof check -q without privileges: exit status" "$status" 1
is "prof check -q without privileges: prints nothing" "$out$err" ""
run "$PROF" check --json
is "prof check --json: exit status" "$status" 0
ok "prof check --json: JSON" python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))' .out

done_testing
