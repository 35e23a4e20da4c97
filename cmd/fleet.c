/* SPDX-License-Identifier: MIT */
/* prof fleet: sets up an engine that stores samples of many machines, and lists its contents. */
#include <time.h>

#include "cmd/command.h"
#include "cmd/run/child_programs.h"
#include "cmd/run/fleet_engine.h"
#include "cmd/text/listing.h"
#include "lib/fleet/fleet_read.h"
#include "lib/fleet/sql.h"

static const char name[] = "fleet";
static const char init[] = "init";

struct fleet_command {
	const char *action, *address;
	const char *cluster; /* NULL: none */
	bool json;
};

static const char *const *actions(void)
{
	static const char *names[FLEET_LIST_COUNT + 2] = {init};

	for (size_t i = 0; i < FLEET_LIST_COUNT; i++)
		names[i + 1] = fleet_lists[i].name;
	return names;
}

static const struct option_row rows[] = {
	{0, "cluster", "NAME",
	 "init: this server is one of that cluster, whose servers share the rows", OPTION_WORD,
	 OPTION_AT(fleet_command, cluster)},
	{0, "json", NULL, "print an array of objects", OPTION_FLAG, OPTION_AT(fleet_command, json)},
	{0},
};

static int take(void *ctx, const char *operand, struct error *err)
{
	struct fleet_command *c = ctx;

	if (c->action && c->address)
		return error_text(err, -EINVAL, "unexpected argument '%s'", operand);
	*(c->action ? &c->address : &c->action) = operand;
	return 0;
}

static void make_table(struct option_table *t, void *ctx)
{
	t->usage = "Usage: prof fleet init [--cluster NAME] URL\n"
		   "       prof fleet services|hosts|windows|tables [--json] URL\n"
		   "Create the tables of an engine that stores samples of many machines, or list\n"
		   "their contents, sizes and retention.\n"
		   "\n";
	t->take = take;
	t->operands = actions;
	option_table_add(t, rows, ctx);
	option_table_add(t, option_common, NULL);
	t->after =
		"\n"
		"URL is clickhouse+http[s]://[USER@]HOST[:PORT]/DATABASE[?KEY=VALUE&...]; keys\n"
		"select the listed data: service, host, container, executable, event, label.NAME,\n"
		"from, to; see 'man prof-fleet'.\n"
		"Exit status: 0, 125 if the engine fails, 2 for a usage error.\n";
}

static int make_tables(const struct engine *e, const char *cluster, struct error *err)
{
	uint32_t before;
	int ret = schema_init(e, cluster, &before, err);

	if (ret)
		return ret;
	if (before == SCHEMA_VERSION)
		command_say_as(name, "the tables of %s already exist", e->url->database);
	else
		command_say_as(name, "created the tables of %s, version %d", e->url->database,
			       SCHEMA_VERSION);
	return 0;
}

/*
 * Takes ownership of the text. Formats times as local time unless the output is machine-readable.
 */
static char *cell_text(const struct fleet_column *column, char *text, bool json)
{
	char buf[64];
	uint64_t seconds;
	time_t time;
	struct tm tm;

	if (!column->is_time || !text_to_u64(text, 10, &seconds) || seconds > UINT32_MAX)
		return text;
	time = (time_t)seconds;
	if (json ? gmtime_r(&time, &tm) : localtime_r(&time, &tm))
		strftime(buf, sizeof(buf), json ? "%Y-%m-%dT%H:%M:%SZ" : "%F %T", &tm);
	free(text);
	return xstrdup(buf);
}

/* True for JSON numbers, which are printed unquoted. */
static bool are_numbers(const struct fleet_list *list, const struct fleet_cells *cells)
{
	size_t at = 0;
	uint64_t number;

	while (at < cells->cells.count) {
		for (const struct fleet_column *column = list->columns; column->name; column++) {
			const char *text = cells->cells.items[at++];

			if (column->is_number && !text_to_u64(text, 10, &number))
				return false;
		}
	}
	return true;
}

