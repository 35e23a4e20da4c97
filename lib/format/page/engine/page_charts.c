/* SPDX-License-Identifier: MIT */
#include "lib/format/page/engine/page_engine.h"
#include "lib/query/code_places.h"
#include "lib/query/marker_rows.h"
#include "lib/query/timeline.h"

/* Data of single views: stacks over time, markers, and addresses of instructions. */

/* The script reads spans by this size. */
_Static_assert(sizeof(struct stack_span) == 32, "key, depth, stack, padding, from, until");

static struct stack_chart chart;

/* Makes the chart of a thread; returns the number of spans, for page_spans(). */
uint32_t EXPORT(page_stack_chart)(uint32_t thread, double from, double until, uint32_t bins)
{
	struct stack_chart_options options = {
		.thread = thread,
		.from = (uint64_t)from,
		.until = (uint64_t)until,
		.bins = bins,
	};

	stack_chart_release(&chart);
	if (thread >= engine.profile->threads.rows.count || !bins || !(until >= from + 1))
		return 0;
	options.keys = engine_keys(QUERY_BY_FUNCTION);
	if (stack_chart_make(&chart, engine.profile, &engine.filter, &options, &engine.err))
		return 0;
	return (uint32_t)chart.spans.count;
}

const void *EXPORT(page_spans)(void)
{
	return chart.spans.items;
}

/* Lists the shown frames of a stack, the innermost first; returns the number, for page_frames(). */
static VEC(stack_id) frames;

uint32_t EXPORT(page_stack)(uint32_t stack)
{
	vec_clear(&frames);
	if (stack >= engine.profile->stacks.rows.count)
		return 0;
	if (!engine.query.is_shown[stack])
		stack = engine.query.parents[stack];
	for (; stack != NO_STACK; stack = engine.query.parents[stack])
		vec_push(&frames, stack);
	return (uint32_t)frames.count;
}

const void *EXPORT(page_frames)(void)
{
	return frames.items;
}

/* Returns the key of a stack's innermost frame. */
uint32_t EXPORT(page_stack_key)(unsigned int by, uint32_t stack)
{
	return engine_keys(by)->of_stacks[stack];
}

static struct marker_rows markers;

/* Lists the markers of the selection's threads and time; returns how many there are. */
uint32_t EXPORT(page_markers)(void)
{
	marker_rows_release(&markers);
	marker_rows_make(&markers, engine.profile, &engine.filter);
	marker_rows_join(&markers, engine.profile);
	return (uint32_t)markers.list.count;
}

/* Columns of all markers, for charts. */
struct marker_column {
	uint32_t thread, name; /* name: string_id */
	uint32_t whole, padding; /* row of the same wait, see marker_rows_join() */
	double start, duration;
};

/* The script reads columns by this size. */
_Static_assert(sizeof(struct marker_column) == 32, "thread … padding, start, duration");

const struct marker_column *EXPORT(page_marker_columns)(void)
{
	static struct marker_column *columns;
	const struct profile *p = engine.profile;

	free(columns);
	columns = xcalloc(markers.list.count + 1, sizeof(*columns));
	for (size_t i = 0; i < markers.list.count; i++) {
		const struct marker_row *row = &markers.list.items[i];

		columns[i] = (struct marker_column){
			.thread = (uint32_t)(row->thread - p->threads.rows.items),
			.name = row->marker->name,
			.whole = (uint32_t)row->whole,
			.start = since_start(row->marker->start),
			.duration = (double)(row->marker->end - row->marker->start),
		};
	}
	return columns;
}

const char *EXPORT(page_marker_name)(uint32_t name)
{
	return engine_shown(strings_get(&engine.profile->strings, name), 4);
}

struct shown_marker {
	const char *name, *fields;
	uint32_t thread, cause; /* cause: stack or NO_STACK */
	uint32_t waker, padding; /* waker: thread or NO_THREAD */
	double start, duration; /* ns; start is relative to the profile's start */
};

const struct shown_marker *EXPORT(page_marker)(uint32_t id)
{
	static struct shown_marker shown;
	const struct profile *p = engine.profile;
	const struct marker_row *row;
	char *fields;

	if (id >= markers.list.count)
		return NULL;
	row = &markers.list.items[id];
	fields = marker_fields_text(p, row->marker);
	shown = (struct shown_marker){
		.name = engine_shown(strings_get(&p->strings, row->marker->name), 4),
		.fields = engine_shown(fields ? fields : "", 5),
		.thread = (uint32_t)(row->thread - p->threads.rows.items),
		.cause = marker_cause(&p->markers, row->marker),
		.waker = marker_waker(p, row->marker),
		.start = since_start(row->marker->start),
		.duration = (double)(row->marker->end - row->marker->start),
	};
	free(fields);
	return &shown;
}

/* Functions of machine code: where the server of prof view finds their instructions. */

/* The script reads places by these sizes. */
_Static_assert(sizeof(struct code_place) == 32, "rva, self, total, stamp");

static struct code_functions functions;

/* Finds functions by name, else those into which it is inlined. Returns their number. */
uint32_t EXPORT(page_code_functions)(const char *name)
{
	code_functions_release(&functions);
	code_functions_find(&functions, &engine.query, name);
	if (!functions.list.count) {
		code_functions_release(&functions);
		code_functions_find_callers(&functions, &engine.query, name);
	}
	return (uint32_t)functions.list.count;
}

struct code_function {
	const char *name; /* escaped */
	const char *module; /* unescaped */
	const char *build_id; /* "" if unknown */
	const struct code_place *places;
	uint32_t place_count, padding;
	uint64_t start, size; /* start is an RVA, size is in bytes */
};

/* Returns a function of the last search; valid until the next call. */
const struct code_function *EXPORT(page_code_function)(uint32_t i)
{
	static struct code_function shown;
	static char build_id[MODULE_BUILD_ID_TEXT];
	const struct profile *p = engine.profile;
	const struct code_places *places;
	const struct symbol *symbol;

	if (i >= functions.list.count)
		return NULL;
	places = &functions.list.items[i];
	symbol = &p->symbols.rows.items[places->symbol];
	module_build_id_text(&p->modules.rows.items[symbol->module], build_id);
	shown = (struct code_function){
		.name = engine_shown(strings_get(&p->strings, symbol->name), 6),
		.module = strings_get(&p->strings, p->modules.rows.items[symbol->module].name),
		.build_id = build_id,
		.places = places->list.items,
		.place_count = (uint32_t)places->list.count,
		.start = symbol->rva,
		.size = code_places_size(places, p),
	};
	return &shown;
}
