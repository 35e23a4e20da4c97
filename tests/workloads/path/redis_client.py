# SPDX-License-Identifier: MIT
"""redis_client.py: asks a Redis server slow questions, and does a little with each answer."""

import os
import socket
import subprocess
import sys
import time


def ask(connection, *words):
    connection.sendall(b"".join([b"*%d\r\n" % len(words),
                                 *(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)]))
    answer = b""
    while not answer.endswith(b"\r\n"):
        answer += connection.recv(65536)
    return answer


def digest(answer):
    return sum(sum(answer) for _ in range(2000))


def connect(path):
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            return connection
        except OSError:
            connection.close()
            time.sleep(0.01)


path = os.path.join(sys.argv[1], "socket")
server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", ""],
                          stdout=subprocess.DEVNULL)
with connect(path) as redis:
    ask(redis, b"EVAL", b"for i = 1, 50000 do redis.call('set', 'key' .. i, i) end return 1", b"0")
    for _ in range(30):
        digest(ask(redis, b"EVAL", b"return #redis.call('keys', '*8*7*')", b"0"))
    redis.sendall(b"SHUTDOWN NOSAVE\r\n")
server.wait()
