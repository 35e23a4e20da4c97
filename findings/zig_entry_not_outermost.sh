#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Zig: call frame information of a program's first function says that it has a caller.
#
# Expected: the rules of _start, where the kernel enters the program, mark the return address as
#           undefined (DW_CFA_undefined), as those of glibc's _start do: stacks end there.
# Seen:     the function's FDE has no instructions. By its CIE, the return address is on top of the
#           stack, where the kernel puts argc: unwinders go on at address 1, as gdb does with a warning.
# Versions: ziglang 0.13.0 of PyPI; x86-64
# Date:     2026-11-29
set -euo pipefail

described="return address at cfa-8, 0 instructions in the FDE of the entry"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet ziglang==0.13.0
cd "$scratch"
echo 'pub fn main() void {}' >empty.zig
XDG_CACHE_HOME=$scratch "$scratch/venv/bin/python" -m ziglang build-exe -O ReleaseFast -target x86_64-linux empty.zig
entry=$(readelf -hW empty | awk '/Entry point/ { sub("0x", "", $NF); printf "%16s", $NF }' | tr ' ' 0)
seen=$(readelf --debug-dump=frames empty | awk -v entry="pc=$entry" '
	/ CIE$/ { in_cie = 1 }
	/ FDE / { in_cie = 0; in_entry = index($0, entry) }
	in_cie && /DW_CFA_offset: r16 .*cfa-8/ { place = "cfa-8" }
	in_entry && /DW_CFA_/ && !/DW_CFA_nop/ { count++ }
	END { printf "return address at %s, %d instructions in the FDE of the entry", place, count }')
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
