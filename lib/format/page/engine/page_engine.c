/* SPDX-License-Identifier: MIT */
#include "lib/format/page/engine/page_engine.h"

#include <math.h>

#include "lib/format/page/slab/slab.h"
#include "lib/model/meaning/origin.h"
#include "lib/path/path_weights.h"
#include "lib/query/pattern.h"
#include "lib/query/summary.h"
#include "lib/query/table.h"
#include "lib/query/timeline.h"
#include "lib/query/tree.h"

/* Tables and trees of the present selection. */

/* The script assumes this size and order. */
_Static_assert(sizeof(struct query_row) == 24, "key, line, self, total");
_Static_assert(sizeof(struct query_node) == 40, "key … stack, self, total");

static struct query_table table;
static struct query_tree tree; /* last tree requested */
static VEC(struct query_node) linked; /* its nodes that are heavy enough, parents first */
static VEC(uint32_t) numbers; /* of these nodes in the tree */

/* Returns the number of rows, for page_rows(). */
uint32_t EXPORT(page_table)(unsigned int by)
{
	if (by >= QUERY_BY_COUNT)
		return 0;
	query_table_release(&table);
	query_table_make(&table, &engine.query, by, engine_keys(by));
	return (uint32_t)table.rows.count;
}

const void *EXPORT(page_rows)(void)
{
	return table.rows.items;
}

/* Copies a node and its next siblings; returns the number of the first. */
static uint32_t link_siblings(uint32_t node, uint32_t parent)
{
	uint32_t first = (uint32_t)linked.count;

	if (node == QUERY_NO_NODE)
		return node;
	for (; node != QUERY_NO_NODE; node = tree.nodes.items[node].next_sibling) {
		struct query_node copy = tree.nodes.items[node];

		copy.parent = parent;
		if (copy.next_sibling != QUERY_NO_NODE)
			copy.next_sibling = (uint32_t)linked.count + 1;
		vec_push(&linked, copy);
		vec_push(&numbers, node);
	}
	return first;
}

/* Leaves out nodes that are too light, of which there may be a hundred times as many. */
static uint32_t link_tree(void)
{
	uint32_t root;

	vec_clear(&linked);
	vec_clear(&numbers);
	root = link_siblings(tree.first_root, QUERY_NO_NODE);
	for (uint32_t i = 0; i < linked.count; i++) {
		uint32_t child = tree.nodes.items[numbers.items[i]].first_child;

		child = link_siblings(child, i);
		linked.items[i].first_child = child;
	}
	return root;
}

/*
 * Returns the first root, or QUERY_NO_NODE, for page_nodes(). `function` is the subject of trees of
 * callers or callees.
 */
uint32_t EXPORT(page_tree)(unsigned int by, unsigned int kind, const char *function,
			   double min_share)
{
	const struct query_tree_options options = {
		.by = by,
		.kind = kind,
		.function = function,
		.min_share = min_share,
		.keys = engine_keys(by),
	};

	query_tree_release(&tree);
	query_tree_make(&tree, &engine.query, &options);
	return link_tree();
}

const void *EXPORT(page_nodes)(void)
{
	return linked.items;
}

uint32_t EXPORT(page_node_count)(void)
{
	return (uint32_t)linked.count;
}

int EXPORT(page_tree_is_cut)(void)
{
	return tree.is_cut;
}

/* The contents of a key; unknown strings are "". */
struct shown_key {
	const char *function, *module, *file, *category, *process, *thread;
	uint32_t line, pid, incarnation, tid;
	uint32_t processes;
	uint32_t has_frame; /* the key belongs to a frame, possibly unknown */
	uint64_t address;
};

static const char *key_text(const struct query_keys *k, string_id id, unsigned int buffer)
{
	return engine_shown(query_keys_text(k, id), buffer);
}

