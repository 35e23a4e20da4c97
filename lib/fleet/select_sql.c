/* SPDX-License-Identifier: MIT */
#include "lib/fleet/select_sql.h"

#include <inttypes.h>
#include <string.h>

#include "lib/fleet/sql.h"

static void add_equal(struct strbuf *sql, const char *column, const char *value)
{
	if (!value)
		return;
	strbuf_addf(sql, " AND %s = ", column);
	sql_add_text(sql, value, strlen(value));
}

static void add_times(struct strbuf *sql, const struct fleet_filter *f)
{
	strbuf_addf(sql, " WHERE time >= toDateTime(%" PRIu32 ")", f->from_s);
	if (f->until_s != UINT32_MAX)
		strbuf_addf(sql, " AND time < toDateTime(%" PRIu32 ")", f->until_s);
	add_equal(sql, "host", f->of[FLEET_BY_HOST]);
}

/* Chooses by what only samples have. */
static void add_sample_values(struct strbuf *sql, const struct fleet_filter *f)
{
	for (int i = 0; i < FLEET_BY_COUNT; i++) {
		if (i != FLEET_BY_HOST)
			add_equal(sql, fleet_by_names[i], f->of[i]);
	}
	/* An event of that name may exist. */
	if (f->event && strcmp(f->event, "clock") == 0)
		strbuf_adds(sql, " AND interval_ns > 0");
	else
		add_equal(sql, "event", f->event);
	if (f->interval_ns)
		strbuf_addf(sql, " AND interval_ns IN (0, %" PRIu64 ")", f->interval_ns);
}

static void add_window_conditions(struct strbuf *sql, const struct fleet_filter *f)
{
	add_times(sql, f);
	vec_for_each(&f->labels, char **, label) {
		strbuf_adds(sql, " AND has(labels, ");
		sql_add_text(sql, *label, strlen(*label));
		strbuf_addch(sql, ')');
	}
}

/* Names differ from those of the columns: older servers would take one for the other. */
static void add_batches(struct strbuf *sql, const struct fleet_filter *f)
{
	strbuf_adds(sql, " AND batch GLOBAL IN (SELECT argMax(batch, made) FROM prof_windows");
	add_window_conditions(sql, f);
	strbuf_adds(sql, " GROUP BY host, time, window_id)");
}

static bool has_sample_values(const struct fleet_filter *f)
{
	for (int i = 0; i < FLEET_BY_COUNT; i++) {
		if (i != FLEET_BY_HOST && f->of[i])
			return true;
	}
	return f->event || f->interval_ns;
}

void sql_add_windows(struct strbuf *sql, const struct fleet_filter *f)
{
	static const char *const values[] = {"start_ns", "end_ns", "labels",  "ticks",
					     "waits",	 "lost",   "guessed", "unnamed"};

	strbuf_adds(sql, "(SELECT time, host, b AS batch");
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		strbuf_addf(sql, ", v%zu AS %s", i, values[i]);
	strbuf_adds(sql, " FROM (SELECT time, host, window_id, argMax(batch, made) AS b");
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		strbuf_addf(sql, ", argMax(%s, made) AS v%zu", values[i], i);
	strbuf_adds(sql, " FROM prof_windows");
	add_window_conditions(sql, f);
	strbuf_adds(sql, " GROUP BY host, time, window_id)");
	if (has_sample_values(f)) {
		strbuf_adds(sql, " WHERE b GLOBAL IN (SELECT batch FROM prof_samples");
		add_times(sql, f);
		add_sample_values(sql, f);
		strbuf_addch(sql, ')');
	}
	strbuf_addch(sql, ')');
}

/* A window's last row says how many rows of samples it has. */
void sql_add_is_once(struct strbuf *sql, const struct fleet_filter *f)
{
	strbuf_adds(sql, "SELECT toUInt64(present = expected) FROM (SELECT 1 AS one, count() AS"
			 " present FROM prof_samples");
	add_times(sql, f);
	add_batches(sql, f);
	strbuf_adds(sql, ") GLOBAL ANY LEFT JOIN (SELECT 1 AS one, sum(c) AS expected FROM"
			 " (SELECT argMax(row_count, made) AS c FROM prof_windows");
	add_window_conditions(sql, f);
	strbuf_adds(sql, " GROUP BY host, time, window_id)) USING one FORMAT RowBinary");
}

void sql_add_samples(struct strbuf *sql, const struct fleet_filter *f, bool is_once)
{
	if (is_once) {
		strbuf_adds(sql, "(SELECT time, host, service, container, executable, event,"
				 " interval_ns, is_wait AS waits, stack, value AS amount FROM"
				 " prof_samples");
		add_times(sql, f);
		add_sample_values(sql, f);
		add_batches(sql, f);
		strbuf_addch(sql, ')');
		return;
	}
	strbuf_adds(sql, "(SELECT time, host, service, container, executable, event, interval_ns,"
			 " any(is_wait) AS waits, stack, any(value) AS amount FROM prof_samples");
	add_times(sql, f);
	add_sample_values(sql, f);
	add_batches(sql, f);
	strbuf_adds(sql, " GROUP BY service, time, host, batch, container, executable, event,"
			 " interval_ns, stack)");
}

void sql_add_stacks(struct strbuf *sql, const struct fleet_filter *f)
{
	strbuf_adds(sql, "(SELECT stack FROM prof_samples");
	add_times(sql, f);
	add_sample_values(sql, f);
	add_batches(sql, f);
	strbuf_addch(sql, ')');
}