static void print_list(const struct fleet_list *list, struct fleet_cells *cells, bool json)
{
	_cleanup_(strbuf_release) struct strbuf out = {0};
	struct listing listing = {0};
	size_t at = 0;

	for (const struct fleet_column *column = list->columns; column->name; column++)
		listing_add_column(&listing, column->name,
				   column->is_number ? LISTING_NUMBER : LISTING_TEXT);
	while (at < cells->cells.count) {
		listing_add_row(&listing, 0);
		for (const struct fleet_column *column = list->columns; column->name;
		     column++, at++)
			listing_add_cell(&listing,
					 cell_text(column, steal(cells->cells.items[at]), json));
	}
	if (json) {
		listing_print_json(&listing, &out);
		strbuf_addch(&out, '\n');
		fwrite(strbuf_text(&out), 1, out.size, stdout);
	} else {
		listing_print_text(&listing, pager_columns(), &out);
		pager_print(strbuf_text(&out), out.size);
	}
	listing_release(&listing);
}

/* Prints how to limit the time for which rows are kept, if a table of samples has no limit. */
static void advise(const struct fleet_list *list, const struct fleet_cells *cells)
{
	size_t columns = 0;

	while (list->columns[columns].name)
		columns++;
	for (size_t at = 0; at < cells->cells.count; at += columns) {
		const char *table = cells->cells.items[at];

		if (!text_starts_with(table, "prof_samples") ||
		    strcmp(cells->cells.items[at + columns - 1], FLEET_UNLIMITED) != 0)
			continue;
		command_say_as(name,
			       "samples are kept for ever; to change that: ALTER TABLE %s MODIFY "
			       "TTL time + toIntervalDay(30), see 'man 7 prof-fleet'",
			       table);
		return;
	}
}

static int show(const struct engine *e, const struct fleet_list *list, bool json, struct error *err)
{
	struct fleet_cells cells = {0};
	int ret = fleet_list_get(e, list, &cells, err);

	if (!ret && !are_numbers(list, &cells))
		ret = engine_damaged(err);
	if (!ret && list->of == FLEET_OF_TABLES && !json)
		advise(list, &cells);
	if (!ret)
		print_list(list, &cells, json);
	fleet_cells_release(&cells);
	return ret;
}

static const struct fleet_list *find_list(const char *action)
{
	return items_find(fleet_lists, FLEET_LIST_COUNT, it, strcmp(it->name, action) == 0);
}

static int check(const struct fleet_command *c, struct error *err)
{
	if (!c->action || (strcmp(c->action, init) != 0 && !find_list(c->action)))
		return error_text(err, -EINVAL,
				  "an action is missing: init, services, hosts, windows or tables");
	if (c->cluster && strcmp(c->action, init) != 0)
		return error_text(err, -EINVAL, "--cluster can only be used with init");
	if (c->cluster && !sql_is_name(c->cluster))
		return error_text(err, -EINVAL,
				  "--cluster %s: must be up to 64 letters, digits and _",
				  c->cluster);
	return c->address ? 0 : error_text(err, -EINVAL, "the engine's address is missing");
}

static int run(int argc, char **argv)
{
	struct fleet_command c = {0};
	struct fleet_engine e = {0};
	struct error err = {0};
	int ret = command_parse(argc, argv, make_table, &c, &err), status = 0;

	if (!ret)
		ret = check(&c, &err);
	if (!ret)
		ret = fleet_engine_open_store(&e, c.address, false, &err);
	if (ret)
		status = ret == -EINVAL || ret == -ECANCELED
				 ? command_fail_usage(name, &err)
				 : command_fail(name, EXIT_REFUSED, &err);
	if (!ret) {
		const struct fleet_list *list = find_list(c.action);

		ret = list ? show(&e.engine, list, c.json, &err)
			   : make_tables(&e.engine, c.cluster, &err);
		if (ret)
			status = command_fail(name, EXIT_REFUSED, &err);
	}
	fleet_engine_release(&e);
	return status;
}

const struct command command_fleet = {
	.name = name,
	.summary = "create an engine's tables, or list its services, hosts, windows and tables",
	.options = make_table,
	.run = run,
};
