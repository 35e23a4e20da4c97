/* SPDX-License-Identifier: MIT */
#include "lib/fleet/fleet_read.h"

#include "lib/fleet/fleet_push.h"
#include "lib/fleet/sql.h"

/* Maximum depth of a stack; no recorder stores deeper ones. */
#define DEPTH_MAX 100000
/* Category numbers are bytes; the last one is reserved. */
#define CATEGORIES_MAX UINT8_MAX
#define DEFAULT_COLOR "grey"
#define OTHER "Other"

/* The columns of one frame. */
struct cells {
	char *name, *file, *module, *build_id, *kind, *category, *subcategory;
	uint32_t line, function_line, function_column;
	uint64_t address;
	uint16_t inline_depth;
	uint8_t is_named;
};

static const size_t texts[] = {
	offsetof(struct cells, name),	     offsetof(struct cells, file),
	offsetof(struct cells, module),	     offsetof(struct cells, build_id),
	offsetof(struct cells, kind),	     offsetof(struct cells, category),
	offsetof(struct cells, subcategory),
};

static void cells_release(struct cells *cells, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
			free(*(char **)((char *)&cells[i] + texts[k]));
	}
	free(cells);
}

static bool key_equal(const void *table, uint32_t id, const void *key)
{
	const struct stack_reader *r = table;

	return memcmp(&r->rows.items[id].key, key, sizeof(struct stack_key)) == 0;
}

static uint64_t hash_key(const struct stack_key *key)
{
	return hash_bytes(key, sizeof(*key), 0);
}

/* Returns NO_STACK if there is no such row. */
static stack_id stack_reader_find(const struct stack_reader *r, const struct stack_key *key)
{
	uint32_t at = index_find(&r->index, hash_key(key), key_equal, r, key);

	return at == INDEX_NONE ? NO_STACK : r->rows.items[at].stack;
}

static const char *color_of(const char *name)
{
	for (int i = 0; i < CATEGORY_COUNT; i++) {
		if (strcmp(categories[i]->name, name) == 0)
			return categories[i]->color;
	}
	return DEFAULT_COLOR;
}

/* Returns the number of a category; 0 if there are too many. */
static uint8_t find_category(struct profile *p, const char *name)
{
	struct profile_category row = {0};

	for (size_t i = 0; i < p->categories.count; i++) {
		if (strcmp(p->categories.items[i].name, name) == 0)
			return (uint8_t)i;
	}
	if (p->categories.count == CATEGORIES_MAX)
		return 0;
	row.name = xstrdup(name);
	row.color = xstrdup(color_of(name));
	vec_push(&row.subcategories, xstrdup(OTHER));
	vec_push(&p->categories, row);
	return (uint8_t)(p->categories.count - 1);
}

static uint8_t find_subcategory(struct profile *p, uint8_t category, const char *name)
{
	struct profile_category *row = &p->categories.items[category];

	for (size_t i = 0; i < row->subcategories.count; i++) {
		if (strcmp(row->subcategories.items[i], name) == 0)
			return (uint8_t)i;
	}
	if (!*name || row->subcategories.count == CATEGORIES_MAX)
		return 0;
	vec_push(&row->subcategories, xstrdup(name));
	return (uint8_t)(row->subcategories.count - 1);
}

static uint8_t kind_of(const char *name)
{
	for (size_t i = 0; i < FLEET_KIND_COUNT; i++) {
		if (strcmp(fleet_kind_names[i], name) == 0)
			return (uint8_t)i;
	}
	return PROFILE_FRAME_NATIVE;
}

static func_id add_func(struct profile *p, const struct cells *c, module_id module)
{
	struct func func = {
		.name = strings_intern(&p->strings, c->name),
		.module = module,
		.file = NO_SOURCE_FILE,
		.line = c->function_line,
		.column = c->function_column,
		.is_js = strcmp(c->kind, FLEET_KIND_SCRIPT) == 0,
		.is_named = c->is_named,
	};

	if (*c->file)
		func.file = source_files_intern(&p->source_files,
						strings_intern(&p->strings, c->file));
	return funcs_intern(&p->funcs, &func);
}

static frame_id add_frame(struct foreign *f, const struct cells *c)
{
	struct profile *p = f->profile;
	struct frame frame = {
		.module = foreign_module(f, c->module, c->build_id),
		.func = NO_FUNC,
		.offset = c->address,
		.symbol = NO_SYMBOL,
		.line = c->line,
		.inline_depth = c->inline_depth,
		.kind = kind_of(c->kind),
		.language = LANGUAGE_NONE,
		.category = find_category(p, *c->category ? c->category : OTHER),
	};

	frame.subcategory = find_subcategory(p, frame.category, c->subcategory);
	if (*c->name)
		frame.func = add_func(p, c, frame.module);
	else
		p->meta.symbolicated = false;
	return frames_intern(&p->frames, &frame);
}

