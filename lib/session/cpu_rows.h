/* SPDX-License-Identifier: MIT */
/*
 * The clock's samples once more, by the CPU that they were taken on: a row for each CPU, of a
 * process of their own. Off unless asked for.
 */
#ifndef PROF_LIB_SESSION_CPU_ROWS_H
#define PROF_LIB_SESSION_CPU_ROWS_H

#include <stdbool.h>

#include "lib/profile/profile.h"

struct cpu_rows {
	struct profile *profile;
	bool is_wanted;
	VEC(struct profile_thread) rows; /* by CPU, up to the highest that had a sample */
};

void cpu_rows_init(struct cpu_rows *r, struct profile *profile);
void cpu_rows_release(struct cpu_rows *r);
/* Puts a sample where its time belongs; nothing happens where no such rows are wanted. */
void cpu_rows_add(struct cpu_rows *r, uint16_t cpu, const struct sample *sample);
/* Once no thread comes or goes any more: rows with samples become some of the profile. */
void cpu_rows_finish(struct cpu_rows *r);

#endif
