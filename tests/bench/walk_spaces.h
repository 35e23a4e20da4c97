/* SPDX-License-Identifier: MIT */
/* Address spaces of sampled processes, made ready for the walker and for libdw. */
#ifndef PROF_TESTS_BENCH_WALK_SPACES_H
#define PROF_TESTS_BENCH_WALK_SPACES_H

#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/process/mapping.h"
#include "tests/bench/libdw_walk.h"
#include "tests/bench/perf_samples.h"
#include "tests/unit/walk_tables.h"

struct walk_space {
	uint32_t pid;
	struct mapping_table *mappings;
	struct libdw_space *libdw; /* NULL: not made yet, or there is nothing that it can walk */
	uint64_t libdw_files; /* hash of the mappings that it was made of */
};

struct walk_spaces {
	struct walk_tables tables; /* of all files; its mappings are those of one space */
	VEC(char *) paths; /* by module */
	VEC(struct walk_space) rows;
	uint64_t stamp, described;
};

void walk_spaces_init(struct walk_spaces *s);
void walk_spaces_release(struct walk_spaces *s);
/* Everything but samples. */
void walk_spaces_apply(struct walk_spaces *s, const struct perf_item *item);
/* The space with tables and libdw up to date; NULL: nothing is known of it. */
struct walk_space *walk_spaces_prepare(struct walk_spaces *s, uint32_t pid);
/* The name of the file there, "[anon]", or "[nothing]". */
const char *walk_spaces_path(const struct walk_spaces *s, const struct walk_space *space,
			     uint64_t addr);
/* Code, from the file or else from the living process. */
bool walk_spaces_read_code(const struct walk_spaces *s, const struct walk_space *space,
			   uint64_t addr, void *to, size_t size);

#endif