const struct shown_key *EXPORT(page_key)(unsigned int by, uint32_t id)
{
	static struct shown_key shown;
	const struct query_keys *k = engine_keys(by);
	const struct query_key *key;

	if (id >= k->rows.count)
		return NULL;
	key = &k->rows.items[id];
	shown = (struct shown_key){
		.function = key_text(k, key->function, 0),
		.module = key_text(k, key->module, 1),
		.file = key_text(k, key->file, 2),
		.category = key_text(k, key->category, 3),
		.process = key_text(k, key->process, 4),
		.thread = key_text(k, key->thread, 5),
		.line = key->line,
		.pid = key->pid,
		.incarnation = key->incarnation,
		.tid = key->tid,
		.processes = k->processes ? k->processes[id] : 0,
		.has_frame = key->function != NO_STRING || key->module != NO_STRING,
		.address = key->address,
	};
	return &shown;
}

uint32_t EXPORT(page_key_count)(unsigned int by)
{
	return (uint32_t)engine_keys(by)->rows.count;
}

/* Returns the function's unescaped name, for filters. */
const char *EXPORT(page_key_function)(unsigned int by, uint32_t id)
{
	const struct query_keys *k = engine_keys(by);

	return id < k->rows.count ? query_keys_text(k, k->rows.items[id].function) : "";
}

/* Properties of frames that graphs distinguish. */
enum frame_mark {
	MARK_GUESSED = 1 << 0,
	MARK_UNNAMED = 1 << 1,
	MARK_INLINED = 1 << 2,
};

/* Returns the category of a stack's innermost frame in the low byte, then its marks. */
uint32_t EXPORT(page_frame_marks)(uint32_t stack)
{
	const struct profile *p = engine.profile;
	const struct frame *frame;
	uint32_t marks = 0;

	if (stack >= p->stacks.rows.count)
		return 0;
	frame = profile_frame_of(p, stack);
	if (frame->kind == PROFILE_FRAME_GUESS)
		marks |= MARK_GUESSED;
	if (!profile_frame_is_named(p, frame))
		marks |= MARK_UNNAMED;
	if (frame->inline_depth)
		marks |= MARK_INLINED;
	return engine.query.categories[stack].category | marks << 8;
}

/* Returns the weight of stacks with a function marked by the last search. */
double EXPORT(page_search_weight)(unsigned int by, const uint8_t *marks)
{
	const struct query *q = &engine.query;
	const struct query_keys *k = engine_keys(by);
	size_t count = engine.profile->stacks.rows.count;
	bool *is_within = xcalloc(count + 1, sizeof(*is_within));
	double weight = 0;

	for (stack_id id = 0; id < count; id++) {
		stack_id parent = q->parents[id];

		is_within[id] = (q->is_shown[id] && marks[k->of_stacks[id]]) ||
				(parent != NO_STACK && is_within[parent]);
		if (is_within[id])
			weight += (double)q->weights[id];
	}
	free(is_within);
	return weight;
}

/*
 * Returns, by key, 1 if the function's name matches; NULL for an invalid expression, see
 * page_error().
 */
const uint8_t *EXPORT(page_search)(unsigned int by, const char *expression)
{
	static uint8_t *marks;
	const struct query_keys *k = engine_keys(by);
	regex_t regex;

	if (pattern_compile(&regex, NULL, expression, &engine.err))
		return NULL;
	free(marks);
	marks = xcalloc(k->rows.count + 1, 1);
	for (uint32_t i = 0; i < k->rows.count; i++)
		marks[i] = k->rows.items[i].function != NO_STRING &&
			   !regexec(&regex, query_keys_text(k, k->rows.items[i].function), 0, NULL,
				    0);
	regfree(&regex);
	return marks;
}

/* Threads over time, and the profile's metadata. */

uint32_t EXPORT(page_thread_count)(void)
{
	return (uint32_t)engine.profile->threads.rows.count;
}

struct shown_thread {
	const char *title, *process, *whole; /* see titles.h */
	uint32_t pid, incarnation, tid;
	double start, end; /* times since the profile's start; end 0: unknown */
	double weight; /* weight in the current selection */
};

double since_start(uint64_t time)
{
	return (double)profile_since_start(engine.profile, time);
}

