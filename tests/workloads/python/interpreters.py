#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calls subinterpreters, in the main thread and in another one, and works in all of them.

    interpreters.py SECONDS

Exits with 3 if this Python has no module for them.
"""

import sys
import threading
import time

try:
    import _interpreters as interpreters
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        sys.exit(3)

INSIDE = """
def inner_spin(n):
    total = 0
    for i in range(n):
        total += i
    return total

def inner_key(x):
    return inner_spin(20000)

def inner_sort():
    return sorted([1, 2, 3], key=inner_key)

inner_sort()
"""


def outer_spin(n):
    total = 0
    for i in range(n):
        total += i
    return total


def outer_call(interpreter):
    getattr(interpreters, "exec", interpreters.run_string)(interpreter, INSIDE)


def outer_key(interpreter):
    outer_call(interpreter)
    return outer_spin(60000)


def outer_run(seconds):
    interpreter = interpreters.create()
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sorted([interpreter], key=outer_key)
    interpreters.destroy(interpreter)


def main(seconds):
    outer_run(seconds / 2)
    thread = threading.Thread(target=outer_run, args=(seconds / 2,))
    thread.start()
    thread.join()


main(float(sys.argv[1]))
