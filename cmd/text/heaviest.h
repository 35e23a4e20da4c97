/* SPDX-License-Identifier: MIT */
/* Says where most of the time was spent, at the end of a recording. */
#ifndef PROF_CMD_TEXT_HEAVIEST_H
#define PROF_CMD_TEXT_HEAVIEST_H

#include "lib/model/tables/profile.h"

/* Writes a table of the ten functions with the most samples to stderr. */
void heaviest_print(const struct profile *p);

#endif
