# SPDX-License-Identifier: MIT
"""Runs a command on a terminal of its own, as another user, and types for that user.

    on_terminal.py USER [REGEX TEXT]... -- COMMAND [ARGUMENT]...

Types TEXT (with Python's escapes) when REGEX occurs in the output since the last match. All
output goes to stdout, without carriage returns; the exit status is the
command's. Standard input other than a terminal is the command's, too, where STDIN=keep is set.
"""
import os
import pty
import pwd
import re
import select
import signal
import sys
import termios
import time

user = pwd.getpwnam(sys.argv[1])
cut = sys.argv.index("--")
talk = sys.argv[2:cut]
talk = [(re.compile(talk[i].encode()), talk[i + 1].encode().decode("unicode_escape").encode())
        for i in range(0, len(talk), 2)]
command = sys.argv[cut + 1:]
# Only a hang takes this long.
deadline = time.monotonic() + 600
kept = os.dup(0) if os.environ.pop("STDIN", "") == "keep" else -1

# Before the terminal is made, which belongs to that user afterwards.
if os.geteuid() == 0:
    os.initgroups(user.pw_name, user.pw_gid)
os.setresgid(user.pw_gid, user.pw_gid, user.pw_gid)
os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
pid, terminal = pty.fork()
if pid == 0:
    # A test run in the background of a shell has SIGINT ignored.
    for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    if kept >= 0:
        os.dup2(kept, 0)
    os.execvp(command[0], command)

seen, ended = b"", None
# A Ctrl-C at a prompt for a password, which sudo misses if it comes just before sudo reads.
interrupt, typed_at = False, 0
while time.monotonic() < deadline:
    # Descendants that outlive the command may keep the terminal open.
    ended = ended or os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if not select.select([terminal], [], [], 0 if ended else 0.05)[0]:
        if ended:
            break
        if interrupt and time.monotonic() > typed_at + 1:
            os.write(terminal, b"\x03")
            typed_at = time.monotonic()
        continue
    try:
        data = os.read(terminal, 65536)
    except OSError:
        break
    if not data:
        break
    interrupt = interrupt and not data.strip()
    os.write(1, data.replace(b"\r\n", b"\n"))
    seen += data
    if talk and talk[0][0].search(seen):
        # Programs that ask for a password discard text typed before the echo is off.
        while b"assword" in talk[0][0].pattern and termios.tcgetattr(terminal)[3] & termios.ECHO:
            time.sleep(0.01)
        regex, text = talk.pop(0)
        os.write(terminal, text)
        interrupt, typed_at = b"assword" in regex.pattern and text == b"\x03", time.monotonic()
        seen = b""
else:
    os.kill(pid, signal.SIGKILL)
    print("on_terminal.py: time is up")
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(128 - status if status < 0 else status)
