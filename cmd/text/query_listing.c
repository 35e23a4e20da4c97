/* SPDX-License-Identifier: MIT */
#include "cmd/text/query_listing.h"

#include "lib/model/meaning/titles.h"
#include "lib/query/marker_rows.h"

static void marker_listing_add_columns(struct listing *l, bool people)
{
	static const struct {
		const char *title, *key;
		enum listing_type type;
	} columns[] = {
		{"START", "start", LISTING_NUMBER},   {"DURATION", "duration", LISTING_NUMBER},
		{"MARKER", "marker", LISTING_TEXT},   {"THREAD", "thread", LISTING_TEXT},
		{"TID", "tid", LISTING_NUMBER},	      {"PROCESS", "process", LISTING_TEXT},
		{"PID", "pid", LISTING_TEXT},	      {"FIELDS", "fields", LISTING_TEXT},
		{NULL, "thread_title", LISTING_TEXT}, {NULL, "process_title", LISTING_TEXT},
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		if (columns[i].title || !people)
			listing_add_column(l, people ? columns[i].title : columns[i].key,
					   columns[i].type);
	}
}

static char *seconds(uint64_t ns, bool people)
{
	return people ? xasprintf("%.6f s", (double)ns / 1e9)
		      : xasprintf("%.10g", (double)ns / 1e9);
}

static void add_row(struct listing *l, const struct profile *p, const struct marker_row *row,
		    const struct thread_titles *titles, bool people)
{
	const struct profile_thread *thread = row->thread;
	const struct marker *marker = row->marker;
	thread_id id = (thread_id)(thread - p->threads.rows.items);
	uint64_t lasts = marker->end - marker->start;
	const char *title = thread_title(titles, id), *process = process_title(titles, id);

	listing_add_row(l, 0);
	listing_add_cell(l, seconds(profile_since_start(p, marker->start), people));
	listing_add_cell(l, lasts || !people ? seconds(lasts, people) : NULL);
	listing_add_cell(l, xstrdup(strings_get(&p->strings, marker->name)));
	listing_add_cell(l, xstrdup(people ? title : strings_get(&p->strings, thread->name)));
	listing_add_cell(l, xasprintf("%" PRIu32, thread->tid));
	listing_add_cell(
		l, xstrdup(people ? process : strings_get(&p->strings, thread->process_name)));
	listing_add_cell(l, thread->incarnation ? xasprintf("%" PRIu32 ".%" PRIu32, thread->pid,
							    thread->incarnation)
						: xasprintf("%" PRIu32, thread->pid));
	listing_add_cell(l, marker_fields_text(p, marker));
	if (people)
		return;
	listing_add_cell(l, xstrdup(title));
	listing_add_cell(l, xstrdup(process));
}

size_t marker_listing(struct listing *l, const struct profile *p, const struct query_filter *filter,
		      const struct query_listing_options *options)
{
	struct thread_titles titles;
	struct marker_rows rows;
	size_t left_out = 0;

	thread_titles_find(&titles, p);
	marker_rows_make(&rows, p, filter);
	marker_listing_add_columns(l, options->for_people);
	vec_for_each(&rows.list, const struct marker_row *, row) {
		if (options->limit && l->depths.count >= options->limit)
			left_out++;
		else
			add_row(l, p, row, &titles, options->for_people);
	}
	marker_rows_release(&rows);
	thread_titles_release(&titles);
	return left_out;
}

/* Columns, each showing one property of a key. */
enum field {
	FIELD_END,
	FIELD_FUNCTION,
	FIELD_MODULE,
	FIELD_FILE,
	FIELD_LINE_NUMBER,
	FIELD_START_LINE,
	FIELD_PLACE, /* file:line; for display */
	FIELD_ADDRESS,
	FIELD_PROCESS,
	FIELD_PROGRAM, /* "cc1 ×60"; for display */
	FIELD_PROCESSES,
	FIELD_PID,
	FIELD_THREAD,
	FIELD_TID,
	FIELD_PROCESS_TITLE,
	FIELD_THREAD_TITLE,
	FIELD_CATEGORY,
	FIELD_COUNT,
};

