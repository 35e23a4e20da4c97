#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Austin: its own tools read the ids of threads as hexadecimal numbers.
#
# Expected: a thread has the same id in the stacks that austin writes and in what austin-compress,
#           austin2speedscope and others make of them. The main thread's id is that of the process.
# Seen:     austin 3.7.0 writes "P9640;T0:9640;...", in decimal. austin-python takes 9640 for 0x9640,
#           and writes thread 38464.
# Versions: PyPI's austin-dist 3.7.0, austin-python 2.4.0, Python 3.11.
# Date:     2026-11-30
set -euo pipefail
shopt -s inherit_errexit

described="austin: the main thread's id is that of the process: yes
austin-compress: P9640;T0:38464;app.py:main:10 2500"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

python3 -m venv "$scratch/venv"
"$scratch/venv/bin/pip" install -q austin-dist==3.7.0 austin-python==2.4.0 >&2

cat >"$scratch/spin.py" <<'CODE'
import time
end = time.monotonic() + 0.5
while time.monotonic() < end:
    pass
CODE
"$scratch/venv/bin/austin" -i 1ms -o "$scratch/real.austin" "$scratch/venv/bin/python" "$scratch/spin.py" >&2

cat >"$scratch/stacks.austin" <<'TEXT'
# austin: 3.7.0
# interval: 1000
# mode: wall

P9640;T0:9640;app.py:main:10 2500
TEXT
"$scratch/venv/bin/austin-compress" "$scratch/stacks.austin" "$scratch/out.austin" >&2

seen=$(
	echo "austin: the main thread's id is that of the process:" \
		"$(grep -q '^P\([0-9]*\);T0:\1;' "$scratch/real.austin" && echo yes || echo no)"
	echo "austin-compress: $(grep '^P' "$scratch/out.austin")"
)
echo "$seen"
if [ "$seen" != "$described" ]; then
	printf 'changed; was:\n%s\n' "$described"
	exit 1
fi
echo "as described"