const struct shown_thread *EXPORT(page_thread)(uint32_t id)
{
	static struct shown_thread shown;
	const struct profile *p = engine.profile;
	const struct profile_thread *thread;
	char *whole;

	if (id >= p->threads.rows.count)
		return NULL;
	whole = thread_title_whole(&engine.titles, id);
	thread = &p->threads.rows.items[id];
	shown = (struct shown_thread){
		.title = engine_shown(thread_title(&engine.titles, id), 0),
		.process = engine_shown(process_title(&engine.titles, id), 1),
		.whole = engine_shown(whole, 2),
		.pid = thread->pid,
		.incarnation = thread->incarnation,
		.tid = thread->tid,
		.start = since_start(thread->start),
		.end = thread->end ? since_start(thread->end) : 0,
		.weight = (double)engine.query.thread_weights[id],
	};
	free(whole);
	return &shown;
}

double EXPORT(page_thread_weight)(uint32_t id)
{
	return id < engine.profile->threads.rows.count ? (double)engine.query.thread_weights[id]
						       : 0;
}

/* Returns the outermost or innermost function of the user's own code in the stack; NULL: none. */
static const char *own_function(stack_id stack, bool is_innermost)
{
	static uint8_t *origins;
	const struct profile *p = engine.profile;
	func_id entry = NO_FUNC;

	if (!origins)
		origins = origins_of_frames(p);
	for (; stack != NO_STACK && !(is_innermost && entry != NO_FUNC);
	     stack = p->stacks.rows.items[stack].parent) {
		frame_id frame = p->stacks.rows.items[stack].frame;
		func_id func = p->frames.rows.items[frame].func;

		if (func != NO_FUNC && origins[frame] == ORIGIN_OWN &&
		    p->funcs.rows.items[func].is_named)
			entry = func;
	}
	return entry == NO_FUNC ? NULL : strings_get(&p->strings, p->funcs.rows.items[entry].name);
}

/* Returns the function of the user's own code that a thread runs; "": unknown. */
const char *EXPORT(page_thread_entry)(uint32_t id)
{
	const struct profile *p = engine.profile;
	const char *entry = NULL;
	int tries = 64;

	if (id >= p->threads.rows.count)
		return "";
	samples_for_each(&p->threads.rows.items[id].samples, sample) {
		if (sample->stack != NO_STACK)
			entry = own_function(sample->stack, false);
		if (entry || !--tries)
			break;
	}
	return engine_shown(entry ? entry : "", 0);
}

/* Returns the innermost function of the user's own code; "": none. */
const char *EXPORT(page_own_function)(uint32_t stack)
{
	const char *name = NULL;

	if (stack < engine.profile->stacks.rows.count)
		name = own_function(stack, true);
	return engine_shown(name ? name : "", 0);
}

struct shown_sample {
	stack_id stack;
	uint32_t padding;
	double time;
};

/* Takes the sample if it is selected, and nearer to the time than the one that is shown. */
static void take_nearer(struct shown_sample *shown, const struct sample *sample, double time)
{
	const struct query *q = &engine.query;
	double at = since_start(sample->time);
	stack_id stack = sample->stack;

	if (sample->event != q->event || !sample->weight || stack == NO_STACK ||
	    at < (double)engine.filter.from || at >= (double)engine.filter.until ||
	    fabs(at - time) >= fabs(shown->time - time))
		return;
	if (!engine.filter.include_idle && !engine.filter.category &&
	    query_wait_of(q, stack) != QUERY_RUNS)
		return;
	*shown = (struct shown_sample){.stack = stack, .time = at};
}

/* Returns the selected sample of a thread that is nearest to a time; NULL: it has none. */
const struct shown_sample *EXPORT(page_sample_at)(uint32_t thread, double time)
{
	static struct shown_sample shown;
	const struct query *q = &engine.query;

	if (thread >= q->profile->threads.rows.count)
		return NULL;
	shown = (struct shown_sample){.stack = NO_STACK, .time = HUGE_VAL};
	samples_for_each(&q->profile->threads.rows.items[thread].samples, sample)
		take_nearer(&shown, sample, time);
	allocators_for_each(&q->allocators, thread, row) {
		const struct sample sample = query_allocation_sample(q, row->allocation);

		take_nearer(&shown, &sample, time);
	}
	return shown.stack == NO_STACK ? NULL : &shown;
}

