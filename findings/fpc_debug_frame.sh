#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Free Pascal: .debug_frame, the call frame information of its programs, describes no function.
#
# Expected: each FDE has the address of a function of the program, and rules for what it pushes.
# Seen:     the length of an FDE has four bytes, as in 32-bit DWARF, but the pointer to its CIE has eight,
#           as in 64-bit DWARF: readers find the address shifted by 32 bits, outside of the program.
#           Read with eight bytes, the rules leave out the registers that optimized functions push.
# Needs:    fp-compiler of Debian, binutils
# Versions: Free Pascal 3.2.2; x86-64
# Date:     2026-11-30
set -euo pipefail

described="3.2.2
FDEs of functions: none"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cat >"$scratch/one.pas" <<'CODE'
program one;
begin
	writeln('one')
end.
CODE
fpc -v0 -O2 -Xs- -o"$scratch/one" "$scratch/one.pas" >/dev/null
main=$(nm "$scratch/one" | awk '$3 == "main" { print $1 }')
result="some"
readelf --debug-dump=frames "$scratch/one" 2>/dev/null | grep "FDE .* pc=$main\.\." >"$scratch/found" || result=none
seen="$(fpc -iV)
FDEs of functions: $result"
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
