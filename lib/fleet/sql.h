/* SPDX-License-Identifier: MIT */
/* Texts in statements. Whatever they contain, they stay texts. */
#ifndef PROF_LIB_FLEET_SQL_H
#define PROF_LIB_FLEET_SQL_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/strbuf.h"
#include "lib/fleet/engine.h"
#include "lib/fleet/fleet_url.h"

/* Appends a literal, quoted: every byte but letters, digits and a few others as \xHH. */
void sql_add_text(struct strbuf *sql, const char *text, size_t size);
/* Can it stand for a database or table as it is? At most 64 letters, digits and _. */
bool sql_is_name(const char *text);

/*
 * The tables of an engine, by version; prof-fleet(7) describes them. They use only what all servers
 * since 18.16 have.
 */

#define SCHEMA_VERSION 1

/*
 * Makes the database and its tables, or brings older ones up to this version. *before: the version
 * that they had, 0: none. `cluster`: the servers of that name share the rows, of which this is one;
 * NULL: it has all. -ENOTSUP: they are newer.
 */
int schema_init(const struct engine *e, const char *cluster, uint32_t *before, struct error *err);
/* Checks that the tables are there. -ENOENT, -ENOTSUP, with what to do. */
int schema_check(const struct engine *e, struct error *err);

/* Statements' parts that choose windows and samples, by an engine's address. */

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
