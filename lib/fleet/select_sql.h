/* SPDX-License-Identifier: MIT */
/* Statements' parts that choose windows and samples, by an engine's address. */
#ifndef PROF_LIB_FLEET_SELECT_SQL_H
#define PROF_LIB_FLEET_SELECT_SQL_H

#include "lib/base/strbuf.h"
#include "lib/fleet/fleet_url.h"

/*
 * Appends windows that count: each once, by the last batch of it. Columns time, batch, host,
 * start_ns, end_ns, labels, ticks, waits, lost, guessed, unnamed.
 */
void sql_add_windows(struct strbuf *sql, const struct fleet_filter *f);
/* Appends a statement that answers 1 if no row of their samples is there twice. */
void sql_add_is_once(struct strbuf *sql, const struct fleet_filter *f);
/*
 * Appends their samples, each once, also if it was sent twice; `is_once`: it is known that none is.
 * Columns time, host, service, container, executable, event, interval_ns, stack, waits (0 or 1),
 * amount.
 */
void sql_add_samples(struct strbuf *sql, const struct fleet_filter *f, bool is_once);
/* Appends stacks of these, more than once. */
void sql_add_stacks(struct strbuf *sql, const struct fleet_filter *f);

#endif