typedef void cell_fn(struct bytes *b, void *at);

static void take_text(struct bytes *b, void *at)
{
	*(char **)at = rows_take_text(b);
}

static void take_u8(struct bytes *b, void *at)
{
	*(uint8_t *)at = bytes_u8(b);
}

static void take_u16(struct bytes *b, void *at)
{
	*(uint16_t *)at = bytes_u16(b);
}

static void take_u32(struct bytes *b, void *at)
{
	*(uint32_t *)at = bytes_u32(b);
}

static void take_u64(struct bytes *b, void *at)
{
	*(uint64_t *)at = bytes_u64(b);
}

/* In the order of STACK_COLUMNS. */
static const struct column {
	cell_fn *take;
	size_t offset;
} columns[] = {
	{take_text, offsetof(struct cells, name)},
	{take_u8, offsetof(struct cells, is_named)},
	{take_text, offsetof(struct cells, file)},
	{take_u32, offsetof(struct cells, line)},
	{take_u32, offsetof(struct cells, function_line)},
	{take_u32, offsetof(struct cells, function_column)},
	{take_text, offsetof(struct cells, module)},
	{take_text, offsetof(struct cells, build_id)},
	{take_u64, offsetof(struct cells, address)},
	{take_text, offsetof(struct cells, kind)},
	{take_u16, offsetof(struct cells, inline_depth)},
	{take_text, offsetof(struct cells, category)},
	{take_text, offsetof(struct cells, subcategory)},
};

/* Returns false if arrays differ in length or end early. */
static bool read_cells(struct bytes *b, struct cells **cells, size_t *count)
{
	*cells = NULL;
	*count = rows_take_count(b, 1);
	if (b->failed || *count > DEPTH_MAX)
		return false;
	*cells = xcalloc(*count + 1, sizeof(**cells));
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		if (i && rows_take_count(b, 1) != *count)
			return false;
		for (size_t k = 0; k < *count; k++)
			columns[i].take(b, (char *)&(*cells)[k] + columns[i].offset);
	}
	return !b->failed;
}

static int read_row(struct stack_reader *r, struct bytes *b, struct error *err)
{
	struct stacks *stacks = &r->f->profile->stacks;
	stack_id stack = NO_STACK;
	struct stack_key key = {{0}};
	const void *at = bytes_take(b, sizeof(key));
	struct cells *cells;
	size_t count;

	if (at)
		memcpy(&key, at, sizeof(key));
	if (!read_cells(b, &cells, &count)) {
		cells_release(cells, cells ? count : 0);
		return engine_damaged(err);
	}
	if (index_find(&r->index, hash_key(&key), key_equal, r, &key) == INDEX_NONE) {
		for (size_t i = count; i-- > 0;)
			stack = stacks_intern(stacks, stack, add_frame(r->f, &cells[i]));
		index_add(&r->index, hash_key(&key), (uint32_t)r->rows.count);
		vec_push(&r->rows, (__typeof__(*r->rows.items)){key, stack});
	}
	cells_release(cells, count);
	return 0;
}

/* Reads all rows. The first row with a key wins. */
static int stack_reader_read(struct stack_reader *r, struct bytes *b, struct error *err)
{
	int ret = 0;

	find_category(r->f->profile, OTHER);
	while (bytes_left(b) && !ret)
		ret = read_row(r, b, err);
	return ret;
}

/* Maximum number of time buckets in a profile. */
#define BUCKETS_MAX 2000
#define NS_PER_SECOND 1000000000ull
/* Maximum value of a row; a profile splits it into rows of 32 bits. */
#define VALUE_MAX ((uint64_t)1 << 44)

/* Sums over the windows. */
struct overview {
	uint64_t windows, hosts, first_s, last_s, lost;
	uint64_t intervals, interval_ns; /* number of distinct intervals, and the shortest one */
};

static bool read_overview(const struct strbuf *answer, struct overview *o)
{
	struct bytes b;

	bytes_init(&b, strbuf_text(answer), answer->size);
	o->windows = bytes_u64(&b);
	o->hosts = bytes_u64(&b);
	o->first_s = bytes_u64(&b);
	o->last_s = bytes_u64(&b);
	o->lost = bytes_u64(&b);
	o->intervals = bytes_u64(&b);
	o->interval_ns = bytes_u64(&b);
	return !b.failed && !bytes_left(&b) && o->first_s <= o->last_s && o->last_s <= UINT32_MAX &&
	       o->interval_ns <= 3600 * NS_PER_SECOND;
}

