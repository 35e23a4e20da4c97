/* SPDX-License-Identifier: MIT */
/* Sums up memory that the recorded processes allocated and did not free. */
#pragma once

#include "lib/base/strbuf.h"
#include "lib/model/tables/profile.h"

/*
 * Appends "held at the end: 12.3 MB of 1.2 GB that were allocated, 97 % from remember (app.c:12)";
 * nothing if no allocations were sampled.
 */
void held_text(const struct profile *p, struct strbuf *out);
