/* SPDX-License-Identifier: MIT */
/* Lists the services, hosts and windows that an engine has, and its tables. */
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
