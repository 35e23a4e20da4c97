#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bpf_objects.py there|freed FILE: checks that all objects of FILE ("KIND ID" lines: prog, map or
link; others are skipped) are in the kernel, or none. Exit status 0 if so. Asks the kernel itself:
bpftool's answer about some links differs between versions. See bpf(2)."""

import ctypes
import errno
import os
import platform
import struct
import sys

SYS_BPF = {"x86_64": 321, "aarch64": 280}[platform.machine()]
GET_FD_BY_ID = {"prog": 13, "map": 14, "link": 30}
libc = ctypes.CDLL(None, use_errno=True)


def is_there(kind, number):
    attr = ctypes.create_string_buffer(struct.pack("=III", number, 0, 0))
    fd = libc.syscall(SYS_BPF, GET_FD_BY_ID[kind], attr, 12)
    if fd < 0:
        if ctypes.get_errno() == errno.ENOENT:
            return False
        sys.exit(f"{kind} {number}: {os.strerror(ctypes.get_errno())}")
    os.close(fd)
    return True


with open(sys.argv[2], encoding="ascii") as file:
    objects = [line.split() for line in file if line.split()[0] in GET_FD_BY_ID]
wanted = sys.argv[1] == "there"
sys.exit(not objects or any(is_there(kind, int(number)) != wanted for kind, number in objects))