static const struct {
	const char *title, *key;
	enum listing_type type;
} fields[FIELD_COUNT] = {
	[FIELD_FUNCTION] = {"FUNCTION", "function", LISTING_TEXT},
	[FIELD_MODULE] = {"MODULE", "module", LISTING_TEXT},
	[FIELD_FILE] = {"FILE", "file", LISTING_TEXT},
	[FIELD_LINE_NUMBER] = {"LINE", "line", LISTING_NUMBER},
	[FIELD_START_LINE] = {"START LINE", "start_line", LISTING_NUMBER},
	[FIELD_PLACE] = {"LINE", "place", LISTING_TEXT},
	[FIELD_ADDRESS] = {"ADDRESS", "address", LISTING_TEXT},
	[FIELD_PROCESS] = {"PROCESS", "process", LISTING_TEXT},
	[FIELD_PROGRAM] = {"PROCESS", "program", LISTING_TEXT},
	[FIELD_PROCESSES] = {"PROCESSES", "processes", LISTING_NUMBER},
	[FIELD_PID] = {"PID", "pid", LISTING_TEXT},
	[FIELD_THREAD] = {"THREAD", "thread", LISTING_TEXT},
	[FIELD_TID] = {"TID", "tid", LISTING_NUMBER},
	[FIELD_PROCESS_TITLE] = {"PROCESS", "process_title", LISTING_TEXT},
	[FIELD_THREAD_TITLE] = {"THREAD", "thread_title", LISTING_TEXT},
	[FIELD_CATEGORY] = {"CATEGORY", "category", LISTING_TEXT},
};

#define FIELDS_MAX 6

/* Default columns: for display, then machine-readable. */
static const uint8_t shown[2][QUERY_BY_COUNT][FIELDS_MAX] = {
	{
		[QUERY_BY_FUNCTION] = {FIELD_FUNCTION, FIELD_MODULE, FIELD_PLACE},
		[QUERY_BY_MODULE] = {FIELD_MODULE},
		[QUERY_BY_FILE] = {FIELD_FILE, FIELD_MODULE},
		[QUERY_BY_LINE] = {FIELD_FUNCTION, FIELD_MODULE, FIELD_PLACE},
		[QUERY_BY_PROCESS] = {FIELD_PROGRAM},
		[QUERY_BY_PID] = {FIELD_PROCESS_TITLE, FIELD_PID},
		[QUERY_BY_THREAD] = {FIELD_THREAD_TITLE, FIELD_TID, FIELD_PROCESS_TITLE, FIELD_PID},
		[QUERY_BY_CATEGORY] = {FIELD_CATEGORY},
		[QUERY_BY_ADDRESS] = {FIELD_ADDRESS, FIELD_FUNCTION, FIELD_MODULE, FIELD_PLACE},
	},
	{
		[QUERY_BY_FUNCTION] = {FIELD_FUNCTION, FIELD_MODULE, FIELD_FILE, FIELD_LINE_NUMBER},
		[QUERY_BY_MODULE] = {FIELD_MODULE},
		[QUERY_BY_FILE] = {FIELD_FILE, FIELD_MODULE},
		[QUERY_BY_LINE] = {FIELD_FUNCTION, FIELD_MODULE, FIELD_FILE, FIELD_LINE_NUMBER},
		[QUERY_BY_PROCESS] = {FIELD_PROCESS, FIELD_PROCESSES},
		[QUERY_BY_PID] = {FIELD_PROCESS, FIELD_PID},
		[QUERY_BY_THREAD] = {FIELD_THREAD, FIELD_TID, FIELD_PROCESS, FIELD_PID},
		[QUERY_BY_CATEGORY] = {FIELD_CATEGORY},
		[QUERY_BY_ADDRESS] = {FIELD_ADDRESS, FIELD_FUNCTION, FIELD_MODULE, FIELD_FILE,
				      FIELD_LINE_NUMBER},
	},
};

