#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compiled.py SECONDS: works below functions that are linked as compiled ones are.

Such functions, Nuitka's, link a frame that lies in its frame object, and no call of the interpreter
runs them. Two are linked as the callers of the outermost function here; each 50th round unlinks
them, so that some stacks have none. From Python 3.11 on.
"""

import ctypes
import struct
import sys
import time

IS_3_11 = sys.version_info < (3, 12)
# Offsets in _PyInterpreterFrame, which are in a PyFrameObject at 24.
CODE, OBJECT, PREVIOUS = (32, 40, 48) if IS_3_11 else (0, 48, 8)
INSTRUCTION, OWNER = 56, 69 if IS_3_11 else 70 if sys.version_info < (3, 14) else 74
GENERATOR = 1
FRAME = 104


def compiled_main():
    pass


def compiled_inner():
    pass


def word(address):
    return ctypes.c_uint64.from_address(address)


def make_frame(function, outer):
    """Returns a frame object; its frame is at FRAME."""
    room = ctypes.create_string_buffer(FRAME + 256)
    start = ctypes.addressof(room)
    for offset, value in ((CODE, id(function.__code__)), (OBJECT, start), (PREVIOUS, outer),
                          (INSTRUCTION, id(function.__code__) + 256)):
        struct.pack_into("<Q", room, FRAME + offset, value)
    room[FRAME + OWNER] = GENERATOR
    return room


def find_links():
    """Returns the addresses of the links at the outer end of the chain."""
    frame = word(id(sys._getframe()) + 24).value
    while word(frame + PREVIOUS).value:
        frame = word(frame + PREVIOUS).value
    links = [word(frame + PREVIOUS)]
    if IS_3_11:
        state = ctypes.pythonapi.PyThreadState_Get
        state.restype = ctypes.c_uint64
        cframe = word(state() + 56).value
        while word(cframe + 16).value:
            cframe = word(cframe + 16).value
        links.append(word(cframe + 8))
    return links


def leaf(n):
    total = 0
    for i in range(n):
        total = (total * 31 + i) & 0xffffff
    return total


def main():
    outer = make_frame(compiled_main, 0)
    inner = make_frame(compiled_inner, ctypes.addressof(outer) + FRAME)
    links = find_links()
    end = time.perf_counter() + float(sys.argv[1])
    rounds = 0
    while time.perf_counter() < end:
        for link in links:
            link.value = ctypes.addressof(inner) + FRAME if rounds % 50 else 0
        leaf(2000)
        rounds += 1
    for link in links:
        link.value = 0


main()
