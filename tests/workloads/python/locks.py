#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Threads that need the interpreter's lock beside one that mostly does not.

    locks.py SECONDS    runs for about that CPU time
"""

import sys
import threading
import time
import zlib


def spin(end):
    total = 0
    while time.process_time() < end:
        for i in range(10000):
            total += i


def pack(data, end):
    while time.process_time() < end:
        zlib.compress(data, 9)


def main():
    end = time.process_time() + float(sys.argv[1])
    data = bytes(i * i % 251 for i in range(1 << 20))
    threads = [threading.Thread(target=spin, args=(end,)), threading.Thread(target=spin, args=(end,)),
               threading.Thread(target=pack, args=(data, end))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
