#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Types lines with a Tab each in a real shell on a terminal, and prints the words that this leaves.

    type_line.py bash|zsh|fish FOLDER TEXT...

FOLDER holds the completions. What the line then is goes through printf, so nothing depends on how
a shell draws."""

import os
import pty
import select
import sys
import time

shell, folder, *texts = sys.argv[1:]
BEGIN = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
SETUP = {
    "bash": f"bind 'set completion-query-items 0'; bind 'set page-completions off'; "
            f"bind 'set enable-bracketed-paste off'; . {folder}/prof.bash\n",
    "zsh": f"bindkey -e; LISTMAX=100000; fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D\n",
    "fish": f"set -g fish_greeting; source {folder}/prof.fish\n",
}


def main():
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm", PS1="$ ", HOME=os.getcwd(), XDG_CONFIG_HOME=os.getcwd(),
                          XDG_DATA_HOME=os.getcwd())
        os.execvp(shell, BEGIN[shell])
    os.write(fd, SETUP[shell].encode())
    os.write(fd, b"echo rea''dy\n")
    read_until(fd, b"ready")
    for text in texts:
        # The shell reads the keys that follow once it has completed. No list that it shows takes them.
        os.write(fd, text.encode() + b"\t\x05\x01printf '<%s>\\n' \x05; echo typed-en''d\n")
        seen = read_until(fd, b"typed-end")
        words = [line.strip() for line in seen.decode(errors="replace").replace("\r", "\n").split("\n")]
        print(" ".join(w[1:-1] for w in words if w.startswith("<") and w.endswith(">") and w != "<%s>"))
    os.write(fd, b"exit\n\x04")


def read_until(fd, mark):
    seen, end = b"", time.monotonic() + 60
    while mark not in seen:
        if time.monotonic() > end or not select.select([fd], [], [], 60)[0]:
            sys.exit(f"{shell}: {seen[-2000:]!r}")
        seen += os.read(fd, 65536)
    return seen


main()