/* Machine-readable columns after the weights. */
static const uint8_t added[QUERY_BY_COUNT][3] = {
	[QUERY_BY_FUNCTION] = {FIELD_START_LINE},
	[QUERY_BY_PID] = {FIELD_PROCESS_TITLE},
	[QUERY_BY_THREAD] = {FIELD_THREAD_TITLE, FIELD_PROCESS_TITLE},
};

/* A row of a table or of a tree. */
struct item {
	const struct query_key *key;
	uint32_t line;
	uint64_t self, total;
	uint32_t processes; /* number of processes of a program; 0: no program */
	const struct query_latency *latency; /* NULL: not shown */
};

/* Cache size: most rows are light, and share their weights with many others. */
#define KNOWN_ERRORS 4096

struct filler {
	struct listing *l;
	const struct query *q;
	const struct query_keys *keys;
	const struct query_listing_options *options;
	char **errors; /* by weight; machine-readable; owned, NULL until needed */
	bool has_latency; /* all items have one */
	uint32_t *start_lines; /* by key; machine-readable, of functions; owned; 0: unknown */
};

/* Formats like "%PRIu64" at a fraction of the cost. */
static char *whole_number(uint64_t value)
{
	char text[24], *at = text + sizeof(text) - 1;

	*at = '\0';
	do {
		*--at = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return xstrdup(at);
}

/* Returns NULL for an empty string. */
static char *copy_text(const struct filler *f, string_id id)
{
	return id == NO_STRING ? NULL : xstrdup(query_keys_text(f->keys, id));
}

/* Returns, by key, the first line of the key's functions in the file. */
static uint32_t *find_start_lines(const struct query *q, const struct query_keys *keys)
{
	const struct profile *p = q->profile;
	uint32_t *lines = xcalloc(keys->rows.count + 1, sizeof(*lines));

	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		func_id func = profile_frame_of(p, id)->func;
		uint32_t line = func == NO_FUNC ? 0 : p->funcs.rows.items[func].line;
		uint32_t *of_key = &lines[keys->of_stacks[id]];

		if (line && (!*of_key || line < *of_key))
			*of_key = line;
	}
	return lines;
}

static struct filler make_filler(struct listing *l, const struct query *q,
				 const struct query_keys *keys,
				 const struct query_listing_options *options)
{
	struct filler f = {
		.l = l,
		.q = q,
		.keys = keys,
		.options = options,
		.errors = xcalloc(KNOWN_ERRORS, sizeof(char *)),
	};

	if (!options->for_people && keys->by == QUERY_BY_FUNCTION)
		f.start_lines = find_start_lines(q, keys);
	return f;
}

static char *start_line(const struct filler *f, const struct query_key *key)
{
	uint32_t line = f->start_lines ? f->start_lines[key - f->keys->rows.items] : 0;

	return line ? whole_number(line) : NULL;
}

char *query_listing_place(const struct query_keys *keys, uint32_t key, uint32_t line)
{
	const char *path = query_keys_text(keys, keys->rows.items[key].file);
	const char *slash = strrchr(path, '/');

	if (!*path)
		return NULL;
	path = slash && slash[1] ? slash + 1 : path;
	return line ? xasprintf("%s:%" PRIu32, path, line) : xstrdup(path);
}

static char *function(const struct filler *f, const struct item *item)
{
	if (item->key->function == NO_STRING && f->options->for_people)
		return xstrdup("(no frame)");
	return copy_text(f, item->key->function);
}

static char *program(const struct filler *f, const struct item *item)
{
	const char *name = query_keys_text(f->keys, item->key->process);

	return item->processes > 1 ? xasprintf("%s ×%" PRIu32, name, item->processes)
				   : xstrdup(name);
}

