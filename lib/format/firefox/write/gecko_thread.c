/* SPDX-License-Identifier: MIT */
/* A thread with its tables: rows are numbered as samples and markers ask for them. */
#include <inttypes.h>
#include <stdio.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/format/firefox/write/gecko_internal.h"

/* Most rows that a sample becomes: heavier ones lose the rest of their weight. */
#define REPEAT_MAX 100000

void gecko_tables_init(struct gecko *g)
{
	size_t count = g->profile->stacks.rows.count;

	g->categories = categories_of_frames(g->profile);
	for (size_t i = 0; i < 2; i++)
		g->stack_rows[i] = xcalloc(count + 1, sizeof(**g->stack_rows));
}

void gecko_tables_release(struct gecko *g)
{
	free(g->categories);
	free(g->stack_rows[0]);
	free(g->stack_rows[1]);
	strings_release(&g->strings);
	vec_release(&g->string_rows);
	vec_release(&g->thread_strings);
	vec_release(&g->stacks);
	vec_release(&g->path);
}

uint32_t gecko_string(struct gecko *g, const char *text)
{
	string_id id = strings_intern(&g->strings, text);
	struct gecko_row *row;

	if (id >= g->string_rows.count)
		(void)vec_add_zeroed(&g->string_rows, id + 1 - g->string_rows.count);
	row = &g->string_rows.items[id];
	if (row->thread != g->thread) {
		*row = (struct gecko_row){g->thread, (uint32_t)g->thread_strings.count};
		vec_push(&g->thread_strings, id);
	}
	return row->row;
}

/* A stack's callers come before it. */
uint32_t gecko_stack(struct gecko *g, stack_id stack, bool is_caller)
{
	const struct stack *stacks = g->profile->stacks.rows.items;

	vec_clear(&g->path);
	for (stack_id at = stack; at != NO_STACK; at = stacks[at].parent) {
		bool is_outer = at != stack || is_caller;

		if (g->stack_rows[is_outer][at].thread == g->thread)
			break;
		vec_push(&g->path, at);
	}
	while (g->path.count) {
		stack_id at = g->path.items[--g->path.count];
		bool is_outer = at != stack || is_caller;

		g->stack_rows[is_outer][at] = (struct gecko_row){g->thread,
								 (uint32_t)g->stacks.count};
		vec_push(&g->stacks, 2 * at + is_outer);
	}
	return g->stack_rows[is_caller][stack].row;
}

/* "name (file:line:column)", "name (in library)", an address, or a name alone. */
static void add_location(const struct gecko *g, const struct frame *frame, bool is_caller,
			 struct strbuf *out)
{
	const struct profile *p = g->profile;
	const struct func *func = frame->func == NO_FUNC ? NULL : &p->funcs.rows.items[frame->func];
	bool has_name = func && strings_size(&p->strings, func->name);
	bool has_address = frame->module != NO_MODULE || !has_name;

	if (has_address && !(has_name && func->is_named)) {
		strbuf_addf(out, "0x%" PRIx64,
			    gecko_address(g, frame) + (is_caller && frame->module != NO_MODULE));
		return;
	}
	strbuf_adds(out, strings_get(&p->strings, func->name));
	if (func->is_js && func->file != NO_SOURCE_FILE && func->line) {
		strbuf_addf(out, " (%s:%u",
			    strings_get(&p->strings, p->source_files.rows.items[func->file].path),
			    func->line);
		if (func->column)
			strbuf_addf(out, ":%u", func->column);
		strbuf_addch(out, ')');
	} else if (func->module != NO_MODULE) {
		strbuf_addf(out, " (in %s)",
			    strings_get(&p->strings, p->modules.rows.items[func->module].name));
	}
}

/* Each row of stacks has a frame of its own. */
static void write_frame(struct gecko *g, struct jsonw *w, uint32_t stack)
{
	const struct profile *p = g->profile;
	frame_id id = p->stacks.rows.items[stack / 2].frame;
	const struct frame *frame = frames_get(&p->frames, id);
	const struct frame_category *category = &g->categories[id];
	_cleanup_(strbuf_release) struct strbuf location = {0};

	add_location(g, frame, stack % 2, &location);
	jsonw_array_begin(w);
	jsonw_u64(w, gecko_string(g, strbuf_text(&location)));
	jsonw_bool(w, false);
	jsonw_u64(w, 0);
	jsonw_null(w);
	if (frame->line)
		jsonw_u64(w, frame->line);
	else
		jsonw_null(w);
	jsonw_null(w);
	if (category->category == CATEGORY_OF_CALLER) {
		jsonw_null(w);
		jsonw_null(w);
	} else {
		jsonw_u64(w, category->category);
		jsonw_u64(w, category->subcategory);
	}
	jsonw_array_end(w);
}

