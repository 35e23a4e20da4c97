# SPDX-License-Identifier: MIT
"""ELF files to be damaged: of this machine, and made here in the ways that compilers and
distributions have. A case has a folder of its own."""

import dataclasses
import glob
import os
import random
import shlex
import shutil
import struct
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LARGEST = 100 << 20

# Files that differ in language, linker, age or size; the first one found of each line.
WANTED = """
/lib/*-linux-gnu/libc.so.6
/usr/lib/*-linux-gnu/libstdc++.so.6
/lib64/ld-linux-*.so.2 /lib/ld-linux-*.so.1
/lib/*-linux-gnu/libm.so.6
/usr/bin/python3
/usr/bin/node
/usr/lib/*-linux-gnu/libcrypto.so.3
/usr/lib/*-linux-gnu/libLLVM*.so.1
/usr/lib/*-linux-gnu/libdw.so.1
/usr/lib/gcc/*/*/cc1
/usr/bin/bash
/usr/bin/perl
/usr/bin/xz
/usr/bin/git
/usr/local/go/bin/gofmt /usr/lib/go*/bin/gofmt
/usr/local/go/pkg/tool/*/asm
/usr/bin/rustc /root/.cargo/bin/rustup
/lib/modules/*/kernel/*/*.ko
/usr/lib/debug/.build-id/*/*.debug
/usr/lib32/libc.so.6 /lib/i386-linux-gnu/libc.so.6
/usr/lib32/libc.a
"""

