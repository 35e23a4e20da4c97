/* SPDX-License-Identifier: MIT */
/* Differences between two walks of a stack, collected by where and how they part. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tests/bench/walk_spaces.h"

enum walk_verdict {
	VERDICT_EQUAL,
	VERDICT_LONGER, /* ours goes on where libdw stops */
	VERDICT_SHORTER,
	VERDICT_DIFFERENT,
	VERDICT_OTHER_KIND, /* equal addresses, but other frames were interrupted */
	VERDICT_COUNT,
};

extern const char *const walk_verdict_names[VERDICT_COUNT];

struct walk_difference {
	enum walk_verdict verdict; /* VERDICT_EQUAL: only the ends of the walks differ */
	uint32_t common; /* number of equal frames */
	const struct walk_path *ours;
	const struct libdw_path *theirs;
	const struct perf_item *item;
	const struct walk_space *space;
};

struct walk_class {
	char *text;
	char *example; /* the first one */
	uint64_t samples, frames; /* frames: of libdw, missing in ours */
};

struct walk_classes {
	VEC(struct walk_class) rows;
};

void walk_classes_add(struct walk_classes *c, const struct walk_spaces *spaces,
		      const struct walk_difference *d);
void walk_classes_print(const struct walk_classes *c, size_t max);
void walk_classes_release(struct walk_classes *c);
