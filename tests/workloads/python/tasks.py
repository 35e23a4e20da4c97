#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs tasks of asyncio in a thread with a name; prints the CPU time of each as JSON.

    tasks.py SECONDS
"""

import asyncio
import json
import sys
import threading
import time

ROUNDS = 40
SHARES = {"awaiter: Task-1, task: first": 0.5, "awaiter: Task-1, task: second": 0.3, "task: Task-1": 0.2}
spent = dict.fromkeys(SHARES, 0.0)


def burn(label, seconds):
    start = time.thread_time()
    while time.thread_time() - start < seconds:
        pass
    spent[label] += time.thread_time() - start


async def work(label, seconds):
    for _ in range(ROUNDS):
        burn(label, seconds / ROUNDS)
        await asyncio.sleep(0)


async def main(seconds):
    *labels, own = SHARES
    tasks = []
    for label in labels:
        tasks.append(asyncio.ensure_future(work(label, SHARES[label] * seconds)))
        tasks[-1].set_name(label.split()[-1])
    await asyncio.wait(tasks)
    burn(own, SHARES[own] * seconds)


thread = threading.Thread(target=lambda: asyncio.run(main(float(sys.argv[1]))), name="the thread of an event loop")
thread.start()
thread.join()
print(json.dumps(spent))