# NAME, the file to damage, the commands that make the folder: $S is the source tree. The program
# that a profile refers to is `main`, or else the damaged file itself.
MADE = (
    ("gcc-dwarf5", "main", "gcc -g -O2 -I $S -D_GNU_SOURCE -o main $S/tests/workloads/inlines.c"),
    ("gcc-dwarf4", "main", "gcc -gdwarf-4 -O2 -I $S -D_GNU_SOURCE -o main $S/tests/workloads/tour.c -lm"),
    ("clang-dwarf5", "main",
     "clang -gdwarf-5 -O2 -I $S -D_GNU_SOURCE -o main $S/tests/workloads/inlines.c"),
    ("c++", "main.o", "g++ -g -O2 -c -o main.o $S/tests/fuzz/seeds/scopes.cc"),
    ("zlib", "main", "gcc -g -gz -O2 -I $S -D_GNU_SOURCE -o main $S/tests/workloads/inlines.c"),
    ("zstd", "main", "gcc -g -O2 -I $S -D_GNU_SOURCE -o main $S/tests/workloads/inlines.c && "
     "objcopy --compress-debug-sections=zstd main"),
    ("type-units", "main",
     "gcc -g -fdebug-types-section -O2 -I $S -D_GNU_SOURCE -o main $S/tests/workloads/handler.c"),
    ("static", "main",
     "gcc -g -O2 -static -I $S -D_GNU_SOURCE -o main $S/tests/workloads/handler.c"),
    ("shared", "main.so", "gcc -g -O2 -shared -fPIC -I $S -D_GNU_SOURCE -o main.so "
     "$S/tests/workloads/library.c"),
    ("module", "main.ko", "gcc -g -O2 -D_GNU_SOURCE -I $S -c $S/symbolize/dwarf/dwarf_names.c -o m.o && "
     "ld -r --build-id=sha1 m.o -o main.ko"),
    ("debug-file", "ids/debug", "gcc -g -O2 -I $S -D_GNU_SOURCE -o main $S/tests/workloads/inlines.c "
     "&& mkdir ids && objcopy --only-keep-debug main ids/debug && strip main && "
     "objcopy --add-gnu-debuglink=ids/debug main && mkdir .debug && ln ids/debug .debug/debug"),
    ("split", "main.dwo", "gcc -g -gsplit-dwarf -O2 -I $S -D_GNU_SOURCE -c -o main.o "
     "$S/tests/workloads/inlines.c && gcc -o main main.o"),
    ("split-program", "main", "clang -g -gsplit-dwarf -O2 -I $S -D_GNU_SOURCE -c -o main.o "
     "$S/tests/workloads/inlines.c && clang -o main main.o"),
    ("package", "main.dwp", "clang -g -gsplit-dwarf -O2 -I $S -D_GNU_SOURCE -c -o main.o "
     "$S/tests/workloads/inlines.c && clang -o main main.o && llvm-dwp main.dwo -o main.dwp && "
     "rm main.dwo"),
    ("dwz", "main", "g++ -g -O2 -shared -fPIC -o main $S/tests/fuzz/seeds/scopes.cc && dwz main"),
    ("dwz-shared", "common", "for n in 1 2; do g++ -g -O2 -shared -fPIC -Wl,--build-id -o main$n "
     "$S/tests/fuzz/seeds/scopes.cc; done && dwz -m common main1 main2 && mv main1 main"),
    ("large-rows", "main", "gcc -g -O2 -I $S -D_GNU_SOURCE -o main $S/tests/workloads/many_rows.c"),
    ("debug-frame", "main", "gcc -g -O2 -fno-asynchronous-unwind-tables -fno-unwind-tables -I $S "
     "-D_GNU_SOURCE -o main $S/tests/workloads/inlines.c"),
    ("libc-debug-file", "debug", "cp /lib/*-linux-gnu/libc.so.6 main && id=$(readelf -n main | "
     "sed -n 's/.*Build ID: //p') && cp /usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug debug && "
     "mkdir -p .build-id/${id:0:2} && ln debug .build-id/${id:0:2}/${id:2}.debug"),
    ("i386", "main", "clang --target=i386-linux-gnu -g -O2 -funwind-tables -c -o main.o -x c - "
     "<<<'int g(int); int f(int n) { return n ? g(n) + f(n - 1) : g(2); }' && "
     "ld -m elf_i386 -shared --build-id=sha1 -o main main.o"),
    ("aarch64", "main.o", "clang --target=aarch64-linux-gnu -g -O2 -funwind-tables -c -o main.o -x c "
     "- <<<'int g(int); int f(int n) { return n ? g(n) + f(n - 1) : g(2); }'"),
    ("big-endian", "main.o", "clang --target=powerpc64-linux-gnu -g -O2 -c -o main.o -x c - "
     "<<<'int g(int); int f(int n) { return n ? g(n) + f(n - 1) : g(2); }'"),
    ("go", "main", "command -v go >/dev/null && printf 'package main\\nimport \"fmt\"\\nfunc main() "
     "{ fmt.Println(1) }\\n' >main.go && GOCACHE=$PWD/cache go build -o main main.go && rm -rf cache"),
    ("rust", "main", "echo 'fn main() { println!(\"{}\", 1) }' >main.rs && rustc -g -O main.rs"),
)


@dataclasses.dataclass
class Elf:
    """Parts of a file that tell where to damage it."""
    sections: dict   # name: [(offset, size)]
    tables: list     # (offset, size) of the header, the segments' and the sections' table
    build_id: str
    rvas: list       # some addresses in its code, relative to the first segment
    code: int        # the offset of the entry, or of code


@dataclasses.dataclass
class Case:
    name: str
    folder: str
    main: str        # the program that profiles refer to
    lib: str         # what they call it: its path, or a kernel module's name
    damaged: str     # the file that is damaged
    pristine: bytes  # what that was
    elf: Elf         # of the damaged file
    program: Elf     # of main


def read_notes(data, places):
    for offset, size in places:
        end = offset + size
        while offset + 12 <= end:
            name, desc, kind = struct.unpack_from("<III", data, offset)
            at = offset + 12 + (name + 3 & ~3)
            if kind == 3 and name == 4:
                return data[at:at + desc].hex()
            offset = at + (desc + 3 & ~3)
    return ""


