#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# memray: the profiles of its speedscope file are two measures of the same allocations.
#
# Expected: several profiles of one speedscope file are threads, and their weights may be added up.
# Seen:     `memray transform speedscope` writes a profile "Memory", with the unit "bytes", and one
#           "Allocations", with the unit "none", over the same list of stacks. A sum over the file
#           adds bytes to counts and has each stack twice, and a reader that asks the first profile
#           for the unit of all shows counts as bytes.
# Versions: PyPI's memray 1.20.0, with CPython 3.11
# Date:     2026-11-28
set -euo pipefail

described="Memory in bytes, Allocations in none, of the same stacks: True, \
weights of 3 MiB or more: True, False"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check memray==1.20.0
echo 'keep = [bytearray(1 << 20) for _ in range(3)]' >"$scratch/work.py"
"$scratch/venv/bin/memray" run --quiet -o "$scratch/work.bin" "$scratch/work.py"
"$scratch/venv/bin/memray" transform -o "$scratch/work.json" speedscope "$scratch/work.bin" >&2

seen=$(python3 - "$scratch/work.json" <<'CODE'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    profiles = json.load(file)["profiles"]
for p in profiles:
    print(p["name"], p["unit"], len(p["samples"]), "stacks, weight", sum(p["weights"]), file=sys.stderr)
units = ", ".join(f"{p['name']} in {p['unit']}" for p in profiles)
same = all(p["samples"] == profiles[0]["samples"] for p in profiles)
large = ", ".join(str(sum(p["weights"]) >= 3 << 20) for p in profiles)
print(f"{units}, of the same stacks: {same}, weights of 3 MiB or more: {large}")
CODE
)
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
