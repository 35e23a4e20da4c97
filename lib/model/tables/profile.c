/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/profile.h"

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"

struct profile *profile_new(void)
{
	return xcalloc(1, sizeof(struct profile));
}

static void categories_release(struct profile *p)
{
	vec_for_each(&p->categories, struct profile_category *, category) {
		free(category->name);
		free(category->color);
		vec_for_each(&category->subcategories, char **, name)
			free(*name);
		vec_release(&category->subcategories);
	}
	vec_release(&p->categories);
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	profile_meta_release(&p->meta);
	categories_release(p);
	strings_release(&p->strings);
	modules_release(&p->modules);
	frames_release(&p->frames);
	stacks_release(&p->stacks);
	funcs_release(&p->funcs);
	symbols_release(&p->symbols);
	source_files_release(&p->source_files);
	threads_release(&p->threads);
	markers_release(&p->markers);
	profile_counters_release(&p->counters);
	event_counts_release(&p->events);
	vec_release(&p->cpu_losses);
	free(p);
}

size_t profile_named_frames(const struct profile *p)
{
	size_t count = 0;

	vec_for_each(&p->frames.rows, const struct frame *, frame) {
		if (frame->func != NO_FUNC && p->funcs.rows.items[frame->func].is_named)
			count++;
	}
	return count;
}

bool profile_is_fde_frame(const struct profile *p, const struct frame *frame)
{
	const struct func *func = frame->func == NO_FUNC ? NULL : &p->funcs.rows.items[frame->func];

	return func && !func->is_named &&
	       strncmp(strings_get(&p->strings, func->name), "fun_", 4) == 0;
}

size_t profile_fde_frames(const struct profile *p)
{
	size_t count = 0;

	vec_for_each(&p->frames.rows, const struct frame *, frame)
		count += profile_is_fde_frame(p, frame);
	return count;
}

void profile_replace_stacks(struct profile *p, struct frames *frames, struct stacks *stacks,
			    const stack_id *map)
{
	vec_for_each(&p->threads.rows, struct profile_thread *, row) {
		samples_change_each(&row->samples, sample) {
			if (sample->stack != NO_STACK)
				sample->stack = map[sample->stack];
		}
		vec_for_each(&row->allocations.rows, struct allocation *, allocation) {
			if (allocation->stack != NO_STACK)
				allocation->stack = map[allocation->stack];
		}
	}
	vec_for_each(&p->markers.values, struct marker_value *, value) {
		if (value->type == FIELD_STACK && value->stack != NO_STACK)
			value->stack = map[value->stack];
	}
	frames_release(&p->frames);
	stacks_release(&p->stacks);
	p->frames = *frames;
	p->stacks = *stacks;
	*frames = (struct frames){0};
	*stacks = (struct stacks){0};
}

void profile_mark_marker(const struct profile *p, const struct marker *marker, bool *used)
{
	uint32_t count = schemas_get(&p->markers.schemas, marker->schema)->field_count;

	for (uint32_t i = 0; i <= count; i++) {
		const struct marker_value *value = marker_value(&p->markers, marker, i);

		if (value->type == FIELD_STACK)
			stacks_mark(&p->stacks, value->stack, used);
	}
}

void profile_mark_stacks(const struct profile *p, bool *used)
{
	vec_for_each(&p->threads.rows, const struct profile_thread *, row) {
		samples_for_each(&row->samples, sample)
			stacks_mark(&p->stacks, sample->stack, used);
		vec_for_each(&row->markers, const struct marker *, marker)
			profile_mark_marker(p, marker, used);
		vec_for_each(&row->allocations.rows, const struct allocation *, allocation)
			stacks_mark(&p->stacks, allocation->stack, used);
	}
}

/* Frames that are kept. */
struct kept_frames {
	struct frames frames;
	frame_id *map; /* by their old numbers: the new ones; NO_FRAME: not yet */
};

/* Looks each frame up once, however many stacks have it. */
static frame_id keep_frame(struct kept_frames *kept, const struct frames *from, frame_id id)
{
	if (kept->map[id] == NO_FRAME)
		kept->map[id] = frames_intern(&kept->frames, &from->rows.items[id]);
	return kept->map[id];
}

stack_id *profile_keep_stacks(struct profile *p, const bool *used)
{
	size_t count = p->stacks.rows.count, frame_count = p->frames.rows.count;
	stack_id *map = xreallocarray(NULL, count + 1, sizeof(*map));
	struct kept_frames kept = {.map = xreallocarray(NULL, frame_count + 1, sizeof(*kept.map))};
	struct stacks stacks = {0};

	for (size_t i = 0; i < frame_count; i++)
		kept.map[i] = NO_FRAME;
	for (size_t i = 0; i < count; i++) {
		const struct stack *stack = &p->stacks.rows.items[i];
		stack_id parent = stack->parent == NO_STACK ? NO_STACK : map[stack->parent];

		map[i] = NO_STACK;
		if (used[i])
			map[i] = stacks_intern(&stacks, parent,
					       keep_frame(&kept, &p->frames, stack->frame));
	}
	free(kept.map);
	profile_replace_stacks(p, &kept.frames, &stacks, map);
	return map;
}

void profile_drop_unused(struct profile *p)
{
	bool *used = xcalloc(p->stacks.rows.count + 1, sizeof(*used));

	profile_mark_stacks(p, used);
	free(profile_keep_stacks(p, used));
	free(used);
}

uint64_t profile_sample_count(const struct profile *p)
{
	uint64_t count = 0;

	vec_for_each(&p->threads.rows, const struct profile_thread *, row) {
		samples_for_each(&row->samples, sample)
			count += sample->weight != 0;
	}
	return count;
}

uint8_t profile_first_event(const struct profile *p)
{
	uint8_t first = UINT8_MAX;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (sample->weight && !sample->event)
				return 0;
			if (sample->weight && sample->event < first)
				first = sample->event;
		}
	}
	return first == UINT8_MAX ? 0 : first;
}

bool profile_is_wait(const struct profile *p, const struct sample *sample)
{
	const struct stack *stack;

	if (sample->stack >= p->stacks.rows.count || sample->event)
		return false;
	stack = &p->stacks.rows.items[sample->stack];
	return p->frames.rows.items[stack->frame].kind == PROFILE_FRAME_LABEL;
}

size_t profile_process_count(const struct profile *p)
{
	size_t count = 0;

	/* Every process has exactly one main thread. */
	vec_for_each(&p->threads.rows, const struct profile_thread *, row)
		count += row->is_main;
	return count;
}