uint32_t EXPORT(page_timeline_kinds)(void)
{
	return query_timeline_kinds(&engine.query);
}

/* Returns the times of a thread, or of all: see struct query_timeline. */
const float *EXPORT(page_timeline)(uint32_t thread, double from, double until, uint32_t bins)
{
	static struct query_timeline timeline;

	if ((thread >= engine.profile->threads.rows.count && thread != NO_THREAD) || !bins ||
	    !(until >= from + 1))
		return NULL;
	query_timeline_release(&timeline);
	timeline.from = (uint64_t)from;
	timeline.until = (uint64_t)until;
	timeline.bins = bins;
	query_timeline_make(&timeline, &engine.query, thread);
	return timeline.times;
}

/* Returns the kinds of markers in each part of a time: see query_timeline_marks(). */
const uint8_t *EXPORT(page_timeline_marks)(uint32_t thread, double from, double until,
					   uint32_t bins)
{
	static uint8_t *marks;
	struct query_timeline timeline;

	if (!bins || !(until >= from + 1))
		return NULL;
	timeline = (struct query_timeline){
		.from = (uint64_t)from, .until = (uint64_t)until, .bins = bins};
	free(marks);
	marks = query_timeline_marks(&timeline, engine.profile, thread);
	return marks;
}

uint32_t EXPORT(page_counter_count)(void)
{
	return (uint32_t)engine.profile->counters.rows.count;
}

struct shown_counter {
	const char *name, *unit, *description;
	uint32_t pid, is_level, count;
};

const struct shown_counter *EXPORT(page_counter)(uint32_t id)
{
	static struct shown_counter shown;
	const struct profile *p = engine.profile;
	const struct counter *counter;
	string_id name;

	if (id >= p->counters.rows.count)
		return NULL;
	counter = &p->counters.rows.items[id];
	name = counter->label == NO_STRING ? counter->name : counter->label;
	shown = (struct shown_counter){
		.name = engine_shown(strings_get(&p->strings, name), 0),
		.unit = engine_shown(strings_get(&p->strings, counter->unit), 1),
		.description = engine_shown(strings_get(&p->strings, counter->description), 2),
		.pid = counter->pid,
		.is_level = counter->graph == COUNTER_LEVEL,
		.count = (uint32_t)counter->samples.count,
	};
	return &shown;
}

/* Returns the values of a counter in each part of a time: see query_timeline_counter(). */
const double *EXPORT(page_counter_values)(uint32_t id, double from, double until, uint32_t bins)
{
	static double *values;
	struct query_timeline timeline;

	if (id >= engine.profile->counters.rows.count || !bins || !(until >= from + 1))
		return NULL;
	timeline = (struct query_timeline){
		.from = (uint64_t)from, .until = (uint64_t)until, .bins = bins};
	free(values);
	values = query_timeline_counter(&timeline, engine.profile, id);
	return values;
}

uint32_t EXPORT(page_category_count)(void)
{
	return (uint32_t)engine.profile->categories.count;
}

const char *EXPORT(page_category)(uint32_t id)
{
	return engine_shown(category_name(engine.profile, (uint8_t)id), 0);
}

const char *EXPORT(page_category_color)(uint32_t id)
{
	return id < engine.profile->categories.count ? engine.profile->categories.items[id].color
						     : "";
}

/* Returns true if code of a language is in the profile, and this is its category. */
int EXPORT(page_category_is_language)(uint32_t id)
{
	const struct profile *p = engine.profile;

	if (query_language(category_name(p, (uint8_t)id)) == LANGUAGE_NONE)
		return false;
	vec_for_each(&p->frames.rows, const struct frame *, frame) {
		if (frame->category == id)
			return true;
	}
	return false;
}

/*
 * Returns a row of the information about the recording: section, label, value, format; NULL at the
 * end.
 */
