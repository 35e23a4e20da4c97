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


def beside(program, measure):
    """Returns what measure() gives while a program runs that ends with its input, once ready."""
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        if process.stdout.readline() != b"ready\n":
            sys.exit(f"{program}: status {process.wait()}")
        took = measure()
        process.communicate()
    return took


def under_prof(arguments, measure):
    prof = start_prof("attach", *arguments, "-o", "/dev/null")
    took = measure()
    end_prof(prof)
    return took


def under_perf(arguments, folder, measure):
    """Returns None if perf record was not ready."""
    control, tell = os.pipe()
    hear, acknowledge = os.pipe()
    perf = subprocess.Popen(["perf", "record", *arguments, "-D", "-1", "-o",
                             os.path.join(folder, "perf.data"), "--control",
                             f"fd:{control},{acknowledge}"], pass_fds=[control, acknowledge],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(control)
    os.close(acknowledge)
    os.write(tell, b"enable\n")
    is_ready = os.read(hear, 16).startswith(b"ack")
    took = measure() if is_ready else None
    perf.send_signal(signal.SIGINT)
    perf.wait()
    os.close(tell)
    os.close(hear)
    return took


def percentile(values, part):
    return sorted(values)[len(values) * part // 100]


def take_windows(names, command, rounds, measure):
    """Takes measure(name, target, other, folder) of all windows in random order in each round.

    `target` runs the command, and `other` sleeps. Returns what each window gave, by name, without
    None, and only those that have succeeded once.
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
    return {name: took for name, took in found.items() if took}


def measure_windows(names, command, rounds, measure):
    """take_windows() with the 10th percentile of each."""
    found = take_windows(names, command, rounds, measure)
    return {name: percentile(took, 10) for name, took in found.items()}
