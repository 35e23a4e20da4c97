#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The kernel accepts the BPF programs, with any two switches, without much work. With --all, which
# takes two minutes more: with every combination of the switches.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

case ${1-} in
--all) combinations=64 ;; # four ways to unwind, and four switches
*) combinations=8 ;;
esac
run "$(dirname "$workloads")/e2e/load_programs" "$@"
is "with every pair of switches all load, and fit into the stack of older kernels" "$status" 0
diagnose "$err"
diagnose "$out"
is "there are as many combinations as there should be" "$(wc -l <<<"$out")" $combinations
# Prints the largest number of instructions verified for one program, and its name.
read -r count name <<<"$(grep -o '[a-z_]* [0-9]*' <<<"${out//: /$'\n'}" |
	awk '/^(on|find)_/ { print $2, $1 }' | sort -n | tail -1)"
# The aim is 10,000; with every switch on, older verifiers need a quarter more.
ok "the verifier looks at 13,400 instructions of a program at most: $count of $name" \
	test "${count:-99999}" -le 13400

run "$(dirname "$workloads")/e2e/load_programs" --types
is "the types that are picked make all programs what the kernel's make them" "$status" 0
diagnose "$err"
like "of those there are some" "$out" '^[0-9]{4,} instructions are the same$'

run "$(dirname "$workloads")/e2e/load_programs" --bytes
is "what is told of a loaded module is counted: $out" "$status" 0
diagnose "$err"

# A structure with more members than there are: libbpf reads 16 bits of their number, prof 24.
python3 - <<'PYTHON'
import struct
STRUCT = 4
# Bytes after each kind's struct btf_type, and of each of its members.
FIXED, EACH = {1: 4, 3: 12, 14: 4, 17: 4}, {5: 12, 6: 8, 13: 8, 15: 12, 19: 12}
btf = bytearray(open("/sys/kernel/btf/vmlinux", "rb").read())
at = struct.unpack_from("<I", btf, 4)[0] + struct.unpack_from("<I", btf, 8)[0]
while (kind := btf[at + 7] & 0x1f) != STRUCT:
    count = struct.unpack_from("<H", btf, at + 4)[0]
    at += 12 + FIXED.get(kind, 0) + EACH.get(kind, 0) * count
btf[at + 6] |= 1
open("later.btf", "wb").write(btf)
PYTHON
# shellcheck disable=SC2016 # $1 and the rest are the inner shell's
run unshare -m sh -c 'mount --bind later.btf /sys/kernel/btf/vmlinux && exec "$@"' sh \
	"$PROF" record -v -o later.json.gz -- "$workloads/shares" 0.2
is "where the types of the kernel are not as expected libbpf finds them: exit status" "$status" 0
like "and that is said" "$err" 'BTF; retrying with all kernel types'
ok "the profile is as always" python3 "$root/tests/check_profile.py" later.json.gz
unlike "else there is no need of that" \
	"$("$PROF" record -v -o /dev/null -- "$workloads/shares" 0.2 2>&1)" 'retrying with all kernel types'
done_testing
