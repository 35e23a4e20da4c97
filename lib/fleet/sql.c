/* SPDX-License-Identifier: MIT */
#include "lib/fleet/sql.h"

#define NAME_MAX_SIZE 64

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_harmless(char c, const char *others)
{
	return is_letter(c) || is_digit(c) || (c && strchr(others, c));
}

void sql_add_text(struct strbuf *sql, const char *text, size_t size)
{
	strbuf_addch(sql, '\'');
	for (size_t i = 0; i < size; i++) {
		if (is_harmless(text[i], " .-/:=@+"))
			strbuf_addch(sql, text[i]);
		else
			strbuf_addf(sql, "\\x%02X", (unsigned char)text[i]);
	}
	strbuf_addch(sql, '\'');
}

bool sql_is_name(const char *text)
{
	size_t size = strlen(text);

	if (!size || size > NAME_MAX_SIZE || !is_letter(*text))
		return false;
	return !items_find(text, size, it, !is_letter(*it) && !is_digit(*it));
}

/* Suffix of the table that holds one server's part of a cluster's rows. */
#define LOCAL_SUFFIX "_local"

struct table {
	const char *name, *columns, *engine;
	const char *shard; /* sharding key in a cluster; NULL: every server has all rows */
};

/* Tables added by each version to those of the previous one; a nameless row ends the list. */
static const struct table version_1[] = {
	{
		.name = "prof_schema",
		.columns = "version UInt32, made DateTime",
		.engine = "ReplacingMergeTree() ORDER BY version",
	},
	{
		.name = "prof_stacks",
		.columns = "stack FixedString(16),"
			   " name Array(String), is_named Array(UInt8), file Array(String),"
			   " line Array(UInt32), function_line Array(UInt32),"
			   " function_column Array(UInt32), module Array(String),"
			   " build_id Array(String), address Array(UInt64), kind Array(String),"
			   " inline_depth Array(UInt16), category Array(String),"
			   " subcategory Array(String)",
		.engine = "ReplacingMergeTree() ORDER BY stack",
		.shard = "sipHash64(stack)",
	},
	{
		.name = "prof_samples",
		.columns = "time DateTime, batch UInt64, host String, service String,"
			   " container String, executable String, event String,"
			   " interval_ns UInt64, is_wait UInt8, stack FixedString(16),"
			   " value UInt64",
		.engine = "ReplacingMergeTree() PARTITION BY toYYYYMMDD(time)"
			  " ORDER BY (service, time, host, batch, container, executable, event,"
			  " interval_ns, stack)",
		.shard = "sipHash64(stack)",
	},
	{
		.name = "prof_windows",
		.columns = "time DateTime, window_id UInt64, batch UInt64, made DateTime,"
			   " host String, start_ns UInt64, end_ns UInt64, labels Array(String),"
			   " ticks UInt64, waits UInt64, lost UInt64, guessed UInt64,"
			   " unnamed UInt64, row_count UInt64, writer String",
		.engine = "ReplacingMergeTree(made) PARTITION BY toYYYYMMDD(time)"
			  " ORDER BY (host, time, window_id)",
		.shard = "intHash64(window_id)",
	},
	{0},
};

static const struct table *const versions[SCHEMA_VERSION] = {version_1};

/* A missing table has version 0. */
static int find_version(const struct engine *e, uint32_t *version, struct error *err)
{
	_cleanup_free_ char *sql =
		xasprintf("SELECT count() FROM system.tables WHERE database = '%s' AND name = "
			  "'prof_schema' FORMAT RowBinary",
			  e->url->database);
	uint64_t number;
	int ret = engine_number(e, sql, true, &number, err);

	*version = 0;
	if (ret || !number)
		return ret;
	ret = engine_number(e, "SELECT toUInt64(max(version)) FROM prof_schema FORMAT RowBinary",
			    false, &number, err);
	*version = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
	return ret;
}

static int run(const struct engine *e, const char *sql, bool is_outside, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf answer = {0};

	return engine_run(e, sql, is_outside, &answer, err);
}

static int too_new(const struct engine *e, uint32_t version, struct error *err)
{
	return error_text(err, -ENOTSUP,
			  "the tables of %s have version %" PRIu32
			  ", of a newer prof: this one supports up to %d",
			  e->url->database, version, SCHEMA_VERSION);
}

static int make_database(const struct engine *e, struct error *err)
{
	_cleanup_free_ char *asks =
		xasprintf("SELECT count() FROM system.databases WHERE name = '%s' FORMAT RowBinary",
			  e->url->database);
	_cleanup_free_ char *makes = xasprintf("CREATE DATABASE IF NOT EXISTS %s",
					       e->url->database);
	uint64_t count;
	int ret = engine_number(e, asks, true, &count, err);

	return ret || count ? ret : run(e, makes, true, err);
}

/*
 * Creates a table; in a cluster, this server's part of it and a distributed table over all parts.
 */