static void write_tables(struct gecko *g, struct jsonw *w)
{
	static const char *const frame_names[] = {
		"location",	  "relevantForJS", "innerWindowID",
		"implementation", "line",	   "column",
		"category",	  "subcategory",   NULL};
	static const char *const stack_names[] = {"prefix", "frame", NULL};
	const struct stack *stacks = g->profile->stacks.rows.items;

	jsonw_key(w, "frameTable");
	jsonw_object_begin(w);
	gecko_schema(w, frame_names);
	jsonw_array_begin(w);
	vec_for_each(&g->stacks, const uint32_t *, stack)
		write_frame(g, w, *stack);
	jsonw_array_end(w);
	jsonw_object_end(w);
	jsonw_key(w, "stackTable");
	jsonw_object_begin(w);
	gecko_schema(w, stack_names);
	jsonw_array_begin(w);
	for (uint32_t row = 0; row < g->stacks.count; row++) {
		stack_id parent = stacks[g->stacks.items[row] / 2].parent;

		jsonw_array_begin(w);
		if (parent == NO_STACK)
			jsonw_null(w);
		else
			jsonw_u64(w, g->stack_rows[1][parent].row);
		jsonw_u64(w, row);
		jsonw_array_end(w);
	}
	jsonw_array_end(w);
	jsonw_object_end(w);
	jsonw_key(w, "stringTable");
	jsonw_array_begin(w);
	vec_for_each(&g->thread_strings, const string_id *, id)
		jsonw_string(w, strings_get(&g->strings, *id), strings_size(&g->strings, *id));
	jsonw_array_end(w);
}

static void write_sample(struct gecko *g, struct jsonw *w, const struct sample *sample,
			 uint32_t cpu_delta)
{
	jsonw_array_begin(w);
	if (sample->stack == NO_STACK)
		jsonw_null(w);
	else
		jsonw_u64(w, gecko_stack(g, sample->stack, false));
	jsonw_ms(w, gecko_time(g, sample->time));
	jsonw_u64(w, 0);
	jsonw_u64(w, cpu_delta);
	jsonw_array_end(w);
}

static void write_samples(struct gecko *g, struct jsonw *w, const struct profile_thread *thread)
{
	static const char *const names[] = {"stack", "time", "eventDelay", "threadCPUDelta", NULL};

	jsonw_key(w, "samples");
	jsonw_object_begin(w);
	gecko_schema(w, names);
	jsonw_array_begin(w);
	samples_for_each(&thread->samples, sample) {
		uint32_t weight = sample->weight < REPEAT_MAX ? sample->weight : REPEAT_MAX;

		if (sample->event)
			continue;
		write_sample(g, w, sample, sample->cpu_delta);
		for (uint32_t i = 1; i < weight; i++)
			write_sample(g, w, sample, 0);
	}
	jsonw_array_end(w);
	jsonw_object_end(w);
}

static void write_life(const struct gecko *g, struct jsonw *w, const struct profile_thread *thread)
{
	jsonw_key(w, "registerTime");
	jsonw_ms(w, gecko_time(g, thread->start));
	jsonw_key(w, "unregisterTime");
	if (thread->end)
		jsonw_ms(w, gecko_time(g, thread->end));
	else
		jsonw_null(w);
}

void gecko_write_thread(struct gecko *g, struct jsonw *w, const struct profile_thread *thread)
{
	const struct strings *strings = &g->profile->strings;
	char pid[32];

	g->thread++;
	vec_clear(&g->thread_strings);
	vec_clear(&g->stacks);
	jsonw_object_begin(w);
	gecko_key_string(w, "name", strings_get(strings, thread->name));
	gecko_key_string(w, "processName", strings_get(strings, thread->process_name));
	gecko_key_string(w, "processType", thread->pid == g->first->pid ? "default" : "process");
	jsonw_key(w, "pid");
	snprintf(pid, sizeof(pid), "%u.%u", thread->pid, thread->incarnation);
	if (thread->incarnation)
		jsonw_cstring(w, pid);
	else
		jsonw_u64(w, thread->pid);
	jsonw_key(w, "tid");
	jsonw_u64(w, thread->tid);
	write_life(g, w, thread);
	write_samples(g, w, thread);
	gecko_write_markers(g, w, thread);
	/* All rows are known now. */
	write_tables(g, w);
	jsonw_object_end(w);
}
