/* SPDX-License-Identifier: MIT */
/*
 * Keeps what was unpacked of a debug file for later runs until the machine's next start, in a
 * folder of the effective user's. A kept file says which file it was made of, by inode and time of
 * change, and belongs to that user alone; any other is as good as none.
 */
#ifndef PROF_LIB_CODE_BINARY_KEPT_SECTIONS_H
#define PROF_LIB_CODE_BINARY_KEPT_SECTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Together more than this in the folder: those used longest ago are removed. */
#define KEPT_SECTIONS_BYTES ((uint64_t)64 << 20)

struct kept_sections;

/* One section, from its first byte on. */
struct kept_part {
	const void *data;
	uint64_t size; /* of the whole section, unpacked; 0: it is not kept */
	uint64_t there; /* bytes of it that are unpacked */
};

/*
 * Opens what is kept of the file `fd`, of `count` sections; never fails, but may be empty. The
 * folder need not exist. Free with kept_sections_free().
 */
struct kept_sections *kept_sections_open(const char *folder, int fd, unsigned int count);
/* NULL is fine. */
void kept_sections_free(struct kept_sections *k);
/*
 * Maps the kept part of a section of this size, unpacked, over private pages at `memory`. Returns
 * its bytes, 0 if there are none.
 */
uint64_t kept_sections_map(const struct kept_sections *k, unsigned int section, uint64_t size,
			   void *memory);
/* Adds what these `count` parts have more than what is kept. Failures are ignored. */
void kept_sections_store(const struct kept_sections *k, const struct kept_part *parts);

#endif
