#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a package of split units: pack_dwo.py [--empty-index] OUT DWO...

As DWARF 5 has it (sections 7.3.5 and 7.26), of files with one split unit each. Of GCC's DWARF 5
no tool makes one: llvm-dwp does not come to an end, the dwp of binutils (before 2.45) leaves the
index empty, as --empty-index does.
"""

import struct
import sys

KINDS = {".debug_info.dwo": 1, ".debug_abbrev.dwo": 3, ".debug_line.dwo": 4,
         ".debug_loclists.dwo": 5, ".debug_str_offsets.dwo": 6, ".debug_macro.dwo": 7,
         ".debug_rnglists.dwo": 8}
STRINGS = ".debug_str.dwo"
# Version 2, no columns, units or slots.
EMPTY_INDEX = struct.pack("<IIII", 2, 0, 0, 0)


def read_sections(path):
    with open(path, "rb") as file:
        data = file.read()
    table, = struct.unpack_from("<Q", data, 40)
    count, names = struct.unpack_from("<HH", data, 60)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i) for i in range(count)]
    text = headers[names][4]

    def name(header):
        start = text + header[0]
        return data[start:data.index(b"\0", start)].decode()

    return {name(h): data[h[4]:h[4] + h[5]] for h in headers}


def with_strings_at(offsets, base):
    """Behind a header of 8 bytes, each entry is an offset into the strings of all units."""
    entries = struct.unpack_from(f"<{(len(offsets) - 8) // 4}I", offsets, 8)
    return offsets[:8] + struct.pack(f"<{len(entries)}I", *(base + n for n in entries))


def make_index(ids, rows):
    """rows: of each unit {kind: (offset, size)}"""
    kinds = sorted({kind for row in rows for kind in row})
    slots = 2
    while slots <= 3 * len(ids) // 2:
        slots *= 2
    hashes, numbers = [0] * slots, [0] * slots
    for number, unit in enumerate(ids, 1):
        slot = unit & (slots - 1)
        while numbers[slot]:
            slot = (slot + (unit >> 32 & (slots - 1) | 1)) & (slots - 1)
        hashes[slot], numbers[slot] = unit, number
    index = struct.pack("<HHIII", 5, 0, len(kinds), len(ids), slots)
    index += struct.pack(f"<{slots}Q", *hashes) + struct.pack(f"<{slots}I", *numbers)
    index += struct.pack(f"<{len(kinds)}I", *kinds)
    for part in (0, 1):
        for row in rows:
            index += struct.pack(f"<{len(kinds)}I", *(row.get(k, (0, 0))[part] for k in kinds))
    return index


def write_elf(path, sections):
    names, place, body, headers = b"\0", 64, b"", [bytes(64)]
    sections = dict(sections)
    sections[".shstrtab"] = b"\0" + b"".join(n.encode() + b"\0" for n in [*sections, ".shstrtab"])
    for name, data in sections.items():
        kind = 3 if name == ".shstrtab" else 1
        headers.append(struct.pack("<IIQQQQIIQQ", len(names), kind, 0, 0, place + len(body),
                                   len(data), 0, 0, 1, 0))
        names += name.encode() + b"\0"
        body += data
    body += bytes(-len(body) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<4s5B7xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, 0, 1, 62, 1, 0, 0,
                               64 + len(body), 0, 64, 0, 0, 64, len(headers), len(headers) - 1))
        file.write(body + b"".join(headers))


def main():
    arguments = sys.argv[1:]
    is_empty = arguments[0] == "--empty-index"
    out, *inputs = arguments[is_empty:]
    merged, ids, rows = {STRINGS: b""}, [], []
    for path in inputs:
        sections = read_sections(path)
        info = sections[".debug_info.dwo"]
        length, version, unit_type = struct.unpack_from("<IHB", info)
        if version != 5 or unit_type != 5 or length + 4 != len(info):
            sys.exit(f"{path}: not one split unit of DWARF 5")
        ids.append(struct.unpack_from("<Q", info, 12)[0])
        offsets = sections[".debug_str_offsets.dwo"]
        sections[".debug_str_offsets.dwo"] = with_strings_at(offsets, len(merged[STRINGS]))
        merged[STRINGS] += sections[STRINGS]
        rows.append({})
        for name, kind in KINDS.items():
            if name in sections:
                data = merged.setdefault(name, b"")
                rows[-1][kind] = (len(data), len(sections[name]))
                merged[name] = data + sections[name]
    merged[".debug_cu_index"] = EMPTY_INDEX if is_empty else make_index(ids, rows)
    write_elf(out, merged)


main()
