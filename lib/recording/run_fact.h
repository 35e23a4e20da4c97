/* SPDX-License-Identifier: MIT */
/* A run of a command that is recorded several times, as known once it has ended. */
#ifndef PROF_LIB_RECORDING_RUN_FACT_H
#define PROF_LIB_RECORDING_RUN_FACT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/strbuf.h"
#include "lib/model/tables/profile.h"

struct run_fact {
	uint32_t pid;
	uint32_t iteration; /* from 1 on */
	const char *variant; /* borrowed, NULL if none */
	uint32_t variant_number; /* from 1 on */
	uint32_t status; /* as a shell has it */
	uint32_t looks;
	uint64_t seed; /* of the order of the variants; 0: they have none */
	uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	uint64_t cpu_ns;
};

/* Puts the run's marker into the finished profile, unless its process is not there. */
void run_fact_add_marker(const struct run_fact *run, struct profile *p);

/* Appends it as one line of text, for captures. */
void run_fact_print(const struct run_fact *run, struct strbuf *out);
/* False: it is damaged. The variant borrows from the text. */
bool run_fact_parse(struct run_fact *run, const char *text);

#endif