const char *EXPORT(page_fact)(uint32_t id, unsigned int which)
{
	const struct profile_meta *meta = &engine.profile->meta;
	const struct profile_extra *row;

	if (id >= meta->extra.count)
		return NULL;
	row = &meta->extra.items[id];
	switch (which) {
	case 0:
		return engine_shown(row->section, 0);
	case 1:
		return engine_shown(row->label, 1);
	case 2:
		return engine_shown(row->value, 2);
	default:
		return row->format;
	}
}

/* Returns a string of struct profile_meta, in the order of META_TEXTS. */
const char *EXPORT(page_meta)(unsigned int which)
{
	const struct profile_meta *meta = &engine.profile->meta;
	const char *const texts[] = {
#define META_TEXT(member) meta->member,
		META_TEXTS
#undef META_TEXT
	};

	if (which >= sizeof(texts) / sizeof(texts[0]) || !texts[which])
		return "";
	return engine_shown(texts[which], 3);
}

/* Returns the text of a source file with that path, NULL: of any; NULL if the profile has none. */
const char *EXPORT(page_source)(const char *path)
{
	const struct profile *p = engine.profile;

	vec_for_each(&p->source_files.rows, const struct source_file *, row) {
		if (row->text && (!path || !strcmp(strings_get(&p->strings, row->path), path)))
			return row->text;
	}
	return NULL;
}

/* Reads the profile, and selects samples of it. */

struct engine engine = {.filter = {.until = UINT64_MAX}};

static struct slab_reader *reader;

struct query_keys *engine_keys(enum query_by by)
{
	if (!engine.keys[by]) {
		engine.keys[by] = xcalloc(1, sizeof(*engine.keys[by]));
		query_keys_make(engine.keys[by], &engine.query, by);
	}
	return engine.keys[by];
}

const char *engine_shown(const char *text, unsigned int buffer)
{
	static char *buffers[ENGINE_BUFFERS];

	free(buffers[buffer]);
	buffers[buffer] = xstrdup(text);
	text_to_line(buffers[buffer]);
	return buffers[buffer];
}

void *EXPORT(page_alloc)(size_t size)
{
	return xmalloc(size);
}

void EXPORT(page_free)(void *p)
{
	free(p);
}

/* Returns the message of the last failure. */
const char *EXPORT(page_error)(void)
{
	return engine.err.text;
}

/* Reads the next part of the profile. Returns 0 or the number of an error. */
int EXPORT(page_read)(const void *data, size_t size)
{
	if (!reader)
		reader = slab_reader_new();
	return slab_read(reader, data, size, &engine.err);
}

/* Ends reading after the last block. */
int EXPORT(page_open)(void)
{
	int ret = slab_reader_take(reader, &engine.profile, &engine.err);

	if (ret)
		return ret;
	path_weights_add(engine.profile);
	thread_titles_find(&engine.titles, engine.profile);
	engine.threads = xcalloc(engine.profile->threads.rows.count + 1, sizeof(bool));
	return 0;
}

/* Sets a string of the filter, in the order of struct query_filter. NULL: no condition. */
int EXPORT(page_filter_text)(unsigned int which, const char *text)
{
	const char **texts[] = {
		&engine.filter.process,	 &engine.filter.thread, &engine.filter.event,
		&engine.filter.category, &engine.filter.during, &engine.filter.focus,
		&engine.filter.ignore,	 &engine.filter.hide,	&engine.filter.root,
		&engine.filter.language,
	};

	if (which >= sizeof(texts) / sizeof(texts[0]))
		return -EINVAL;
	free((char *)*texts[which]);
	*texts[which] = text ? xstrdup(text) : NULL;
	return 0;
}

void EXPORT(page_filter_rest)(double from, double until, int no_kernel, int fold_recursion,
			      int include_idle, int own)
{
	engine.filter.from = from > 0 ? (uint64_t)from : 0;
	engine.filter.until = until < 1.8e19 ? (uint64_t)until : UINT64_MAX;
	engine.filter.no_kernel = no_kernel;
	engine.filter.fold_recursion = fold_recursion;
	engine.filter.include_idle = include_idle;
	engine.filter.own = own;
}

