# SPDX-License-Identifier: MIT
"""Runs a BPF program until the file "stop" appears, removes it, and ends.

The kernel forgets its name then, and may put other code in its place. Writes the file "loaded" first.
"""
import ctypes
import os
import platform
import struct
import time

PROG_LOAD, PROG_TEST_RUN = 5, 10
SOCKET_FILTER = 1
LOAD_NUMBER, MULTIPLY, EXIT = 0xb7, 0x27, 0x95
BPF = {"x86_64": 321, "aarch64": 280}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)


def bpf(command, attributes):
    data = ctypes.create_string_buffer(attributes, 128)
    result = libc.syscall(BPF, command, data, 128)
    if result < 0:
        raise OSError(ctypes.get_errno(), "bpf")
    return result


def instruction(code, number=0):
    return struct.pack("<BBhi", code, 0, 0, number)


code = ctypes.create_string_buffer(
    instruction(LOAD_NUMBER) + 2000 * instruction(MULTIPLY, 3) + instruction(EXIT))
licence = ctypes.create_string_buffer(b"GPL")
packet = ctypes.create_string_buffer(64)
program = bpf(PROG_LOAD, struct.pack("<IIQQIIQII16s", SOCKET_FILTER, 2002, ctypes.addressof(code),
                                     ctypes.addressof(licence), 0, 0, 0, 0, 0, b"vanishing"))
run = struct.pack("<IIIIQQII", program, 0, 64, 0, ctypes.addressof(packet), 0, 1000, 0)
with open("loaded", "w", encoding="ascii"):
    pass
end = time.monotonic() + 60
while not os.path.exists("stop") and time.monotonic() < end:
    bpf(PROG_TEST_RUN, run)
os.close(program)
