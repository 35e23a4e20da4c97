#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Markers of all kinds in one recording: report lists each, and selects by those that last.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

cat >kinds.py <<'CODE'
import mmap, os, select, signal, subprocess, time
signal.signal(signal.SIGUSR1, lambda *_: None)
r, w = os.pipe()
if os.fork() == 0:
    time.sleep(0.05)
    os.write(w, b"x")
    os.kill(os.getppid(), signal.SIGUSR1)
    os._exit(3)
os.read(r, 1)
os.wait()
subprocess.call(["sh", "-c", "kill -9 $$"])
loop = select.epoll()
for _ in range(5):
    loop.poll(0.01)
    end = time.monotonic() + 0.01
    while time.monotonic() < end:
        pass
with open(f"marker-{os.getpid()}.txt", "w+") as spans:
    spans.truncate(4096)
    mapped = mmap.mmap(spans.fileno(), 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)
    spans.truncate(0)
    begin = time.monotonic_ns()
    time.sleep(0.02)
    spans.write(f"{begin} {time.monotonic_ns()} phase\n")
    spans.flush()
    time.sleep(0.3)
CODE
record kinds 0 --off-cpu=all --slow 1 --wakers --signals --syscalls=0 --jank=1 --io --faults \
	-e 'sched:sched_switch/marker/' -- /usr/bin/python3 kinds.py
judge "markers of each kind" kinds.json.gz <<'CODE'
strings = p["shared"]["stringArray"]
kinds = {}
for t in p["threads"]:
    m = t["markers"]
    for name, phase in zip(m["name"], m["phase"]):
        kinds[strings[name]] = max(phase, kinds.get(strings[name], 0))
wanted = {"exec", "exit", "killed", "child", "woken", "read", "Slow call", "sched:sched_switch",
          "SIGUSR1", "SIGKILL", "phase", "Long task"}
expect(wanted <= set(kinds), wanted - set(kinds))
with open("kinds", "w") as file:
    file.writelines(f"{lasts} {name}\n" for name, lasts in sorted(kinds.items()))
CODE
# A machine of many CPUs may have recorded more kinds than lines that are shown without a limit.
"$PROF" report --markers --limit 0 kinds.json.gz >listed
missing='' wrong=''
while read -r lasts name; do
	grep -qF " $name " listed || missing+=" $name"
	run "$PROF" report --during "$name" --include-idle kinds.json.gz
	case $lasts:$status:$err in
	1:0:*) ;;
	0:125:*'these markers have no duration'*) ;;
	# Nothing was sampled in markers that were short.
	1:125:*'no matching samples'*) ;;
	*) wrong+=" $name ($status: $err)" ;;
	esac
done <kinds
is "report lists each" "$missing" ""
is "report selects by those that last, and says of others that they do not" "$wrong" ""
run "$PROF" report --during phase --include-idle kinds.json.gz
is "a span of the program has samples" "$status" 0
done_testing
