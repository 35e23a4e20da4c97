/* SPDX-License-Identifier: MIT */
/* Values of --stats. */
#ifndef PROF_CMD_TEXT_STATS_H
#define PROF_CMD_TEXT_STATS_H

#include "lib/base/outfile.h"
#include "lib/model/facts/facts.h"

/* Writes one JSON object: the facts that have a key, in the order of facts.def. */
void stats_write(const struct facts *facts, struct outfile *out);

#endif
