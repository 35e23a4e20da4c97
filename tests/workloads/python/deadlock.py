#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Two threads that each hold a lock and wait for the other's, forever: in lock_first() and
lock_second(). The main thread waits in watching(). Prints a line once both wait.
"""

import threading
import time

first, second = threading.Lock(), threading.Lock()
both_hold = threading.Barrier(2)


def lock_first():
    first.acquire()


def lock_second():
    second.acquire()


def first_thread():
    with first:
        both_hold.wait()
        lock_second()


def second_thread():
    with second:
        both_hold.wait()
        lock_first()


def watching():
    # Both have come by the barrier, and only wait from then on.
    while not both_hold.n_waiting == 0 or not (first.locked() and second.locked()):
        time.sleep(0.01)
    time.sleep(0.1)
    print("ready", flush=True)
    while True:
        time.sleep(1000)


for function in (first_thread, second_thread):
    threading.Thread(target=function, daemon=True).start()
watching()
