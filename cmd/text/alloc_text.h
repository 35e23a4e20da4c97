/* SPDX-License-Identifier: MIT */
/* Tells what the recorded processes allocated and did not free, and who has most of that. */
#ifndef PROF_CMD_TEXT_ALLOC_TEXT_H
#define PROF_CMD_TEXT_ALLOC_TEXT_H

#include "lib/base/strbuf.h"
#include "lib/model/tables/profile.h"

/* Appends "held at the end: 12.3 MB of 1.2 GB, …"; nothing without sampled allocations. */
void alloc_text_describe(const struct profile *p, struct strbuf *out);

#endif
