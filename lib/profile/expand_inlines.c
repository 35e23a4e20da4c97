/* SPDX-License-Identifier: MIT */
#include "lib/profile/expand_inlines.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/base/alloc.h"

/* Longer chains of inlined functions come from damaged debug information. */
#define CHAIN_MAX 256

struct frame_answer {
	symbol_id symbol;
	uint32_t depth; /* 0: nobody answered */
	size_t first; /* in names */
};

/* Where the frames that an old one became stand in `ids`. */
struct replaced {
	uint32_t depth;
	size_t first;
};

struct expand_inlines {
	struct profile *profile;
	struct frame_answer *answers; /* by old frame */
	size_t frame_count;
	VEC(struct frame_name) names;
	struct frames frames; /* the new table */
	struct stacks stacks; /* likewise */
	struct replaced *replaced; /* by old frame */
	VEC(frame_id) ids;
};

struct expand_inlines *expand_inlines_new(struct profile *p)
{
	struct expand_inlines *e = xcalloc(1, sizeof(*e));

	e->profile = p;
	e->frame_count = p->frames.rows.count;
	e->answers = xcalloc(e->frame_count + 1, sizeof(*e->answers));
	for (size_t i = 0; i < e->frame_count; i++)
		e->answers[i].symbol = NO_SYMBOL;
	return e;
}

void expand_inlines_free(struct expand_inlines *e)
{
	if (!e)
		return;
	free(e->answers);
	free(e->replaced);
	vec_release(&e->names);
	vec_release(&e->ids);
	frames_release(&e->frames);
	stacks_release(&e->stacks);
	free(e);
}

void expand_inlines_answer(struct expand_inlines *e, frame_id frame, symbol_id symbol,
			   const struct frame_name *chain, size_t depth)
{
	if (frame >= e->frame_count || !depth)
		return;
	if (depth > CHAIN_MAX)
		depth = CHAIN_MAX;
	e->answers[frame] = (struct frame_answer){
		.symbol = symbol,
		.depth = (uint32_t)depth,
		.first = e->names.count,
	};
	for (size_t i = 0; i < depth; i++)
		vec_push(&e->names, chain[i]);
}

/* The address under which a frame is listed that has no name. */
static string_id address_name(struct profile *p, const struct frame *frame)
{
	uint64_t address = frame->offset;
	char text[24];

	if (frame->module != NO_MODULE)
		module_offset_to_rva(modules_get(&p->modules, frame->module), frame->offset,
				     &address);
	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	return strings_intern(&p->strings, text);
}

static func_id name_func(struct profile *p, const struct frame *frame,
			 const struct frame_name *name)
{
	struct func func = {
		.name = name->func,
		.module = frame->module,
		.file = NO_SOURCE_FILE,
		.is_named = name->is_named,
	};

	if (func.name == NO_STRING) {
		func.name = address_name(p, frame);
		func.is_named = false;
	}
	if (name->file != NO_STRING)
		func.file = source_files_intern(&p->source_files, name->file);
	return funcs_intern(&p->funcs, &func);
}

static void expand_frame(struct expand_inlines *e, frame_id id)
{
	static const struct frame_name unknown = {.func = NO_STRING, .file = NO_STRING};
	const struct frame_answer *answer = &e->answers[id];
	const struct frame_name *chain = &unknown;
	struct frame frame = *frames_get(&e->profile->frames, id);
	uint32_t depth = 1;

	/* Code that the process made itself has its name already. */
	if (frame.func != NO_FUNC && !answer->depth) {
		e->replaced[id] = (struct replaced){.depth = 1, .first = e->ids.count};
		vec_push(&e->ids, frames_intern(&e->frames, &frame));
		return;
	}
	if (answer->depth) {
		chain = e->names.items + answer->first;
		depth = answer->depth;
		frame.symbol = answer->symbol;
	}
	e->replaced[id] = (struct replaced){.depth = depth, .first = e->ids.count};
	for (uint32_t i = 0; i < depth; i++) {
		frame.func = name_func(e->profile, &frame, &chain[i]);
		frame.line = chain[i].line;
		frame.inline_depth = (uint16_t)i;
		vec_push(&e->ids, frames_intern(&e->frames, &frame));
	}
}

/* The old ids ascend from parent to child, so a parent is always replaced before its children. */
static stack_id *expand_stacks(struct expand_inlines *e)
{
	const struct stacks *old = &e->profile->stacks;
	stack_id *map = xreallocarray(NULL, old->rows.count + 1, sizeof(*map));

	for (size_t i = 0; i < old->rows.count; i++) {
		const struct stack *stack = &old->rows.items[i];
		const struct replaced *frame = &e->replaced[stack->frame];
		stack_id id = stack->parent == NO_STACK ? NO_STACK : map[stack->parent];

		for (uint32_t k = 0; k < frame->depth; k++)
			id = stacks_intern(&e->stacks, id, e->ids.items[frame->first + k]);
		map[i] = id;
	}
	return map;
}

static void renumber_stacks(struct profile *p, const stack_id *map)
{
	vec_for_each(&p->threads.rows, struct profile_thread *, row) {
		vec_for_each(&row->samples, struct sample *, sample) {
			if (sample->stack != NO_STACK)
				sample->stack = map[sample->stack];
		}
	}
	vec_for_each(&p->markers.values, struct marker_value *, value) {
		if (value->type == FIELD_STACK && value->stack != NO_STACK)
			value->stack = map[value->stack];
	}
}

void expand_inlines_apply(struct expand_inlines *e)
{
	struct profile *p = e->profile;

	e->replaced = xcalloc(e->frame_count + 1, sizeof(*e->replaced));
	for (size_t i = 0; i < e->frame_count; i++)
		expand_frame(e, (frame_id)i);

	stack_id *map = expand_stacks(e);

	renumber_stacks(p, map);
	free(map);
	frames_release(&p->frames);
	stacks_release(&p->stacks);
	p->frames = e->frames;
	p->stacks = e->stacks;
	e->frames = (struct frames){0};
	e->stacks = (struct stacks){0};
}
