# SPDX-License-Identifier: MIT
"""A front end that is not what it says, for the helper to refuse: see cmd/run/elevation.h.

    false_front.py USER CASE PROF

Runs the helper by that user's sudo and prints its exit status and what it says.
"""
import os
import pwd
import socket
import struct
import subprocess
import sys

name, case, prof = sys.argv[1:]
user = pwd.getpwnam(name)
HELLO, START = 1, 2
STDERR, STDOUT, COMMAND = 1, 2, 8


def message(kind, value):
    return struct.pack("=IiIIQ512s", kind, value, 0, 0, 0, b"")


def become_user():
    if os.geteuid():
        return
    os.initgroups(name, user.pw_gid)
    os.setresgid(user.pw_gid, user.pw_gid, user.pw_gid)
    os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)


roots = subprocess.Popen(["sleep", "60"])
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if case != "another user's socket":
    become_user()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if case == "a stream":
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
become_user()
own = subprocess.Popen(["sleep", "60"])
helper = subprocess.Popen(
    ["sudo", "-n", "--", prof, "--record-for-front-end", "record", "-q", "-o", "false.json.gz",
     "--", "touch", "started"],
    stdin=theirs, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
theirs.close()
greeting = ours.recv(4096)
if greeting and greeting == message(HELLO, 0):
    fds = [2, 2]
    which = STDERR | STDOUT
    if case == "another user's command":
        fds.append(os.pidfd_open(roots.pid))
        which |= COMMAND
    elif case == "no pidfd":
        fds.append(2)
        which |= COMMAND
    elif case == "an ended command":
        fds.append(os.pidfd_open(own.pid))
        which |= COMMAND
        own.kill()
        own.wait()
    start = message(START, which)
    if case == "half a message":
        start = start[:100]
    elif case == "fewer descriptors than said":
        start = message(START, which | COMMAND)
    elif case == "descriptors that do not exist":
        start = message(START, which | 1 << 20)
    try:
        socket.send_fds(ours, [start], fds)
        while ours.recv(4096):
            pass
    except OSError:
        pass
reply = helper.communicate()[1]
own.kill()
print(helper.returncode, reply)
