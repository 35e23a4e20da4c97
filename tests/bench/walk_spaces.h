/* SPDX-License-Identifier: MIT */
/* Address spaces of sampled processes, prepared for the walker and for libdw. */
#pragma once

#include <stdint.h>

#include "lib/stream/process/mapping.h"
#include "tests/bench/libdw_walk.h"
#include "tests/bench/perf_samples.h"
#include "tests/unit/walk_tables.h"

struct walk_space {
	uint32_t pid;
	struct mapping_table *mappings;
	struct libdw_space *libdw; /* NULL: not made yet, or libdw cannot walk it */
	uint64_t libdw_files; /* hash of the mappings that it was made of */
};

struct walk_spaces {
	struct walk_tables tables; /* tables of all files; mappings of one space */
	VEC(char *) paths; /* by module */
	VEC(struct walk_space) rows;
	uint64_t stamp, described;
};

void walk_spaces_init(struct walk_spaces *s);
void walk_spaces_release(struct walk_spaces *s);
/* Applies everything but samples. */
void walk_spaces_apply(struct walk_spaces *s, const struct perf_item *item);
/* Returns the space with its tables and libdw's state up to date; NULL: unknown. */
struct walk_space *walk_spaces_prepare(struct walk_spaces *s, uint32_t pid);
/* Returns the name of the file there, "[anon]", or "[nothing]". */
const char *walk_spaces_path(const struct walk_spaces *s, const struct walk_space *space,
			     uint64_t addr);
/* Reads code from the file, else from the living process. */
bool walk_spaces_read_code(const struct walk_spaces *s, const struct walk_space *space,
			   uint64_t addr, void *to, size_t size);
