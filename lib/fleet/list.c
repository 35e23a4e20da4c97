/* SPDX-License-Identifier: MIT */
#include "lib/fleet/list.h"

#include "lib/fleet/sql.h"

/* Selects Unix seconds; a string would be in the server's time zone. */
#define FIRST "toUInt32(min(time))"
#define LAST "toUInt32(max(time))"

const struct fleet_list fleet_lists[FLEET_LIST_COUNT] = {
	{
		"services",
		{{"service", "service", .is_number = false},
		 {"hosts", "uniqExact(host)", .is_number = true},
		 {"ticks", "sum(if(interval_ns > 0 AND waits = 0, amount, 0))", .is_number = true},
		 {"waits", "sum(if(waits = 1, amount, 0))", .is_number = true},
		 {"first", FIRST, .is_time = true},
		 {"last", LAST, .is_time = true}},
		" GROUP BY service ORDER BY service",
		.of = FLEET_OF_SAMPLES,
	},
	{
		"hosts",
		{{"host", "host", .is_number = false},
		 {"windows", "count()", .is_number = true},
		 {"ticks", "sum(ticks)", .is_number = true},
		 {"lost", "sum(lost)", .is_number = true},
		 {"guessed", "sum(guessed)", .is_number = true},
		 {"unnamed", "sum(unnamed)", .is_number = true},
		 {"first", FIRST, .is_time = true},
		 {"last", LAST, .is_time = true}},
		" GROUP BY host ORDER BY host",
		.of = FLEET_OF_WINDOWS,
	},
	{
		"windows",
		{{"time", "toUInt32(time)", .is_time = true},
		 {"host", "host", .is_number = false},
		 {"ticks", "ticks", .is_number = true},
		 {"waits", "waits", .is_number = true},
		 {"lost", "lost", .is_number = true},
		 {"guessed", "guessed", .is_number = true},
		 {"unnamed", "unnamed", .is_number = true},
		 {"labels", "arrayStringConcat(labels, ' ')", .is_number = false}},
		" ORDER BY time, host, batch",
		.of = FLEET_OF_WINDOWS,
	},
	{
		"tables",
		{{"table", "table", .is_number = false},
		 {"rows", "row_count", .is_number = true},
		 {"bytes", "bytes", .is_number = true},
		 {"days", "days", .is_number = true},
		 {"rows_per_day", "intDiv(row_count, greatest(days, 1))", .is_number = true},
		 {"bytes_per_day", "intDiv(bytes, greatest(days, 1))", .is_number = true},
		 {"retention", "if(ttl = '', '" FLEET_UNLIMITED "', ttl)", .is_number = false}},
		" ORDER BY table",
		.of = FLEET_OF_TABLES,
	},
};

void fleet_cells_release(struct fleet_cells *c)
{
	vec_for_each(&c->cells, char **, cell)
		free(*cell);
	vec_release(&c->cells);
}

int fleet_list_read(const struct fleet_list *list, const struct strbuf *answer,
		    struct fleet_cells *c, struct error *err)
{
	struct bytes b;

	bytes_init(&b, strbuf_text(answer), answer->size);
	while (bytes_left(&b)) {
		for (const struct fleet_column *column = list->columns; column->name; column++)
			vec_push(&c->cells, rows_take_text(&b));
	}
	return b.failed ? engine_damaged(err) : 0;
}

int fleet_list_get(const struct engine *e, const struct fleet_list *list, struct fleet_cells *c,
		   struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf sql = {0}, answer = {0};
	int ret = schema_check(e, err);

	for (const struct fleet_column *column = list->columns; column->name; column++)
		strbuf_addf(&sql, "%s toString(%s)", sql.size ? "," : "SELECT", column->sql);
	strbuf_adds(&sql, " FROM ");
	if (list->of == FLEET_OF_SAMPLES)
		sql_add_samples(&sql, &e->url->filter, false);
	else if (list->of == FLEET_OF_WINDOWS)
		sql_add_windows(&sql, &e->url->filter);
	else
		sql_add_tables(&sql, e->url->database);
	strbuf_addf(&sql, "%s FORMAT RowBinary", list->end);
	if (!ret)
		ret = engine_run(e, strbuf_text(&sql), false, &answer, err);
	return ret ? ret : fleet_list_read(list, &answer, c, err);
}
