#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Stacks of markers have the functions of Python and JavaScript, whichever probe takes them.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
# Not a script that starts it.
python=$(python3 -c 'import sys; print(sys.executable)')
all=(--syscalls=0 --io=0 --signals --wakers)
find_disk marker_functions

# FILE FUNCTION...: each function made ten markers of the kind and name of its own.
cat >made.py <<'CODE'
strings = p["shared"]["stringArray"]
language = args[0]
# function: type of the marker, its name, how many there are at least
wanted = {"sleeps": ("syscall", "clock_nanosleep", 10), "syncs": ("I/O", None, 10),
          "kills": ("signal", "SIGUSR2", 10), "wakes": ("woken", None, 10),
          "touches": ("major fault", None, 10), "executes": ("syscall", "execve", 3)}
wanted = {name: wanted[name] for name in args[1:]}
found = dict.fromkeys(wanted, 0)
for t in p["threads"]:
    m = t["markers"]
    for name, data in zip(m["name"], m["data"]):
        if not data or "cause" not in data:
            continue
        frames = check_profile.stack_frames(p, data["cause"]["stack"])
        own = [f["name"] for f in frames if f["category"] == language]
        for function, (kind, call, _) in wanted.items():
            if data["type"] != kind or call not in (None, strings[name]) or function not in own:
                continue
            found[function] += 1
            expect("runs" in own and own.index("runs") < own.index(function), own)
            # Functions that the interpreter calls lie inside, those that call it outside.
            names = [f["name"] for f in frames]
            expect(frames[0]["category"] != language, names)
            expect(kind != "syscall" or frames[-1]["category"] != language, names)
for function, (kind, call, count) in wanted.items():
    expect(found[function] >= count, f"{found[function]} of {kind} {call} are of {function}")
CODE

cat >runs.py <<'CODE'
import mmap, os, signal, subprocess, sys, time
def sleeps():
    for _ in range(10):
        time.sleep(0.003)
def syncs():
    for _ in range(10):
        os.pwrite(disk, os.urandom(4096), 0)
        os.fsync(disk)
def kills():
    for _ in range(10):
        os.kill(os.getpid(), signal.SIGUSR2)
def wakes(child):
    for _ in range(20):
        time.sleep(0.005)
        os.write(child.stdin.fileno(), b"x")
def touches():
    os.posix_fadvise(disk, 0, 0, os.POSIX_FADV_DONTNEED)
    pages = mmap.mmap(disk, 4 << 20, prot=mmap.PROT_READ)
    pages.madvise(mmap.MADV_RANDOM)
    return sum(pages[at] for at in range(0, 4 << 20, 65536))
def executes():
    for _ in range(5):
        if not os.fork():
            os.execv("/bin/true", ["true"])
        os.wait()
def runs():
    # The first ones may come before the interpreter is known.
    for _ in range(5):
        sleeps()
        syncs()
        kills()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as child:
        wakes(child)
    touches()
    executes()
disk = os.open(sys.argv[1], os.O_RDWR)
os.pwrite(disk, bytes(4 << 20), 0)
os.fsync(disk)
signal.signal(signal.SIGUSR2, lambda *_: None)
runs()
CODE
record python 0 "${all[@]}" --faults -- "$python" runs.py "$disk"
judge "system calls, I/O, signals, wakers, faults and execs of Python are in its functions" \
	python.json.gz Python sleeps syncs kills wakes touches executes <made.py
record native 0 "${all[@]}" --faults --no-runtimes -- "$python" runs.py "$disk"
judge "unless they are not wanted" native.json.gz <<'CODE'
expect("Python" not in [c["name"] for c in p["meta"]["categories"]], "functions of Python")
CODE

cat >runs.js <<'CODE'
const { closeSync, fsyncSync, openSync, writeSync } = require('fs');
const nothing = new Int32Array(new SharedArrayBuffer(4));
const pause = (ms) => Atomics.wait(nothing, 0, 0, ms);
function syncs(disk) {
  for (let i = 0; i < 10; i++) {
    writeSync(disk, Buffer.alloc(4096, i), 0, 4096, 0);
    fsyncSync(disk);
  }
}
function kills() {
  for (let i = 0; i < 10; i++) process.kill(process.pid, 'SIGUSR2');
}
function wakes(pipe) {
  for (let i = 0; i < 20; i++) {
    pause(5);
    writeSync(pipe, 'x');
  }
}
function runs(pipe) {
  const disk = openSync(process.argv[2], 'r+');
  // The first ones may come before the engine is known.
  for (let i = 0; i < 5; i++) {
    wakes(pipe);
    syncs(disk);
    kills();
  }
}
process.on('SIGUSR2', () => {});
const pipe = openSync(process.argv[3], 'w');
runs(pipe);
closeSync(pipe);
CODE
mkfifo pipe
# The reader opens the pipe first.
record node 0 "${all[@]}" -- sh -c 'cat pipe >/dev/null & exec node "$@"' sh runs.js "$disk" pipe
judge "I/O, signals and wakers of JavaScript are in its functions" node.json.gz \
	JavaScript syncs kills wakes <made.py
done_testing
