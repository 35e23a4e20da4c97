/* SPDX-License-Identifier: MIT */
/* Weighs runs, as a whole and by rows that both sides have in common. */
#ifndef PROF_LIB_QUERY_RUN_WEIGHTS_H
#define PROF_LIB_QUERY_RUN_WEIGHTS_H

#include "lib/query/keys.h"
#include "lib/query/runs.h"
#include "lib/query/shares.h"

/* A row's name and place, in the table's own strings. */
struct run_row {
	string_id name,
		place; /* of build_name.h; place NO_STRING: none, or one side alone has it */
	bool is_physical[SIDE_COUNT]; /* has samples in code of its own */
	double weight; /* of all runs */
};

/* The weight of a row in one run. */
struct run_weight {
	uint32_t row;
	uint32_t run; /* of its side */
	uint8_t side;
	double weight;
};

struct run_total {
	double weight; /* of samples that count */
	double cpu_ms; /* CPU time that they used, by their own account */
	double sampled_ms; /* time that they stand for */
};

struct run_weights {
	struct strings texts;
	VEC(struct run_row) rows;
	struct index index; /* of rows */
	VEC(struct run_weight) weights; /* in no order; a row and run may have several */
	VEC(struct run_total) runs[SIDE_COUNT];
};

/* Zeroed it is empty. -ENODATA: no sample counts in a run. */
int run_weights_make(struct run_weights *w, const struct query_runs *a, const struct query_runs *b,
		     const struct query_filter *filter, enum query_by by, struct error *err);
void run_weights_release(struct run_weights *w);

#endif
