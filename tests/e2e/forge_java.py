#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Forges the tables of structures that a running JVM has for debuggers.

    forge_java.py PID names|lies

names: offsets of what names are read from; lies: a third of all offsets and addresses of variables.
The JVM itself does not use the tables. Prints how many rows were forged.
"""

import random
import struct
import subprocess
import sys

ROW = struct.Struct("<QQQIIQQ")  # type, field, kind, is static, padding, offset, address
NAMES = {("ConstMethod", "_name_index"), ("Symbol", "_body"), ("ConstMethod", "_constants"),
         ("Klass", "_name"), ("CodeBlob", "_frame_size"), ("nmethod", "_compile_id")}


def find_table(pid):
    """Returns the address of the variable that points to the first row."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        maps = [line.split() for line in file if line.rstrip().endswith("/libjvm.so")]
    symbols = subprocess.run(["nm", "-D", maps[0][5]], stdout=subprocess.PIPE, text=True, check=True)
    vaddr = next(line.split()[0] for line in symbols.stdout.splitlines()
                 if line.split("@")[0].endswith(" gHotSpotVMStructs"))
    return int(maps[0][0].split("-")[0], 16) + int(vaddr, 16)


def forge(memory, at, mode):
    def read(address, size):
        memory.seek(address)
        return memory.read(size)

    def text(address):
        return read(address, 64).split(b"\0")[0].decode() if address else ""

    rows = 0
    while True:
        kind, field, form, is_static, padding, offset, address = ROW.unpack(read(at, ROW.size))
        if not kind:
            return rows
        if (text(kind), text(field)) in NAMES if mode == "names" else random.random() < 0.3:
            if is_static:
                address += 8 * random.randint(-64, 64)
            else:
                offset += 8 * random.randint(1, 3)
            memory.seek(at)
            memory.write(ROW.pack(kind, field, form, is_static, padding, offset, address))
            rows += 1
        at += ROW.size


def main():
    pid, mode = sys.argv[1:]
    random.seed(1)
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        memory.seek(find_table(pid))
        first = struct.unpack("<Q", memory.read(8))[0]
        print(forge(memory, first, mode))


if __name__ == "__main__":
    main()