static char *field_text(const struct filler *f, const struct item *item, enum field field)
{
	const struct query_key *key = item->key;

	switch (field) {
	case FIELD_FUNCTION:
		return function(f, item);
	case FIELD_MODULE:
		return copy_text(f, key->module);
	case FIELD_FILE:
		return copy_text(f, key->file);
	case FIELD_LINE_NUMBER:
		return item->line ? whole_number(item->line) : NULL;
	case FIELD_START_LINE:
		return start_line(f, key);
	case FIELD_PLACE:
		return query_listing_place(f->keys, (uint32_t)(key - f->keys->rows.items),
					   item->line);
	case FIELD_ADDRESS:
		return key->function == NO_STRING || (key->module == NO_STRING && !key->address)
			       ? NULL
			       : xasprintf("0x%" PRIx64, key->address);
	case FIELD_PROCESS:
		return copy_text(f, key->process);
	case FIELD_PROGRAM:
		return program(f, item);
	case FIELD_PROCESSES:
		return whole_number(item->processes);
	case FIELD_PID:
		return key->incarnation
			       ? xasprintf("%" PRIu32 ".%" PRIu32, key->pid, key->incarnation)
			       : xasprintf("%" PRIu32, key->pid);
	case FIELD_THREAD:
		return copy_text(f, key->thread);
	case FIELD_TID:
		return whole_number(key->tid);
	case FIELD_PROCESS_TITLE:
		return copy_text(f, key->process_title);
	case FIELD_THREAD_TITLE:
		return copy_text(f, key->thread_title);
	case FIELD_CATEGORY:
		return copy_text(f, key->category);
	default:
		return NULL;
	}
}

static double in_unit(const struct filler *f, double weight)
{
	double size = 1;

	if (f->options->unit == QUERY_UNIT_PERCENT)
		return 100 * weight / (double)f->q->weight;
	if (f->options->unit != QUERY_UNIT_SAMPLES)
		query_measure(f->q, &size);
	return weight * (f->options->unit == QUERY_UNIT_MS ? size / 1e6 : size);
}

static void add_bytes(struct strbuf *out, double bytes)
{
	char text[32];

	text_format_bytes(text, sizeof(text), (uint64_t)(bytes + 0.5));
	strbuf_adds(out, text);
}

static void add_error(struct strbuf *out, enum query_unit unit, double error)
{
	strbuf_adds(out, " ±");
	if (unit == QUERY_UNIT_BYTES)
		add_bytes(out, error);
	else
		strbuf_addf(out, "%.*f", unit != QUERY_UNIT_SAMPLES, error);
}

static char *share(const struct filler *f, uint64_t weight)
{
	double value = in_unit(f, (double)weight), error = in_unit(f, query_error(f->q, weight));
	struct strbuf text = {0};

	if (f->options->unit == QUERY_UNIT_BYTES)
		add_bytes(&text, value);
	else if (f->options->unit == QUERY_UNIT_SAMPLES)
		strbuf_add_grouped(&text, weight);
	else
		strbuf_addf(&text, "%.1f", value);
	if (f->options->has_errors && f->q->squares > 0)
		add_error(&text, f->options->unit, error);
	if (f->options->unit == QUERY_UNIT_PERCENT || f->options->unit == QUERY_UNIT_MS)
		strbuf_addf(&text, " %s", f->options->unit == QUERY_UNIT_MS ? "ms" : "%");
	return strbuf_take(&text);
}

char *query_listing_weight(const struct query *q, const struct query_listing_options *options,
			   uint64_t weight)
{
	const struct filler f = {.q = q, .options = options};

	return share(&f, weight);
}

static char *number(double value)
{
	return xasprintf("%.10g", value);
}

static char *error_number(struct filler *f, uint64_t weight)
{
	char **known = f->errors && weight < KNOWN_ERRORS ? &f->errors[weight] : NULL;

	if (!known)
		return number(in_unit(f, query_error(f->q, weight)));
	if (!*known)
		*known = number(in_unit(f, query_error(f->q, weight)));
	return xstrdup(*known);
}

