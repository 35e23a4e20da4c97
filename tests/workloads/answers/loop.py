# SPDX-License-Identifier: MIT
# loop.py SECONDS: a server whose event loop stands still while one function sleeps.
import asyncio
import sys
import time


def send_mail():
    time.sleep(0.05)


async def handle(reader, writer):
    await reader.readline()
    send_mail()
    writer.write(b"sent\n")
    await writer.drain()
    writer.close()


async def client(port, until):
    while time.monotonic() < until:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"mail\n")
        await reader.readline()
        writer.close()


async def main():
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    until = time.monotonic() + float(sys.argv[1])
    await asyncio.wait([asyncio.create_task(client(port, until)) for _ in range(3)])


asyncio.run(main())
