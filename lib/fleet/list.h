/* SPDX-License-Identifier: MIT */
/* Lists the services, hosts and windows that an engine has. */
#pragma once

#include "lib/fleet/engine.h"

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
	bool is_of_samples; /* rows of samples; otherwise rows of windows */
};

#define FLEET_LIST_COUNT 3
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
