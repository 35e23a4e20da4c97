/* SPDX-License-Identifier: MIT */
/*
 * Counters and the rows that show them. A row shows the counters of its process, or the sums over
 * all processes that share the row. In order of announcement, the machine's last.
 */
#pragma once

#include "lib/model/meaning/thread_rows.h"

struct row_counter {
	size_t row; /* index into the list of rows */
	struct counter counter; /* its samples are owned by the profile or by the list below */
	uint64_t end; /* end of the process or of the recording */
	size_t number; /* number of the counter, or of the first counter in a sum */
	bool is_machine, is_sum;
};

struct row_counters {
	VEC(struct row_counter) list;
};

/*
 * Omits counters without values, and counters of processes without a row. A zeroed struct is empty.
 */
void row_counters_find(struct row_counters *c, const struct thread_rows *rows);
void row_counters_release(struct row_counters *c);
