/* SPDX-License-Identifier: MIT */
/* Describes how long threads ran and waited. */
#pragma once

#include "lib/model/meaning/thread_times.h"
#include "lib/query/summary.h"

/* Appends "0.24", a time with two significant digits, but at least one decimal place. */
void wait_text_add_seconds(struct strbuf *out, double value);
/*
 * Appends "ran 2.1 s, blocked 3.4 s (disk 2.9), waited for a CPU 0.2 s, added up over 12 threads";
 * nothing without waits. Wait times are weights times interval_ns.
 */
void wait_text_describe(const struct wait_sums *sums, uint64_t ran_ns, uint64_t interval_ns,
			uint64_t threads, struct strbuf *out);
/* Returns the name of a kind of waits in lower case, "lock"; the caller frees. Safe to print. */
char *wait_text_kind(const struct profile *p, struct frame_category category);
/*
 * Appends ", blocked 1.200 s (lock 1.1), waited for a CPU 0.100 s, idle 3.000 s" without what is 0,
 * and the kinds if waits are selected. `is_of_helpers`: the blocked threads run no code of the
 * user.
 */
void wait_text_add_query(const struct query *q, bool is_of_helpers, struct strbuf *out);
