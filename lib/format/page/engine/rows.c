/* SPDX-License-Identifier: MIT */
/* Tables and trees of the present selection. */
#include <errno.h>

#include "lib/base/alloc.h"
#include "lib/format/page/engine/engine.h"
#include "lib/query/pattern.h"

/* The script reads rows by these sizes. */
_Static_assert(sizeof(struct query_row) == 24, "key, line, self, total");
_Static_assert(sizeof(struct query_node) == 40, "key … stack, self, total");

static struct query_table table;
static struct query_tree kept; /* the plain one by function; others come and go */
static struct query_tree other;
static const struct query_tree *tree; /* the last one asked for */

/* Returns the number of rows; page_rows() has them. */
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

/* Makes the kept tree anew only where other frames are shown. */
static void weigh_kept(const struct query_tree_options *options)
{
	static uint32_t shape;

	if (shape == engine.shape) {
		query_tree_weigh(&kept, &engine.query, options->min_weight);
		return;
	}
	shape = engine.shape;
	query_tree_release(&kept);
	query_tree_make(&kept, &engine.query, options);
}

/*
 * Returns the first root, or QUERY_NO_NODE; page_nodes() has them. `function` is that of trees of
 * callers or callees.
 */
uint32_t EXPORT(page_tree)(unsigned int by, unsigned int kind, const char *function,
			   double min_weight)
{
	const struct query_tree_options options = {
		.by = by,
		.kind = kind,
		.function = function,
		.min_weight = (uint64_t)min_weight,
		.keys = engine_keys(by),
	};

	if (by == QUERY_BY_FUNCTION && kind == QUERY_TREE_PLAIN) {
		weigh_kept(&options);
		tree = &kept;
	} else {
		query_tree_release(&other);
		query_tree_make(&other, &engine.query, &options);
		tree = &other;
	}
	return tree->first_root;
}

const void *EXPORT(page_nodes)(void)
{
	return tree->nodes.items;
}

uint32_t EXPORT(page_node_count)(void)
{
	return (uint32_t)tree->nodes.count;
}

int EXPORT(page_tree_is_cut)(void)
{
	return tree->is_cut;
}

/* The contents of a key; texts are "" if it says nothing. */
struct shown_key {
	const char *function, *module, *file, *category, *process, *thread;
	uint32_t line, pid, incarnation, tid;
	uint32_t processes;
	uint32_t has_frame; /* it is that of a frame, though nothing may be known */
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

/* Returns the function as it is, for filters. */
const char *EXPORT(page_key_function)(unsigned int by, uint32_t id)
{
	const struct query_keys *k = engine_keys(by);

	return id < k->rows.count ? query_keys_text(k, k->rows.items[id].function) : "";
}

/* Kinds of frames that a picture tells apart. */
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
	frame = &p->frames.rows.items[p->stacks.rows.items[stack].frame];
	if (frame->kind == PROFILE_FRAME_GUESS)
		marks |= MARK_GUESSED;
	if (frame->func == NO_FUNC || !p->funcs.rows.items[frame->func].is_named)
		marks |= MARK_UNNAMED;
	if (frame->inline_depth)
		marks |= MARK_INLINED;
	return engine.query.categories[stack].category | marks << 8;
}

/* Returns the weight of stacks with a function that was marked by the last search. */
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

/* By key: 1 if the function's name matches; NULL: the expression is wrong, see page_error(). */
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