static void add_weights(struct filler *f, const struct item *item)
{
	const uint64_t weights[] = {item->self, item->total};

	for (int i = 0; i < 2; i++) {
		if (f->options->for_people)
			listing_add_cell(f->l, share(f, weights[i]));
		else if (f->options->unit == QUERY_UNIT_SAMPLES)
			listing_add_cell(f->l, whole_number(weights[i]));
		else
			listing_add_cell(f->l, number(in_unit(f, (double)weights[i])));
	}
	for (int i = 0; i < 2 && !f->options->for_people; i++)
		listing_add_cell(f->l, error_number(f, weights[i]));
}

static void add_latency_columns(struct filler *f)
{
	bool people = f->options->for_people;
	enum listing_type type = people ? LISTING_SHARE : LISTING_NUMBER;

	listing_add_column(f->l, people ? "LATENCY" : "latency", type);
	listing_add_column(f->l, people ? "TOTAL LATENCY" : "total_latency", type);
	listing_add_column(f->l, people ? "PARALLELISM" : "parallelism", LISTING_NUMBER);
}

static char *latency_text(const struct filler *f, uint64_t latency)
{
	enum query_unit unit = f->options->unit;
	double value;

	if (unit == QUERY_UNIT_PERCENT)
		value = f->q->latency ? 100 * (double)latency / (double)f->q->latency : 0;
	else
		value = in_unit(f, (double)latency / LATENCY_UNIT);
	if (!f->options->for_people)
		return number(value);
	return xasprintf("%.1f%s", value,
			 unit == QUERY_UNIT_PERCENT ? " %"
			 : unit == QUERY_UNIT_MS    ? " ms"
						    : "");
}

/* The parallelism is the mean while the row ran, both for self and with callees. */
static void add_latency(struct filler *f, const struct item *item)
{
	const struct query_latency *latency = item->latency;
	double mean = LATENCY_UNIT * (double)item->total / (double)latency->total;

	listing_add_cell(f->l, latency_text(f, latency->self));
	listing_add_cell(f->l, latency_text(f, latency->total));
	listing_add_cell(f->l, f->options->for_people ? xasprintf("%.2f", mean) : number(mean));
}

static const uint8_t *fields_of(const struct filler *f)
{
	return shown[!f->options->for_people][f->keys->by];
}

static void add_field_columns(struct filler *f, const uint8_t *field)
{
	for (; *field; field++)
		listing_add_column(
			f->l, f->options->for_people ? fields[*field].title : fields[*field].key,
			fields[*field].type);
}

static void add_weight_columns(struct filler *f)
{
	bool people = f->options->for_people;
	enum listing_type type = people ? LISTING_SHARE : LISTING_NUMBER;

	listing_add_column(f->l, people ? "SELF" : "self", type);
	listing_add_column(f->l, people ? "TOTAL" : "total", type);
	if (people)
		return;
	listing_add_column(f->l, "self_error", type);
	listing_add_column(f->l, "total_error", type);
}

void query_listing_add_weight_columns(struct listing *l,
				      const struct query_listing_options *options)
{
	struct filler f = {.l = l, .options = options};

	add_weight_columns(&f);
}

void query_listing_add_weights(struct listing *l, const struct query *q,
			       const struct query_listing_options *options, uint64_t self,
			       uint64_t total)
{
	struct filler f = {.l = l, .q = q, .options = options};
	const struct item item = {.self = self, .total = total};

	add_weights(&f, &item);
}

static void add_columns(struct filler *f)
{
	bool people = f->options->for_people;

	if (people) {
		if (f->has_latency)
			add_latency_columns(f);
		add_weight_columns(f);
	}
	add_field_columns(f, fields_of(f));
	if (people) {
		f->l->columns[2].is_tree = f->l->is_tree;
	} else {
		add_weight_columns(f);
		if (f->has_latency)
			add_latency_columns(f);
		add_field_columns(f, added[f->keys->by]);
	}
	listing_keep_ends(f->l);
}

