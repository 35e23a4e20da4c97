#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A reader waits for what a sleeping writer sends through a pipe, a hundred times.

    reads.py [SLEEPS]

Prints the descriptor and the times of each read's start, of the write and of the read's end,
CLOCK_MONOTONIC ns. Then it sleeps, SLEEPS times.
"""
import os
import sys
import time


def read():
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        for _ in range(100):
            time.sleep(0.020)
            os.write(writing, b"%020d" % time.monotonic_ns())
        os._exit(0)
    os.close(writing)
    for _ in range(100):
        begin = time.monotonic_ns()
        written = int(os.read(reading, 20))
        print(reading, begin, written, time.monotonic_ns())
    os.wait()
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 0):
        time.sleep(0.040)


read()
