#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mounts a file system that never answers on a folder, until it is killed.

    silent_files.py FOLDER    prints "mounted"
"""

import ctypes
import os
import struct
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other"
if libc.mount(b"silent", sys.argv[1].encode(), b"fuse", 0, options.encode()):
    sys.exit(os.strerror(ctypes.get_errno()))
# Says hello, and nothing more.
request = os.read(fuse, 1 << 20)
unique = struct.unpack_from("<Q", request, 8)[0]
hello = struct.pack("<IIIIHHIIHHI28x", 7, 26, 0, 0, 0, 0, 4096, 1, 0, 0, 0)
os.write(fuse, struct.pack("<IiQ", 16 + len(hello), 0, unique) + hello)
print("mounted", flush=True)
while True:
    time.sleep(1000)
