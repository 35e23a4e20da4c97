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

/* A zeroed struct is empty. */
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

/* Lists the services, hosts and windows that an engine has, and its tables. */

struct fleet_column {
	const char *name; /* NULL: end of the list */
	const char *sql;
	bool is_number, is_time; /* times are seconds since the Unix epoch */
};

#define FLEET_LIST_COLUMNS_MAX 9

struct fleet_list {
	const char *name; /* "hosts" */
	struct fleet_column columns[FLEET_LIST_COLUMNS_MAX + 1];
	const char *end; /* end of the statement, which groups and sorts the rows */
	enum { FLEET_OF_WINDOWS, FLEET_OF_SAMPLES, FLEET_OF_TABLES } of; /* its rows */
};

/* Retention of tables that keep all rows. */
#define FLEET_UNLIMITED "unlimited"

#define FLEET_LIST_COUNT 4
extern const struct fleet_list fleet_lists[FLEET_LIST_COUNT];

struct fleet_cells {
	VEC(char *) cells; /* cells row by row; owned */
};

void fleet_cells_release(struct fleet_cells *c);
/* Queries the list, filtered by the engine's address. A zeroed struct is empty. */
int fleet_list_get(const struct engine *e, const struct fleet_list *list, struct fleet_cells *c,
		   struct error *err);
/* Parses the answer into one string per column of each row. */
int fleet_list_read(const struct fleet_list *list, const struct strbuf *answer,
		    struct fleet_cells *c, struct error *err);
