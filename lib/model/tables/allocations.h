/* SPDX-License-Identifier: MIT */
/* A sample of the memory that a process allocated, and until when it had it. */
#ifndef PROF_LIB_MODEL_TABLES_ALLOCATIONS_H
#define PROF_LIB_MODEL_TABLES_ALLOCATIONS_H

#include <stdbool.h>

#include "lib/base/vec.h"
#include "lib/model/tables/ids.h"

struct allocation {
	uint64_t time; /* CLOCK_MONOTONIC ns */
	uint64_t freed; /* likewise; 0: held when recording ended */
	uint64_t bytes; /* of allocations that it stands for */
	stack_id stack; /* of the allocation; NO_STACK: unknown */
	uint32_t tid; /* of the thread that allocated */
};

/* Zeroed is empty. */
struct allocations {
	VEC(struct allocation) rows; /* ascending times */
};

/* A change of what is held: an allocation, or its end. */
struct allocation_event {
	uint64_t time;
	uint32_t row; /* the number that tells blocks apart */
	bool is_free;
};

struct allocation_events {
	VEC(struct allocation_event) rows;
};

/* Lists all changes in order of time. The caller releases `rows`. */
void allocations_list(const struct allocations *a, struct allocation_events *events);

enum allocation_sum { ALLOCATED, RETAINED, DEALLOCATED, ALLOCATION_SUM_COUNT };

/* "allocated", "retained", "deallocated": how they are asked for. */
extern const char *const allocation_sum_names[ALLOCATION_SUM_COUNT];
/* Returns the bytes that a row adds to a sum, 0: none. */
uint64_t allocation_bytes(const struct allocation *row, enum allocation_sum sum);

#endif
