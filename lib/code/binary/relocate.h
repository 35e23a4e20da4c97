/* SPDX-License-Identifier: MIT */
/*
 * Resolves references in the debug information of relocatable files, which the linker left open,
 * for the places of the sections. Private to this room.
 */
#ifndef PROF_LIB_CODE_BINARY_RELOCATE_H
#define PROF_LIB_CODE_BINARY_RELOCATE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/code/binary/handle.h"

/* The relocations of the section of that number; NULL: none. */
Elf_Scn *relocations_find(const struct binary *b, size_t section);
/*
 * Fills in the references that x86-64 and arm64 have in debug information (psABI: absolute ones of
 * 4 and 8 bytes) in a copy of the section's bytes. Leaves others alone: they lie in descriptions of
 * code or variables, which nobody reads. -ENOEXEC if the file is damaged or for another kind of
 * machine.
 */
int relocations_apply(const struct binary *b, Elf_Scn *relocations, uint8_t *data, size_t size,
		      struct error *err);

#endif
