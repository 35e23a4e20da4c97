#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# numba: compiled functions have no call frame information, only the wrappers around them.
#
# Expected: the code that numba makes, and publishes to debuggers as ELF objects with .eh_frame, can be
#           unwound: the section has rules for each function.
# Seen:     of the three functions that numba makes of a jitted one, only the wrapper that Python
#           calls has rules. The function itself, which pushes registers and calls itself, has none,
#           and so has the one for C: a stack that is interrupted in compiled code ends there, or goes
#           on with guesses, though the object has an .eh_frame section.
# Versions: numba 0.68.1, llvmlite 0.50.0, numpy 2.4.6; x86-64
# Date:     2026-11-29
set -euo pipefail

described="compiled: pushes registers, no rules
cpython: rules
cfunc: no rules"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet numba==0.68.1 llvmlite==0.50.0 numpy==2.4.6
cat >"$scratch/fib.py" <<'CODE'
import re

from numba import njit


@njit
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


fib(5)
assembly = next(iter(fib.inspect_asm().values()))
functions = re.split(r"^\s*\.type\s+(\S+),@function$", assembly, flags=re.M)
rows = []
for name, body in zip(functions[1::2], functions[2::2]):
    kind = "cfunc" if name.startswith("cfunc.") else "cpython" if "cpython" in name else "compiled"
    text = "rules" if ".cfi_startproc" in body else "no rules"
    if kind == "compiled" and body.count("\tpushq\t") >= 4:
        text = "pushes registers, " + text
    rows.append(f"{kind}: {text}")
print("\n".join(sorted(rows, key=lambda row: row.split(":")[0] != "compiled")))
CODE
seen=$("$scratch/venv/bin/python" "$scratch/fib.py")
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
