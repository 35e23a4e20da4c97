#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# --faults: pages that are read from a disk as a program touches them.
#
# May run beside others.
. "$(dirname "$0")/lib.sh"

# The folder of the build is on a disk; the test's own may be in memory.
file=$(cd "$root" && cd "${BUILD:-build}" && pwd)/faults-$$
at_exit+=("rm -f '$file'")
head -c 4194304 /dev/zero >"$file"
# Prints its pid, and the addresses of pages that were not in memory when it touched them.
cat >touch.py <<'CODE'
import ctypes, mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
size = os.fstat(fd).st_size
os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
pages = mmap.mmap(fd, size)
pages.madvise(mmap.MADV_RANDOM)
start = ctypes.addressof(ctypes.c_char.from_buffer(pages))
resident = ctypes.c_ubyte()
libc = ctypes.CDLL(None, use_errno=True)
print(os.getpid())
for at in range(0, size, 65536):
    assert libc.mincore(ctypes.c_void_p(start + at), ctypes.c_size_t(1), ctypes.byref(resident)) == 0
    if not resident.value & 1:
        print(hex(start + at))
    pages[at]
CODE
record some 0 --faults -- /usr/bin/python3 touch.py "$file"
echo "$out" >some.told
judge "each is a marker with file, address and stack" some.json.gz some.told some.stats "$file" <<'CODE'
import json
strings = p["shared"]["stringArray"]
pid, *told = open(args[0]).read().split()
[own] = threads_of(pid)
rows = [d for t in p["threads"] for d in t["markers"]["data"] if d and d["type"] == "major fault"]
found = [d for d in own["markers"]["data"] if d and d["type"] == "major fault"]
at = [strings[d["address"]] for d in found if strings[d["file"]] == args[2]]
expect(len(told) > 0, "all pages were in memory")
expect(at == told, (at, told))
for d in found:
    expect(check_profile.stack_frames(p, d["cause"]["stack"]), d)
stats = json.load(open(args[1]))["faults"]
expect(stats == {"recorded": len(rows), "lost": 0}, (stats, len(rows)))
CODE
like "the summary says how many" "$err" 'faults: [0-9]+, 0 lost'
ok "report lists them" sh -c "'$PROF' report --markers --format csv some.json.gz | grep -q 'major fault.*File: /.*, Address: 0x'"
run "$PROF" report --during 'major fault' some.json.gz
like "they are moments, which select nothing" "$err" 'have no duration'
record none 0 -- /usr/bin/python3 touch.py "$file"
judge "without the option there are none" none.json.gz none.stats <<'CODE'
import json
expect("major fault" not in [s["name"] for s in p["meta"]["markerSchema"]], "a schema")
expect("faults" not in json.load(open(args[0])), "statistics")
CODE
done_testing