static void add_item(struct filler *f, const struct item *item, uint32_t depth)
{
	listing_add_row(f->l, depth);
	if (f->options->for_people) {
		if (f->has_latency)
			add_latency(f, item);
		add_weights(f, item);
	}
	for (const uint8_t *field = fields_of(f); *field; field++)
		listing_add_cell(f->l, field_text(f, item, *field));
	if (f->options->for_people)
		return;
	add_weights(f, item);
	if (f->has_latency)
		add_latency(f, item);
	for (const uint8_t *field = added[f->keys->by]; *field; field++)
		listing_add_cell(f->l, field_text(f, item, *field));
}

static void release(struct filler *f)
{
	for (size_t i = 0; i < KNOWN_ERRORS; i++)
		free(f->errors[i]);
	free(f->errors);
	free(f->start_lines);
}

static bool has_room(const struct filler *f)
{
	return !f->options->limit || f->l->depths.count < f->options->limit;
}

size_t query_listing_table(struct listing *l, const struct query *q, const struct query_table *t,
			   const struct query_listing_options *options)
{
	struct filler f = make_filler(l, q, t->keys, options);
	size_t left_out = 0;

	f.has_latency = t->latencies;
	add_columns(&f);
	vec_for_each(&t->rows, const struct query_row *, row) {
		const struct item item = {
			.key = &t->keys->rows.items[row->key],
			.line = row->line,
			.self = row->self,
			.total = row->total,
			.processes = t->keys->processes ? t->keys->processes[row->key] : 0,
			.latency = t->latencies ? &t->latencies[row->key] : NULL,
		};

		if ((double)row->total < options->min_share * (double)q->weight)
			continue;
		if (has_room(&f))
			add_item(&f, &item, 0);
		else
			left_out++;
	}
	release(&f);
	return left_out;
}

size_t query_listing_parallelism(struct listing *l, const struct query *q,
				 const struct query_listing_options *options)
{
	struct filler f = {.l = l, .q = q, .options = options};
	enum listing_type type = options->for_people ? LISTING_SHARE : LISTING_NUMBER;
	size_t left_out = 0;

	listing_add_column(l, options->for_people ? "THREADS" : "threads", LISTING_NUMBER);
	add_weight_columns(&f);
	listing_add_column(l, options->for_people ? "LATENCY" : "latency", type);
	for (uint32_t threads = 1; threads < q->by_parallelism.count; threads++) {
		uint64_t weight = q->by_parallelism.items[threads];

		if (!weight || (double)weight < options->min_share * (double)q->weight)
			continue;
		if (!has_room(&f)) {
			left_out++;
			continue;
		}
		listing_add_row(l, 0);
		listing_add_cell(l, whole_number(threads));
		query_listing_add_weights(l, q, options, weight, weight);
		listing_add_cell(l, latency_text(&f, weight * LATENCY_UNIT / threads));
	}
	return left_out;
}

static void add_node(struct filler *f, const struct query_tree *t, uint32_t at)
{
	const struct query_node *node = &t->nodes.items[at];
	const struct query_key *key = &t->keys->rows.items[node->key];
	const struct item item = {
		.key = key, .line = key->line, .self = node->self, .total = node->total};

	add_item(f, &item, node->depth);
}

void query_listing_nodes(struct listing *l, const struct query *q, const struct query_tree *t,
			 const uint32_t *nodes, size_t count,
			 const struct query_listing_options *options)
{
	struct filler f = make_filler(l, q, t->keys, options);

	l->is_tree = true;
	add_columns(&f);
	for (size_t i = 0; i < count; i++)
		add_node(&f, t, nodes[i]);
	release(&f);
}

size_t query_listing_tree(struct listing *l, const struct query *q, const struct query_tree *t,
			  const struct query_listing_options *options)
{
	struct filler f = make_filler(l, q, t->keys, options);
	size_t left_out = 0;

	l->is_tree = true;
	add_columns(&f);
	for (uint32_t at = t->first_root; at != QUERY_NO_NODE; at = query_tree_next(t, at)) {
		if (has_room(&f))
			add_node(&f, t, at);
		else
			left_out++;
	}
	release(&f);
	return left_out;
}
