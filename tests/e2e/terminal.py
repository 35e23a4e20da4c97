# SPDX-License-Identifier: MIT
# Runs a command on a terminal of its own, 80 columns wide, and prints its output as one Python
# string. The exit status is the command's.
#
#     terminal.py COMMAND...        INTERRUPT: text after which Ctrl-C is typed, once
import os
import pty
import sys

pid, master = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execvp(sys.argv[1], sys.argv[1:])
interrupt = os.environ.get("INTERRUPT", "").encode()
shown = b""
while True:
    try:
        data = os.read(master, 4096)
    except OSError:
        break
    shown += data
    if interrupt and interrupt in shown:
        interrupt = b""
        os.write(master, b"\x03")
print(repr(shown.decode(errors="replace")))
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(status if status >= 0 else 128 - status)
