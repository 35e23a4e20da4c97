#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Waits in known functions, for some seconds: each thread in others.

    waits.py SECONDS

Prints the chain of each kind of wait as JSON: {label: [function, ...]}, outermost first, where some
kernels and versions have several labels. Functions between are native: sorted() calls a key.
"""

import json
import os
import sys
import threading
import time

LENGTH = 0.002
CHAINS = {
    "clock_nanosleep select": ["napping", "nap"],
    "futex": ["locking", "lock"],
    "read": ["reading", "key", "read"],
}


def nap():
    time.sleep(LENGTH)


def napping(end):
    while time.monotonic() < end:
        nap()


def lock(held):
    with held:
        pass


def locking(end, held):
    while time.monotonic() < end:
        lock(held)


def holding(end, held):
    while time.monotonic() < end:
        with held:
            time.sleep(LENGTH)


def read(pipe):
    return os.read(pipe, 1)


def key(pipe):
    return read(pipe)


def reading(pipe):
    done = False
    while not done:
        done = not sorted([pipe], key=key)[0] or not os.read(pipe, 1)


def writing(end, pipe):
    while time.monotonic() < end:
        time.sleep(LENGTH)
        os.write(pipe, b"..")
    os.close(pipe)


def main():
    end = time.monotonic() + float(sys.argv[1])
    held = threading.Lock()
    inner, outer = os.pipe()
    calls = [(napping, end), (locking, end, held), (holding, end, held), (reading, inner),
             (writing, end, outer)]
    threads = [threading.Thread(target=call, args=rest) for call, *rest in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(CHAINS))


if __name__ == "__main__":
    main()
