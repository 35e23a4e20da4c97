/* SPDX-License-Identifier: MIT */
/* Quotes strings for SQL; any input yields one string literal. */
#pragma once

#include "lib/fleet/engine.h"
#include "lib/fleet/fleet_url.h"

/* Appends a quoted literal: all bytes except letters, digits and a few others as \xHH. */
void sql_add_text(struct strbuf *sql, const char *text, size_t size);
/* Returns true if the name needs no quotes: at most 64 letters, digits and _. */
bool sql_is_name(const char *text);

/*
 * The tables of an engine, by version, as described in prof-fleet(7). Uses only features that all
 * servers since 18.16 have.
 */

#define SCHEMA_VERSION 1

/*
 * Creates the database and its tables, or migrates older ones to this version. *before receives the
 * version found, 0 if none. `cluster`: name of the cluster, whose servers share the rows; NULL: a
 * single server. -ENOTSUP: the tables are newer.
 */
int schema_init(const struct engine *e, const char *cluster, uint32_t *before, struct error *err);
/* Checks that the tables exist. -ENOENT or -ENOTSUP, with a hint in err. */
int schema_check(const struct engine *e, struct error *err);

/* Parts of statements that select windows and samples by an engine's address. */

/*
 * Appends the selection of valid windows: each once, from its last batch. Columns: time, batch,
 * host, start_ns, end_ns, labels, ticks, waits, lost, guessed, unnamed.
 */
void sql_add_windows(struct strbuf *sql, const struct fleet_filter *f);
/* Appends a statement whose result is 1 if the windows' samples contain no duplicate rows. */
void sql_add_is_once(struct strbuf *sql, const struct fleet_filter *f);
/*
 * Appends the selection of the windows' samples, without duplicates. `is_once`: there are known to
 * be none. Columns: time, host, service, container, executable, event, interval_ns, stack, waits (0
 * or 1), amount.
 */
void sql_add_samples(struct strbuf *sql, const struct fleet_filter *f, bool is_once);
/*
 * Appends the selection of the tables that have rows on this server. Columns: table, ttl ("":
 * none), row_count and bytes on its disk, duplicates included, days (with samples).
 */
void sql_add_tables(struct strbuf *sql, const char *database);
/* Appends the selection of the samples' stacks, with duplicates. */
void sql_add_stacks(struct strbuf *sql, const struct fleet_filter *f);