static void add_overview(struct strbuf *sql, const struct fleet_filter *f)
{
	strbuf_adds(sql, "SELECT windows, hosts, first_s, last_s, lost_all, intervals, shortest"
			 " FROM (SELECT 1 AS one, toUInt64(count()) AS windows,"
			 " toUInt64(uniqExact(host)) AS hosts,"
			 " toUInt64(toUInt32(min(time))) AS first_s,"
			 " toUInt64(toUInt32(max(time))) AS last_s,"
			 " toUInt64(sum(lost)) AS lost_all FROM ");
	sql_add_windows(sql, f);
	strbuf_adds(sql,
		    ") AS w GLOBAL ANY LEFT JOIN (SELECT 1 AS one, toUInt64(uniqExact(interval_ns))"
		    " AS intervals, toUInt64(min(interval_ns)) AS shortest FROM ");
	sql_add_samples(sql, f, true);
	strbuf_adds(sql, " WHERE interval_ns > 0) AS s USING one FORMAT RowBinary");
}

static uint64_t bucket_s(const struct overview *o)
{
	uint64_t windows = (o->last_s - o->first_s) / FLEET_WINDOW_S + 1;

	return (windows + BUCKETS_MAX - 1) / BUCKETS_MAX * FLEET_WINDOW_S;
}

/* Seconds count from the first window. */
static void add_sums(struct strbuf *sql, const struct fleet_filter *f, const struct overview *o,
		     bool is_once)
{
	uint64_t bucket = bucket_s(o);

	strbuf_addf(sql,
		    "SELECT %s AS who, toUInt64(intDiv(toUInt32(time) - %" PRIu64 ", %" PRIu64
		    ") * %" PRIu64
		    ") AS bucket, event, interval_ns, stack, toUInt64(sum(amount)) AS total FROM ",
		    fleet_by_names[f->by], o->first_s, bucket, bucket);
	sql_add_samples(sql, f, is_once);
	strbuf_adds(sql, " GROUP BY who, bucket, event, interval_ns, stack"
			 " ORDER BY who, bucket, stack, event, interval_ns FORMAT RowBinary");
}

struct row {
	char *who, *event; /* owned */
	uint64_t bucket_s, interval_ns, value;
	struct stack_key key;
};

struct build {
	struct foreign f;
	struct stack_reader stacks;
	uint64_t bucket_ns;
	VEC(struct row) rows;
};

static int read_rows(struct build *w, const struct strbuf *answer, struct error *err)
{
	struct bytes b;

	bytes_init(&b, strbuf_text(answer), answer->size);
	while (bytes_left(&b)) {
		struct row row = {.who = rows_take_text(&b), .bucket_s = bytes_u64(&b)};
		const void *key;

		row.event = rows_take_text(&b);
		row.interval_ns = bytes_u64(&b);
		key = bytes_take(&b, sizeof(row.key));
		if (key)
			memcpy(&row.key, key, sizeof(row.key));
		row.value = bytes_u64(&b);
		vec_push(&w->rows, row);
		if (b.failed || row.bucket_s > UINT32_MAX || row.value > VALUE_MAX)
			return engine_damaged(err);
	}
	return 0;
}

static void add_row(struct build *w, const struct row *row, uint32_t number, uint64_t time)
{
	thread_id thread = foreign_thread(&w->f, number, number, *row->who ? row->who : "unknown",
					  *row->who ? row->who : "unknown", false);
	uint8_t event = row->interval_ns ? 0 : foreign_event(&w->f, row->event);

	if (row->interval_ns || event)
		foreign_sample(&w->f, thread, event, time, stack_reader_find(&w->stacks, &row->key),
			       row->value);
}

/*
 * Spreads rows over their time bucket, because the time of a single sample is unknown. A thread's
 * rows are adjacent, in order of time.
 */
static void add_rows(struct build *w)
{
	uint32_t number = 0;

	for (size_t first = 0, end; first < w->rows.count; first = end) {
		const struct row *row = &w->rows.items[first];

		number += !first || strcmp(row[-1].who, row->who) != 0;
		for (end = first; end < w->rows.count; end++) {
			if (w->rows.items[end].bucket_s != row->bucket_s ||
			    strcmp(w->rows.items[end].who, row->who) != 0)
				break;
		}
		for (size_t i = first; i < end; i++)
			add_row(w, &w->rows.items[i], number,
				row->bucket_s * NS_PER_SECOND +
					w->bucket_ns / (end - first) * (i - first));
	}
}

