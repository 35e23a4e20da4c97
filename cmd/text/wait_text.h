/* SPDX-License-Identifier: MIT */
/* Describes how long threads ran and waited. */
#pragma once

#include "lib/model/meaning/wait_sums.h"

/* Appends "0.24", a time with two significant digits, but at least one decimal place. */
void wait_text_add_seconds(struct strbuf *out, double value);
/*
 * Appends "ran 2.1 s, blocked 3.4 s (disk 2.9), waited for a CPU 0.2 s, added up over 12 threads";
 * nothing without waits. Wait times are weights times interval_ns.
 */
void wait_text_describe(const struct wait_sums *sums, uint64_t ran_ns, uint64_t interval_ns,
			uint64_t threads, struct strbuf *out);