/*
 * Returns a byte per thread, in which the script marks selected threads; ignored unless `is_used`.
 */
bool *EXPORT(page_filter_threads)(int is_used)
{
	engine.filter.threads = is_used ? engine.threads : NULL;
	return engine.threads;
}

int EXPORT(page_select)(void)
{
	int ret;

	if (engine.is_selected)
		query_release(&engine.query);
	ret = query_select(&engine.query, engine.profile, &engine.filter, &engine.err);
	engine.is_selected = !ret;
	return ret;
}

/* Returns the profile's length, ns. */
static double profile_length(void)
{
	const struct profile_meta *meta = &engine.profile->meta;

	return meta->end_ns > meta->start_ns ? (double)(meta->end_ns - meta->start_ns) : 0;
}

/* Events of the profile, for a menu: those with samples, then sums of allocations. */
static VEC(uint8_t) events;

static bool has_allocations(const struct profile *p, enum allocation_sum sum)
{
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		vec_for_each(&thread->allocations.rows, const struct allocation *, row) {
			if (allocation_bytes(row, sum))
				return true;
		}
	}
	return false;
}

uint32_t EXPORT(page_events)(void)
{
	const struct profile *p = engine.profile;
	size_t unseen = p->events.rows.count ? p->events.rows.count : 1;
	bool is_seen[UINT8_MAX + 1] = {0};

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		if (!unseen)
			break;
		samples_for_each(&thread->samples, sample) {
			if (!sample->weight || is_seen[sample->event])
				continue;
			is_seen[sample->event] = true;
			if (!--unseen)
				break;
		}
	}
	events.count = 0;
	for (size_t i = 0; i == 0 || i < p->events.rows.count; i++) {
		if (is_seen[i])
			vec_push(&events, (uint8_t)i);
	}
	for (int sum = 0; sum < ALLOCATION_SUM_COUNT; sum++) {
		if (has_allocations(p, sum))
			vec_push(&events, (uint8_t)(QUERY_ALLOCATIONS + (unsigned int)sum));
	}
	return (uint32_t)events.count;
}

/* Returns the name of an event; beyond the last: that of the selection. */
const char *EXPORT(page_event_name)(uint32_t i)
{
	uint8_t event = i < events.count ? events.items[i] : engine.query.event;

	return query_event_name(engine.profile, event);
}

/* Returns the name of the unit of the selection's weights. */
const char *EXPORT(page_unit)(void)
{
	return engine_shown(query_unit_name(&engine.query), 0);
}

/* Returns sums of the selection and of the profile. */
const double *EXPORT(page_totals)(void)
{
	static double totals[16];
	const struct query *q = &engine.query;
	const struct profile_meta *meta = &engine.profile->meta;
	struct query_summary s = query_summarize(q);
	double size;
	enum measure measure = query_measure(q, &size);
	const double values[] = {
		(double)q->weight,
		(double)q->samples,
		(double)q->cpu_ns,
		(double)q->no_frame,
		(double)q->waits[QUERY_IDLE],
		(double)q->waits[QUERY_BLOCKED],
		(double)q->waits[QUERY_RUNNABLE],
		(double)meta->interval_ns,
		profile_length(),
		q->event,
		s.named,
		(double)meta->start_realtime_ns,
		measure,
		size,
		meta->logical_cpus,
		!profile_fact(engine.profile, FACT_NO_TIMES, NULL),
	};

	_Static_assert(sizeof(values) == sizeof(totals), "the script knows them by number");
	memcpy(totals, values, sizeof(values));
	return totals;
}

/* Returns the first line of `prof report`. */
const char *EXPORT(page_summary)(void)
{
	struct strbuf line = {0};
	static char *text;

	free(text);
	query_summary_text(&engine.query, &line);
	text = strbuf_take(&line);
	return text;
}

/* Returns half the width of a weight's confidence interval. */
double EXPORT(page_weight_error)(double weight)
{
	return query_error(&engine.query, (uint64_t)weight);
}
