#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Generated code, named by perf map or jitdump, even if those are gone at the end. The program is
# Debian's node.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"
# Keeps called functions from being inlined.
node=(/usr/bin/node --no-turbo-inlining)
# Node tells columns from version 20 on.
column=$(/usr/bin/node -p 'Number(process.versions.node.split(".")[0]) < 20 ? "None" : "15"')

cat >burn.js <<'CODE'
function inner(n) { let sum = 0; for (let i = 0; i < n; i++) sum += i % 7; return sum; }
function outer(n) { let sum = 0; for (let i = 0; i < n; i++) sum += inner(2000); return sum; }
const used = () => process.cpuUsage().user / 1000;
const fs = require('fs');
const follows = (pid, path) => fs.readdirSync(`/proc/${pid}/fd`).some(fd => {
  try { return fs.readlinkSync(`/proc/${pid}/fd/${fd}`) === path; } catch { return false; }
});
let total = 0;
if (process.argv[3]) {
  const map = process.argv[3] + process.pid + '.map';
  while (!follows(process.ppid, map) && used() < 20000) total += outer(1);
  fs.unlinkSync(map);
}
const end = used() + Number(process.argv[2]);
while (used() < end) total += outer(100);
console.log(process.pid, total);
CODE
at_exit+=("rm -f /tmp/perf-\"\$pid\".map")
pid=none

# Recorded functions of the script, in any tier; optimized code has at least half of the time.
names_script() { # NAME
	judge "$1: functions of the script, by file and line, in JavaScript's category" \
		"$1.json.gz" "$1.stats" "$PWD/burn.js" "$column" <<'CODE'
import json
shared = p["shared"]
strings, funcs, frames = shared["stringArray"], shared["funcTable"], shared["frameTable"]
sources = [strings[i] for i in shared["sources"]["filename"]]
def rows(name):
    return [i for i in range(funcs["length"]) if strings[funcs["name"][i]] == name and
            funcs["source"][i] is not None and sources[funcs["source"][i]] == args[1]]
main = next(t for t in p["threads"] if t["isMainThread"])
total = sum(weight for _, _, weight, _ in samples(main))
for name, line in (("inner", 1), ("outer", 2)):
    found = rows(name)
    expect(len(found) == 1, f"{name}: {len(found)} rows, whatever the tier")
    for row in found:
        expect(funcs["lineNumber"][row] == line and str(funcs["columnNumber"][row]) == args[2],
               f"{name}: line {funcs['lineNumber'][row]}, column {funcs['columnNumber'][row]}")
        expect(funcs["isJS"][row] and funcs["resource"][row] == -1, f"{name} is not a script's")
        tiers = {p["meta"]["categories"][frames["category"][i]]["subcategories"]
                 [frames["subcategory"][i]] for i in range(frames["length"])
                 if frames["func"][i] == row}
        expect("Optimized" in tiers, f"{name}: {tiers}")
script = [(frames, weight) for _, _, weight, frames in samples(main)
          if any(f["name"] in ("inner", "outer") for f in frames)]
count = sum(weight for _, weight in script)
expect(count > 200 and count > total / 3, f"{count} of {total} samples in the script")
expect(all(f["category"] == "JavaScript" for frames, _ in script for f in frames
           if f["name"] in ("inner", "outer")), "category")
below = sum(weight for frames, weight in script
            if any(f["name"].startswith("node::") for f in frames) and frames[0]["lib"])
expect(below >= 0.99 * count, f"called by node: {below} of {count}")
stats = json.load(open(args[0]))
can_be_whole = sum(stats[c] for c in ("whole", "truncated", "broken", "unknown"))
expect(stats["whole"] >= 0.99 * can_be_whole, f"whole: {stats}")
CODE
}

record map 0 --as-root --no-runtimes -- "${node[@]}" --perf-basic-prof burn.js 700
pid=${out%% *}
names_script map
rm -f "/tmp/perf-$pid.map"

record dump 0 --as-root --no-runtimes -- "${node[@]}" --perf-prof burn.js 700
names_script dump
rm -f jit-*.dump

record interpreted 0 --as-root --no-runtimes -- "${node[@]}" --perf-basic-prof \
	--interpreted-frames-native-stack burn.js 700
pid=${out%% *}
names_script interpreted
judge "interpreted: the script itself, though it is never compiled" interpreted.json.gz <<'CODE'
found = [frames for _, _, _, frames in samples() if any(f["name"] == "inner" for f in frames)]
right = sum(any(f["category"] == "JavaScript" and f["name"] == "(anonymous)" for f in frames)
            for frames in found)
expect(right > 0.9 * len(found), f"{right} of {len(found)}")
CODE
rm -f "/tmp/perf-$pid.map"

record unlinked 0 --as-root --no-runtimes -- "${node[@]}" --perf-basic-prof burn.js 700 /tmp/perf-
names_script unlinked
is "unlinked: it is not there any more" "$(ls /tmp/perf-"${out%% *}".map 2>/dev/null)" ""