def read_elf(data, rng):
    wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    if wide:
        entry, phoff, shoff = struct.unpack_from(order + "QQQ", data, 24)
        counts, at = struct.unpack_from(order + "HHHHH", data, 54), "IIQQQQIIQQ"
    else:
        entry, phoff, shoff = struct.unpack_from(order + "III", data, 24)
        counts, at = struct.unpack_from(order + "HHHHH", data, 42), "IIIIIIIIII"
    phsize, phnum, shsize, shnum, shstr = counts
    rows = [struct.unpack_from(order + at, data, shoff + i * shsize) for i in range(shnum)]
    strings = rows[shstr][4] if rows else 0
    sections, code = {}, []
    for name, kind, flags, addr, offset, size, *_ in rows:
        name = data[strings + name:data.index(b"\0", strings + name)].decode("latin-1")
        if kind not in (0, 8) and size:
            sections.setdefault(name, []).append((offset, size))
            if flags & 4:
                code.append((addr, offset, size))
    loads = []
    for i in range(phnum):
        row = struct.unpack_from(order + ("IIQQQQQQ" if wide else "IIIIIIII"), data, phoff + i * phsize)
        kind, offset, vaddr = (row[0], row[2], row[3]) if wide else row[:3]
        if kind == 1:
            loads.append((vaddr, offset))
    base = min(loads)[0] & ~0xfff if loads else 0
    if not code:
        code = [(entry, 0, 4096)]
    rvas = []
    for _ in range(64):
        addr, offset, size = rng.choice(code)
        rvas.append(addr + rng.randrange(size) - base & (1 << 50) - 1)
    start = next((offset + entry - addr for addr, offset, size in code if addr <= entry < addr + size),
                 max(code, key=lambda row: row[2])[1])
    return Elf(sections, [(0, 64 if wide else 52), (phoff, phsize * phnum), (shoff, shsize * shnum)],
               read_notes(data, [p for n, ps in sections.items() if n.startswith(".note") for p in ps]),
               sorted(set(rvas)), start)


def is_elf(path):
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\177ELF" and 256 < os.stat(path).st_size <= LARGEST
    except OSError:
        return False


def machine_files(count, rng):
    """So many ELF files of this machine, the wanted ones first."""
    found = []
    for line in WANTED.strip().split("\n"):
        for pattern in line.split():
            if files := [f for f in sorted(glob.glob(pattern)) if is_elf(f)]:
                found.append(files[0])
                break
    others = sorted(glob.glob("/usr/bin/*") + glob.glob("/usr/lib/*-linux-gnu/*.so*"))
    rng.shuffle(others)
    seen = {os.path.realpath(f) for f in found}
    for path in others:
        if len(found) >= count:
            break
        if os.path.realpath(path) not in seen and is_elf(path) and os.stat(path).st_size < 4 << 20:
            seen.add(os.path.realpath(path))
            found.append(path)
    return found[:count]


def finish(name, folder, damaged, rng):
    with open(damaged, "rb") as file:
        pristine = file.read()
    main = os.path.join(folder, "main")
    if not os.path.exists(main):
        main = damaged
    with open(main, "rb") as file:
        program = read_elf(file.read(), rng)
    lib = main if not main.endswith(".ko") else f"[{os.path.basename(main)[:-3]}]"
    return Case(name, folder, main, lib, damaged, pristine, read_elf(pristine, rng), program)


def make(folder, count, seed):
    """Makes the cases in a folder; prints what could not be made."""
    rng = random.Random(seed)
    cases = []
    for name, damaged, commands in MADE:
        inner = os.path.join(folder, name)
        os.mkdir(inner)
        result = subprocess.run(["bash", "-ec", commands], cwd=inner, capture_output=True, text=True,
                                env=dict(os.environ, S=shlex.quote(ROOT)), check=False)
        if result.returncode != 0:
            print(f"not made: {name}: {(result.stderr.strip().splitlines() or ['?'])[-1]}")
            shutil.rmtree(inner)
        else:
            cases.append(finish(name, inner, os.path.join(inner, damaged), rng))
    for path in machine_files(count - len(cases), rng):
        name = os.path.basename(path)
        inner = os.path.join(folder, f"file-{len(cases)}")
        os.mkdir(inner)
        copy = shutil.copy(path, os.path.join(inner, name))
        os.chmod(copy, 0o755)
        cases.append(finish(path, inner, copy, rng))
    return cases[:count]
