# SPDX-License-Identifier: MIT
"""A machine with many processes that have many files of code mapped, made for a while."""
import glob
import os
import shutil
import subprocess
import sys

# A common size of libraries.
SMALLEST, LARGEST = 20 << 10, 2 << 20
NOTE = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"  # the head of a note with a build id of 20 bytes


def libraries():
    """Real ones of this machine with a build id, as (bytes, where it is), the order fixed."""
    found, seen = [], set()
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"):
        for path in sorted(glob.glob(folder + "/*.so*")):
            real = os.path.realpath(path)
            size = os.path.getsize(real) if os.path.isfile(real) else 0
            if real in seen or not SMALLEST <= size <= LARGEST:
                continue
            seen.add(real)
            with open(real, "rb") as file:
                data = file.read()
            at = data.find(NOTE)
            if data[:5] == b"\x7fELF\x02" and at >= 0:
                found.append((data, at + len(NOTE)))
    return found


def copy_libraries(folder, count):
    """So many files: the libraries in turn, each copy with a build id of its own."""
    known = libraries()
    if not known:
        sys.exit("there are no libraries to copy")
    paths = []
    for i in range(count):
        # Not the first ones only where fewer are wanted than there are.
        data, at = known[(i * max(1, len(known) // count) if count < len(known) else i)
                         % len(known)]
        path = os.path.join(folder, f"library-{i:05}.so")
        with open(path, "wb") as file:
            file.write(data[:at] + i.to_bytes(4, "little") + data[at + 4:])
        paths.append(path)
    return paths


class Scene:
    """Processes that map `each` of `distinct` files; a context manager."""

    def __init__(self, workloads, folder, processes, each, distinct):
        self.folder = os.path.join(folder, f"files-{distinct}")
        os.makedirs(self.folder)
        files = copy_libraries(self.folder, distinct)
        self.process = subprocess.Popen(
            [os.path.join(workloads, "many_mappings"), str(processes), str(each), *files],
            stdout=subprocess.PIPE)
        if self.process.stdout.readline() != b"ready\n":
            sys.exit("many_mappings did not begin")

    def __enter__(self):
        return self.process.pid

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder)
