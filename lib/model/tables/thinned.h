/* SPDX-License-Identifier: MIT */
/*
 * Numbers of rows dropped because there were too many, stored in the profile's info panel for any
 * reader.
 */
#pragma once

#include "lib/model/tables/profile.h"

/* event 0: the clock, including waits. weight: minimum weight of each remaining row. */
void thinned_add(struct profile *p, uint8_t event, uint64_t left_out, uint64_t weight);
/* Returns the minimum number of clock samples that a row represents: 1 if none were dropped. */
uint64_t thinned_weight(const struct profile *p);
