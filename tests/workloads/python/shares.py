#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Threads that compete for the interpreter, and know the CPU time of each of their functions.

    shares.py SECONDS   runs for so much CPU time; prints {function: CPU seconds} as JSON

One function releases the interpreter's lock, and one waits: profilers that count what is not idle
instead of CPU time see other shares.
"""

import hashlib
import json
import sys
import threading
import time

THREADS = 3

spent = {}
lock = threading.Lock()


def count(n):
    total = 0
    for i in range(n):
        total += i
    return total


def short():
    count(40000)


def long():
    count(80000)


def unlocked():
    hashlib.sha256(bytes(1000000)).hexdigest()


def callbacks():
    for _ in range(20):
        sorted(range(3000, 0, -1), key=lambda x: -x)


def measure(function):
    begin = time.thread_time()
    function()
    seconds = time.thread_time() - begin
    with lock:
        spent[function.__name__] = spent.get(function.__name__, 0) + seconds


def work(seconds):
    while time.process_time() < seconds:
        for function in (short, long, unlocked, callbacks):
            measure(function)
        time.sleep(0.002)


def main():
    threads = [threading.Thread(target=work, args=(float(sys.argv[1]),)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(spent))


main()