# In its own namespaces, it has another pid and another /tmp.
record namespaces 0 --as-root -- unshare --mount --pid --fork --mount-proc sh -c \
	"mkdir -p /run/user && mount -t tmpfs none /run/user && cp burn.js /run/user &&
	mount -t tmpfs none /tmp && ${node[*]} --perf-basic-prof /run/user/burn.js 700"
judge "namespaces: by the map that the process itself sees" namespaces.json.gz <<'CODE'
found = [f for _, _, _, frames in samples() for f in frames[-1:]
         if f["name"] in ("inner", "outer")]
expect(len(found) > 200, f"{len(found)} samples")
expect(all(f["category"] == "JavaScript" for f in found), "category")
CODE

# A JIT uses an address again: the old name stays with the old samples, the new one begins in time.
cat >reuse.py <<'CODE'
import ctypes
import mmap
import os
import platform
import time
path = f"/tmp/perf-{os.getpid()}.map"
# Counts 200,000 down to 0: mov, dec and jnz, or movz, movk, subs and b.ne, ret.
code = bytes.fromhex({"x86_64": "b9400d0300ffc975fcc3",
                      "aarch64": "09a881526900a07229050071e1ffff54c0035fd6"}[platform.machine()])
def is_followed():
    folder = f"/proc/{os.getppid()}/fd/"
    return any(os.path.realpath(folder + fd) == path for fd in os.listdir(folder))
with open(path, "w") as file:
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    addr = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    function = ctypes.CFUNCTYPE(None)(addr)
    while not is_followed() and time.process_time() < 20:
        pass
    for generation in range(4):
        print(time.time() * 1000)
        file.write(f"{addr:x} {len(code):x} generation{generation}\n")
        file.flush()
        end = time.time() + 0.5
        while time.time() < end:
            function()
    print(time.time() * 1000)
os.unlink(path)
CODE
record reuse 0 --as-root --no-runtimes -- /usr/bin/python3 reuse.py
judge "reuse: each name has the time in which its code was there" reuse.json.gz "$out" <<'CODE'
begun = [float(time) - p["meta"]["startTime"] for time in args[0].split()]
found = [(time, frames[-1]["name"]) for _, time, _, frames in samples()
         if frames[-1]["name"].startswith("generation")]
# The kernel writes times of files in its own ticks.
right = sum(begun[int(name[10:])] - 20 <= time <= begun[int(name[10:]) + 1] + 20
            for time, name in found)
expect(len(found) > 100 and right >= 0.97 * len(found), f"{right} of {len(found)}, {begun}")
expect(len({name for _, name in found}) == 4, {name for _, name in found})
CODE

# Anyone who can write to /tmp could name another user's code, or make prof read private files.
cat >trap.py <<'CODE'
import mmap
import os
import platform
import sys
import time
path = f"/tmp/perf-{os.getpid()}.map"
kind = sys.argv[1]
if kind == "other":
    open(path, "w").write("0 ffffffffffff0000 wrong\n")
    os.chown(path, 65534, 65534)
elif kind == "link":
    open("target", "w").write("0 ffffffffffff0000 wrong\n")
    os.symlink(os.path.abspath("target"), path)
elif kind == "fifo":
    os.mkfifo(path)
else:
    open(path, "w").write("rubbish\n\0\n10 0 empty\n0 ffffffffffff0000 right\n")
# Counts 20 million down to 0: mov, dec and jnz, or subs and b.ne, ret.
code = bytes.fromhex({"x86_64": "b9002d3101ffc975fcc3",
                      "aarch64": "2926a05229050071e1ffff54c0035fd6"}[platform.machine()])
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(code)
import ctypes
function = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
end = time.process_time() + 0.5
while time.process_time() < end:
    function()
os.unlink(path)
CODE
for kind in own other link fifo; do
	record "$kind" 0 --as-root -- /usr/bin/python3 trap.py "$kind"
done
judge "own: named by its map, whose bad lines are counted" own.json.gz own.stats <<'CODE'
import json
stats = json.load(open(args[0]))
expect(own("right") > 200, f"{own('right')} samples")
expect(stats["code_pieces"] == 1 and stats["code_malformed"] == 3, stats)
CODE
for kind in other link fifo; do
	judge "$kind: no map that is not the process's own regular file" "$kind.json.gz" \
		"$kind.stats" <<'CODE'
import json
stats = json.load(open(args[0]))
jit = sum(weight for _, _, weight, frames in samples()
          if frames and frames[-1]["name"]== "code made by _ctypes")
expect(own("wrong") == 0 and jit > 200, f"{own('wrong')} wrong, {jit} without a name")
expect(stats["code_pieces"] == 0, stats)
CODE
done

record anon 0 -- "$workloads/anon_code" 0.3 <<<go
judge "code without a map is one function of the program that made it" anon.json.gz <<'CODE'
made = [f for _, _, _, frames in samples() for f in frames if f["name"].startswith("code made")]
expect(len(made) > 100 and {f["name"] for f in made} == {"code made by anon_code"}, made[:1])
CODE

done_testing
