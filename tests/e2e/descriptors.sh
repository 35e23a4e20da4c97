#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# More files are mapped than descriptors are available: the process that maps them loses its own,
# and the names of others stay.
# May run beside others.
. "$(dirname "$0")/lib.sh"

cp "$workloads/spin" first
cp "$workloads/inlines" second
cat >hoards.py <<'CODE'
import mmap, os, sys, time
files = []
for i in range(700):
    with open(f"hoard/{i}", "w+b") as file:
        file.write(b"\x7fELF" + bytes(4092))
        file.flush()
        files.append(mmap.mmap(file.fileno(), 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC))
open("hoarded", "w").close()
end = time.monotonic() + 0.3
while time.monotonic() < end:
    pass
CODE
mkdir hoard
# The first file is gone when it should be opened again; the second is shared by too many processes
# to be closed.
cat >run.sh <<'SHELL'
./first die 1.5 & spins=$!
# The recorder has it open.
until [ "$(find /proc/[0-9]*/fd -lname "$PWD/first" 2>/dev/null)" ]; do sleep 0.02; done
rm first
python3 hoards.py
./second
wait $spins
SHELL
ulimit -n 800
record hoards 0 -- sh run.sh
like "it says that files were closed" "$err" '[0-9]+ files were closed for lack of descriptors'
like "the limit that it names is above this one" "$err" 'ulimit -Hn 4096'
judge "what others ran has its names" hoards.json.gz <<'CODE'
libs = {"first": set(), "second": set()}
for *_, frames in samples():
    for f in frames:
        if f["lib"] in libs:
            libs[f["lib"]].add(f["name"])
for lib, names in libs.items():
    expect(names and not any(name.startswith("0x") for name in names), (lib, names))
CODE
done_testing
