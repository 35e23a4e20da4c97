/* SPDX-License-Identifier: MIT */
/* The GNU build id among the notes of an ELF file. For this room; others ask binary.h. */
#ifndef PROF_LIB_BINARY_BUILD_ID_H
#define PROF_LIB_BINARY_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

#include "lib/binary/binary.h"

/*
 * `notes` are the bytes of a note segment or section with that alignment. Returns the size of the
 * build id, 0 where there is none or one longer than BUILD_ID_MAX.
 */
size_t build_id_find(const void *notes, size_t size, uint64_t alignment,
		     uint8_t build_id[BUILD_ID_MAX]);

#endif
