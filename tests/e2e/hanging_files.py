#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mounts a file system that shows another folder and then stops to answer, until it is killed.

    hanging_files.py BACKING FOLDER SWITCH [flush]    prints "mounted"

Read a file of it first. What the file SWITCH holds says at what it stops, once it appears: "open", "read", "byte" (the second
read; the first one gives a byte) or "write". With "flush", the kernel asks it even to close a file. Requests that it does not take can be interrupted, as
those to a server that has gone.
"""

import ctypes
import errno
import os
import select
import stat
import struct
import sys

backing, folder, switch = sys.argv[1:4]
libc = ctypes.CDLL(None, use_errno=True)
fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions"
if libc.mount(b"hanging", folder.encode(), b"fuse", 0, options.encode()):
    sys.exit(os.strerror(ctypes.get_errno()))

LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, \
    ACCESS, CREATE, INTERRUPT, DESTROY = 1, 2, 3, 4, 14, 15, 16, 17, 18, 25, 26, 27, 28, 29, 34, 35, 36, 38
MKNOD, UNLINK, RENAME, RENAME2, BATCH_FORGET, GETXATTR = 8, 10, 12, 45, 42, 22
# Requests by number, answered as the folder has it.
nodes = {1: backing}
numbers = {backing: 1}
files = {}
reads = 0
DIRECT_IO = 1


def node_of(path):
    if path not in numbers:
        numbers[path] = len(nodes) + 1
        nodes[numbers[path]] = path
    return numbers[path]


def attributes(path):
    st = os.lstat(path)
    return struct.pack("<QQQQQQIIIIIIIIII", node_of(path), st.st_size, st.st_blocks, int(st.st_atime),
                       int(st.st_mtime), int(st.st_ctime), 0, 0, 0, st.st_mode, st.st_nlink, st.st_uid, st.st_gid,
                       0, 4096, 0)


def entry(path):
    # Names and attributes are believed for an hour, so that only what the test is about is asked.
    return struct.pack("<QQQQII", node_of(path), 0, 3600, 3600, 0, 0) + attributes(path)


def wanted():
    try:
        return open(switch).read().strip()
    except OSError:
        return ""


def stand_still():
    while True:
        select.select([], [], [], 1000)


def answer(opcode, node, body):
    global reads
    path = nodes.get(node, backing)
    if opcode == INIT:
        return struct.pack("<IIIIHHIIHHI28x", 7, 26, 0, 0, 0, 0, 1 << 17, 1, 0, 0, 0)
    if opcode in (LOOKUP, UNLINK):
        name = os.path.join(path, body.split(b"\0")[0].decode())
        if opcode == UNLINK:
            os.unlink(name)
            return b""
        return entry(name)
    if opcode == CREATE:
        flags, mode = struct.unpack_from("<II", body)
        name = os.path.join(path, body[16:].split(b"\0")[0].decode())
        handle = os.open(name, os.O_RDWR | os.O_CREAT, mode & 0o777)
        return entry(name) + struct.pack("<QII", handle, 0, 0)
    if opcode in (GETATTR, SETATTR):
        return struct.pack("<QII", 3600, 0, 0) + attributes(path)
    if opcode == OPEN:
        flags = struct.unpack_from("<I", body)[0]
        handle = os.open(path, os.O_RDWR if flags & 3 else os.O_RDONLY)
        return struct.pack("<QII", handle, DIRECT_IO if wanted() == "byte" else 0, 0)
    if opcode == READ:
        handle, offset, size = struct.unpack_from("<QQI", body)
        reads += 1
        return os.pread(handle, 1 if wanted() == "byte" else size, offset)
    if opcode == WRITE:
        handle, offset, size = struct.unpack_from("<QQI", body)
        return struct.pack("<II", os.pwrite(handle, body[40:40 + size], offset), 0)
    if opcode in (RENAME, RENAME2):
        target = struct.unpack_from("<Q", body)[0]
        old, new = body[8 if opcode == RENAME else 16:].split(b"\0")[:2]
        os.rename(os.path.join(path, old.decode()), os.path.join(nodes[target], new.decode()))
        return b""
    if opcode == FLUSH and sys.argv[4:]:
        return b""
    if opcode == FLUSH:
        # The kernel then asks no more: a process that ends would wait for the answer.
        raise OSError(errno.ENOSYS, "flush")
    if opcode in (RELEASE, OPENDIR, RELEASEDIR, ACCESS):
        if opcode == OPENDIR:
            return struct.pack("<QII", 0, 0, 0)
        return b""
    if opcode == READDIR:
        return b""
    raise OSError(errno.ENOSYS, "unknown")


# At a switch, the kernel's next request of that kind stays where it is: nothing more is read.
stops_after = {"open": None, "read": OPEN, "byte": READ, "write": None}
poll = select.poll()
poll.register(fuse, select.POLLIN)
print("mounted", flush=True)
while True:
    poll.poll(50)
    what = wanted()
    if what in ("open", "write"):
        stand_still()
    try:
        request = os.read(fuse, 1 << 20)
    except BlockingIOError:
        continue
    size, opcode, unique, node = struct.unpack_from("<IIQQ", request)
    if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
        continue
    failure, data = 0, b""
    try:
        data = answer(opcode, node, request[40:size])
    except OSError as e:
        failure = -(e.errno or errno.EIO)
    try:
        os.write(fuse, struct.pack("<IiQ", 16 + len(data), failure, unique) + data)
    except OSError:
        pass
    if what in stops_after and opcode == stops_after[what]:
        stand_still()
