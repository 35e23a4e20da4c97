/* SPDX-License-Identifier: MIT */
/*
 * The build id among the notes of an ELF file: GNU's, or Go's if its linker left no other. Private
 * to this room; others use binary.h.
 */
#ifndef PROF_LIB_CODE_BINARY_BUILD_ID_H
#define PROF_LIB_CODE_BINARY_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

#include "lib/code/binary/binary.h"

/* Build ids found in notes. A zeroed struct has none. */
struct build_ids {
	uint8_t gnu_size, go_size; /* 0: none */
	uint8_t gnu[BUILD_ID_MAX];
	uint8_t go[BUILD_ID_MAX]; /* a hash of Go's own id, which is a text of some 80 characters */
};

/*
 * Reads the bytes of a note segment or section with that alignment. Keeps ids found earlier;
 * ignores those longer than BUILD_ID_MAX. True once there is a GNU one.
 */
bool build_ids_add(struct build_ids *ids, const void *notes, size_t size, uint64_t alignment);
/* Gives the GNU one, else Go's. Returns its size; 0: none. */
size_t build_ids_choose(const struct build_ids *ids, uint8_t build_id[BUILD_ID_MAX]);

#endif