static void set_meta(struct profile *p, const struct fleet_url *url, const struct overview *o)
{
	const struct fleet_filter *f = &url->filter;
	const char *name = url->database;

	for (int i = 0; i < FLEET_BY_COUNT; i++)
		name = f->of[i] && name == url->database ? f->of[i] : name;
	p->meta.product = xstrdup(name);
	p->meta.start_realtime_ns = o->first_s * NS_PER_SECOND;
	p->meta.end_ns = (o->last_s - o->first_s + FLEET_WINDOW_S) * NS_PER_SECOND;
	p->meta.interval_ns = o->interval_ns ? o->interval_ns : 1000000;
	profile_add_count(p, FACT_FLEET_HOSTS, NULL, o->hosts);
	profile_add_count(p, FACT_FLEET_WINDOWS, NULL, o->windows);
	profile_add_count(p, FACT_LOST_SAMPLES, NULL, o->lost);
}

static int build(struct build *w, const struct fleet_url *url, const struct fleet_answers *from,
		 struct error *err)
{
	struct overview o = {0};
	struct bytes stacks;
	int ret;

	if (!read_overview(&from->windows, &o))
		return engine_damaged(err);
	set_meta(w->f.profile, url, &o);
	w->bucket_ns = bucket_s(&o) * NS_PER_SECOND;
	w->stacks.f = &w->f;
	bytes_init(&stacks, strbuf_text(&from->stacks), from->stacks.size);
	ret = stack_reader_read(&w->stacks, &stacks, err) ?: read_rows(w, &from->samples, err);
	if (ret)
		return ret;
	add_rows(w);
	return foreign_finish(&w->f, true, err);
}

int fleet_build(struct profile **p, const struct fleet_url *url, const struct fleet_answers *from,
		struct error *err)
{
	struct build w = {0};
	int ret;

	foreign_init(&w.f, NULL);
	ret = build(&w, url, from, err);
	vec_for_each(&w.rows, struct row *, row) {
		free(row->who);
		free(row->event);
	}
	vec_release(&w.rows);
	vec_release(&w.stacks.rows);
	index_release(&w.stacks.index);
	foreign_end(&w.f, ret, p);
	return ret;
}

/* Queries the data listed in the first answer. */
static int query_listed(const struct engine *e, struct fleet_answers *answers, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf windows = {0}, once = {0}, samples = {0},
						stacks = {0};
	const struct fleet_filter *f = &e->url->filter;
	struct overview o = {0};
	uint64_t is_once = 0;
	int ret;

	add_overview(&windows, f);
	ret = engine_run(e, strbuf_text(&windows), false, &answers->windows, err);
	if (ret)
		return ret;
	if (!read_overview(&answers->windows, &o))
		return engine_damaged(err);
	if (!o.windows)
		return error_text(err, -ENODATA, "%s has no matching samples", e->url->database);
	if (o.intervals > 1) {
		error_text(err, -EXDEV, "cannot add ticks of %" PRIu64 " different intervals",
			   o.intervals);
		error_hint(err, "choose an interval in milliseconds: interval=%.9g",
			   (double)o.interval_ns / 1e6);
		return -EXDEV;
	}
	sql_add_is_once(&once, f);
	ret = engine_number(e, strbuf_text(&once), false, &is_once, err);
	add_sums(&samples, f, &o, is_once);
	if (!ret)
		ret = engine_run(e, strbuf_text(&samples), false, &answers->samples, err);
	strbuf_adds(&stacks,
		    "SELECT stack, " STACK_COLUMNS " FROM prof_stacks WHERE stack GLOBAL IN ");
	sql_add_stacks(&stacks, f);
	strbuf_adds(&stacks, " LIMIT 1 BY stack FORMAT RowBinary");
	return ret ? ret : engine_run(e, strbuf_text(&stacks), false, &answers->stacks, err);
}

int fleet_read(const struct engine *e, struct profile **p, struct error *err)
{
	struct fleet_answers answers = {0};
	int ret = schema_check(e, err) ?: query_listed(e, &answers, err);

	if (!ret)
		ret = fleet_build(p, e->url, &answers, err);
	strbuf_release(&answers.windows);
	strbuf_release(&answers.samples);
	strbuf_release(&answers.stacks);
	return ret;
}

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