static int make_table(const struct engine *e, const struct table *t, const char *cluster,
		      struct error *err)
{
	bool is_apart = cluster && t->shard;
	_cleanup_free_ char *own = xasprintf("CREATE TABLE IF NOT EXISTS %s%s (%s) ENGINE = %s",
					     t->name, is_apart ? LOCAL_SUFFIX : "", t->columns,
					     t->engine);
	_cleanup_free_ char *all = NULL;
	int ret = run(e, own, false, err);

	if (ret || !is_apart)
		return ret;
	all = xasprintf("CREATE TABLE IF NOT EXISTS %s (%s) ENGINE = "
			"Distributed(%s, %s, %s" LOCAL_SUFFIX ", %s)",
			t->name, t->columns, cluster, e->url->database, t->name, t->shard);
	return run(e, all, false, err);
}

static int migrate(const struct engine *e, uint32_t from, const char *cluster, struct error *err)
{
	int ret = 0;

	for (uint32_t version = from; version < SCHEMA_VERSION && !ret; version++) {
		_cleanup_free_ char *note = xasprintf(
			"INSERT INTO prof_schema SELECT toUInt32(%" PRIu32 "), now()", version + 1);

		for (const struct table *t = versions[version]; t->name && !ret; t++)
			ret = make_table(e, t, cluster, err);
		if (!ret)
			ret = run(e, note, false, err);
	}
	return ret;
}

int schema_init(const struct engine *e, const char *cluster, uint32_t *before, struct error *err)
{
	int ret = make_database(e, err) ?: find_version(e, before, err);

	if (!ret && *before > SCHEMA_VERSION)
		ret = too_new(e, *before, err);
	return ret ? ret : migrate(e, *before, cluster, err);
}

int schema_check(const struct engine *e, struct error *err)
{
	uint32_t version;
	int ret = find_version(e, &version, err);

	if (ret)
		return ret;
	if (version > SCHEMA_VERSION)
		return too_new(e, version, err);
	if (version == SCHEMA_VERSION)
		return 0;
	error_text(err, -ENOENT,
		   version ? "the tables of %s were created by an older prof"
			   : "the database %s has no prof tables",
		   e->url->database);
	error_hint(err, "run: prof fleet init URL");
	return -ENOENT;
}

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

/* Adds conditions on columns that only samples have. */
static void add_sample_values(struct strbuf *sql, const struct fleet_filter *f)
{
	for (int i = 0; i < FLEET_BY_COUNT; i++) {
		if (i != FLEET_BY_HOST)
			add_equal(sql, fleet_by_names[i], f->of[i]);
	}
	/* A recorded event may be named "clock", too. */
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

/* Aliases differ from column names, because older servers would confuse the two. */
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

/* A window's last row has its number of sample rows. Newer servers want joined subqueries named. */
void sql_add_is_once(struct strbuf *sql, const struct fleet_filter *f)
{
	strbuf_adds(sql, "SELECT toUInt64(present = expected) FROM (SELECT 1 AS one, count() AS"
			 " present FROM prof_samples");
	add_times(sql, f);
	add_batches(sql, f);
	strbuf_adds(sql, ") AS p GLOBAL ANY LEFT JOIN (SELECT 1 AS one, sum(c) AS expected FROM"
			 " (SELECT argMax(row_count, made) AS c FROM prof_windows");
	add_window_conditions(sql, f);
	strbuf_adds(sql, " GROUP BY host, time, window_id)) AS q USING one FORMAT RowBinary");
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

void sql_add_tables(struct strbuf *sql, const char *database)
{
	/* Servers differ in what JOINs of subqueries need; a union is the same for all. */
	strbuf_addf(sql,
		    "(SELECT table, max(t) AS ttl, sum(r) AS row_count, sum(b) AS bytes,"
		    " ifNull((SELECT uniqExact(partition) FROM system.parts WHERE active = 1 AND"
		    " database = '%s' AND table LIKE 'prof_samples%%'), 0) AS days FROM (SELECT"
		    " name AS table, extract(engine_full, ' TTL (.*?)(?: SETTINGS |$)') AS t,"
		    " toUInt64(0) AS r, toUInt64(0) AS b FROM system.tables WHERE database = '%s'"
		    " AND name LIKE 'prof%%' AND engine LIKE '%%MergeTree' UNION ALL SELECT table,"
		    " '' AS t, rows AS r, bytes_on_disk AS b FROM system.parts WHERE active = 1 AND"
		    " database = '%s' AND table LIKE 'prof%%') GROUP BY table)",
		    database, database, database);
}

void sql_add_stacks(struct strbuf *sql, const struct fleet_filter *f)
{
	strbuf_adds(sql, "(SELECT stack FROM prof_samples");
	add_times(sql, f);
	add_sample_values(sql, f);
	add_batches(sql, f);
	strbuf_addch(sql, ')');
}
