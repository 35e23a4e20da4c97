# SPDX-License-Identifier: MIT
"""Thirty threads share two connections, so that hardly any of them does anything but wait."""
import threading
import time

THREADS, CONNECTIONS, REQUESTS, SECONDS = 30, 2, 2, 0.05


class ConnectionPool:
    def __init__(self):
        self.free = list(range(CONNECTIONS))
        self.changed = threading.Condition()

    def get(self):
        with self.changed:
            while not self.free:
                self.changed.wait()
            return self.free.pop()

    def put(self, connection):
        with self.changed:
            self.free.append(connection)
            self.changed.notify()


def handle(pool):
    connection = pool.get()
    time.sleep(SECONDS)
    pool.put(connection)


def serve(pool):
    for _ in range(REQUESTS):
        handle(pool)


def main():
    pool = ConnectionPool()
    threads = [threading.Thread(target=serve, args=(pool,)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
