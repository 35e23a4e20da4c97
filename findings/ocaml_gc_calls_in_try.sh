#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# OCaml: call frame information of calls to the collector ignores the handlers around them.
#
# Expected: at the return address of a call, and at the instruction to which the jump there leads, the
#           canonical frame address (CFA) is at the same distance from rsp: a jump changes no register.
# Seen:     ocamlopt puts calls of caml_call_gc behind a function's other code, with the frame that
#           the function has there. Within "try", two more words are on the stack: the CFA is 16 bytes
#           off, and unwinders, gdb as well, read the return address from a handler's words.
# Versions: semgrep 1.185.0 of PyPI, compiled by OCaml 5.4; x86-64; UFile.cat, which reads lines until
#           End_of_file
# Date:     2026-11-29
set -euo pipefail

described="behind the call 32, at the target of the jump 48"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --no-deps semgrep==1.185.0
core=$(find "$scratch/venv" -name semgrep-core -type f | head -1)
start=$(nm "$core" | awk '$3 == "camlUFile.cat_101" { print $1 }')
# The last call of caml_call_gc, and the jump back.
read -r behind target < <(objdump -d --no-show-raw-insn --start-address="0x$start" --stop-address="$((0x$start + 0x167))" "$core" |
	awk '/caml_call_gc/ { is_next = 1; next } is_next { sub(":", "", $1); at = $1; to = $3; is_next = 0 } END { print at, to }')
# The CFA's distance from rsp at both addresses, by the rows of the function's FDE.
seen=$(readelf --debug-dump=frames "$core" 2>/dev/null | awk -v start="pc=$start" -v behind="$behind" -v target="$target" '
	function reaches(row, at) { return substr("0000000000000000" at, length(at) + 1) >= row }
	index($0, start) { is_own = 1; before = after = 8; row = "" }
	is_own && /^$/ { is_own = 0 }
	is_own && /advance_loc/ { row = $NF }
	is_own && /def_cfa_offset/ {
		if (reaches(row, behind)) before = $NF
		if (reaches(row, target)) after = $NF
	}
	END { printf "behind the call %d, at the target of the jump %d", before, after }')
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
