/* SPDX-License-Identifier: MIT */
/*
 * References in the debug information of relocatable files, which the linker has left open: what
 * each of them amounts to with the sections where they were placed. For this room.
 */
#ifndef PROF_LIB_BINARY_RELOCATE_H
#define PROF_LIB_BINARY_RELOCATE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/binary/handle.h"

/* The relocations of the section of that number; NULL: none. */
Elf_Scn *relocations_find(const struct binary *b, size_t section);
/*
 * Fills in the references that x86-64 and arm64 have in debug information (psABI: absolute ones of
 * 4 and 8 bytes) in a copy of the section's bytes. Others stay as they are: they lie where code or
 * variables are described, which nobody reads. -ENOEXEC where the file is damaged, or of another
 * kind of machine.
 */
int relocations_apply(const struct binary *b, Elf_Scn *relocations, uint8_t *data, size_t size,
		      struct error *err);

#endif
