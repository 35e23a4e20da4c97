# SPDX-License-Identifier: MIT
"""prof beside programs that are measured."""
import os
import random
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("BUILD", "build"))
PROF = os.path.abspath(os.environ.get("PROF", os.path.join(BUILD, "prof")))


def start_prof(command, *arguments, **options):
    """Returns prof, without symbols, once it is ready."""
    ready, write = os.pipe()
    prof = subprocess.Popen([PROF, command, "-q", "--no-symbols", "--ready-fd", str(write),
                             *arguments], pass_fds=[write], **options)
    os.close(write)
    if os.read(ready, 16) != b"ready\n":
        sys.exit(f"prof {command}: status {prof.wait()}")
    os.close(ready)
    return prof


def end_prof(prof):
    prof.send_signal(signal.SIGINT)
    if prof.wait():
        sys.exit(f"prof: status {prof.returncode}")


def work(target, count):
    """Has a program do something so many times; returns how long that took, in ns."""
    target.stdin.write(f"{count}\n".encode())
    target.stdin.flush()
    return int(target.stdout.readline())


def measure_windows(names, command, rounds, measure):
    """Takes measure(name, target, other, folder) of all windows in random order in each round.

    `target` runs the command, and `other` sleeps. Returns the 10th percentile of each window that
    has succeeded: where it gave no None.
    """
    found = {name: [] for name in names}
    target = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    other = subprocess.Popen(["sleep", "1000"])
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for name in random.sample(names, len(names)):
                took = measure(name, target, other, folder)
                if took is not None:
                    found[name].append(took)
    target.stdin.close()
    target.wait()
    other.kill()
    other.wait()
    return {name: sorted(took)[len(took) // 10] for name, took in found.items() if took}
