/* SPDX-License-Identifier: MIT */
/*
 * Rows that were left out because they were too many: what the profile's information says of
 * them, for any reader.
 */
#ifndef PROF_LIB_MODEL_TABLES_THINNED_H
#define PROF_LIB_MODEL_TABLES_THINNED_H

#include "lib/model/tables/profile.h"

/* event 0: the clock, with waits; weight: what each row stands for at least that is left. */
void thinned_add(struct profile *p, uint8_t event, uint64_t left_out, uint64_t weight);
/* Returns how many samples of the clock a row stands for at least: 1 if none was left out. */
uint64_t thinned_weight(const struct profile *p);

#endif
