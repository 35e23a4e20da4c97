#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# py-spy: "tid" in its Chrome trace is not a thread id of the kernel and needs more than 32 bits.
#
# Expected: "tid" beside a "pid" of the kernel is the kernel's thread id: for the main thread, the
#           same number.
# Seen:     `py-spy record -f chrometrace` writes the pthread_t, an address, which Python calls
#           threading.get_ident(). A reader with 32 bits for "tid" cuts it or refuses it; none finds
#           the thread in /proc or in a trace of another tool; and no event has its name.
# Versions: PyPI's py-spy 0.4.3, with CPython 3.11 and glibc 2.36, on x86-64. It traces a program that
#           it starts.
# Date:     2026-11-28
set -euo pipefail

described="pid is the kernel's: True, tid is get_ident(): True, tid is get_native_id(): False, \
tid fits 32 bits: False, names: 0"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install --quiet --disable-pip-version-check py-spy==0.4.3
cat >"$scratch/work.py" <<'CODE'
import json
import os
import sys
import threading
import time

with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump([os.getpid(), threading.get_ident(), threading.get_native_id()], file)
while time.process_time() < 1:
    pass
CODE
"$scratch/venv/bin/py-spy" record --format chrometrace --output "$scratch/trace.json" -- \
	"$(python3 -c 'import sys; print(sys.executable)')" "$scratch/work.py" "$scratch/ids.json" >&2

seen=$(python3 - "$scratch/trace.json" "$scratch/ids.json" <<'CODE'
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    events = json.load(file)
with open(sys.argv[2], encoding="utf-8") as file:
    pid, ident, native = json.load(file)
tids = {e["tid"] for e in events}
print("pid", pid, "get_ident()", ident, "get_native_id()", native, "tid", tids, file=sys.stderr)
print(f"pid is the kernel's: {({e['pid'] for e in events}) == {pid}}, tid is get_ident(): {tids == {ident}}, "
      f"tid is get_native_id(): {native in tids}, tid fits 32 bits: {max(tids) < 1 << 32}, "
      f"names: {sum(e['ph'] == 'M' for e in events)}")
CODE
)
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
