/* SPDX-License-Identifier: MIT */
/* Reads stacks of an engine into a profile. */
#pragma once

#include "lib/base/bytes.h"
#include "lib/fleet/engine.h"
#include "lib/fleet/stack_rows.h"
#include "lib/format/foreign.h"
#include "lib/model/tables/profile.h"

/* Columns of prof_stacks, in the order in which they are read. */
#define STACK_COLUMNS \
	"name, is_named, file, line, function_line, function_column, module, build_id, address," \
	" kind, inline_depth, category, subcategory"

/* Zeroed is empty. */
struct stack_reader {
	struct foreign *f;
	VEC(struct {
		struct stack_key key;
		stack_id stack;
	})
	rows;
	struct index index;
};

/*
 * Converts rows of an engine to a profile of many machines. The engine sums by stack and time; a
 * thread represents a service, or a value of another column chosen by the address.
 */

/* Returns -ENODATA if the address matches no samples. */
int fleet_read(const struct engine *e, struct profile **p, struct error *err);

/* Answers of the engine to each query, RowBinary. */
struct fleet_answers {
	struct strbuf windows, samples, stacks;
};

/* Makes a profile from untrusted answers; memory is bounded by a multiple of their size. */
int fleet_build(struct profile **p, const struct fleet_url *url, const struct fleet_answers *from,
		struct error *err);
