/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/expand_inlines.h"

/* The latest answer for an old stack. Samples are ordered by thread and mostly by time. */
struct node {
	struct rebind_span span; /* empty: no answer yet */
	stack_id stack; /* new stack */
};

struct rebinding {
	struct profile *profile;
	rebind_fn *at;
	rebind_keep_fn *keep;
	void *ctx;
	struct node *nodes; /* by old stack id */
	struct frames frames; /* new frames table */
	struct stacks stacks;
	VEC(stack_id) path;
	struct frame chain[REBIND_CHAIN_MAX];
};

static bool holds(const struct rebind_span *span, uint64_t time)
{
	return span->from <= time && time < span->to;
}

/*
 * Drops the stack's innermost frames that the next frame already represents. `*depth` of them are
 * those that it is inlined into. Returns false if they represent the frame instead.
 */
static bool leave_out(const struct rebinding *r, const struct frame *frame, stack_id *parent,
		      uint16_t *depth)
{
	while (*parent != NO_STACK) {
		const struct stack *row = &r->stacks.rows.items[*parent];
		enum rebind_kept kept = r->keep(r->ctx, frame, frames_get(&r->frames, row->frame));

		if (kept == REBIND_CALLER)
			return false;
		if (kept == REBIND_BOTH)
			break;
		*parent = row->parent;
		*depth -= *depth > 0;
	}
	return true;
}

/* Adds a function and those inlined into it. */
static stack_id add_chain(struct rebinding *r, stack_id parent, size_t count)
{
	uint16_t depth = 0;

	for (size_t i = 0; i < count; i++) {
		if (!leave_out(r, &r->chain[i], &parent, &depth))
			return parent;
		if (i)
			r->chain[i].inline_depth = depth;
		depth++;
		parent = stacks_intern(&r->stacks, parent, frames_intern(&r->frames, &r->chain[i]));
	}
	return parent;
}

static void resolve_node(struct rebinding *r, stack_id old, uint64_t time)
{
	const struct stack *row = &r->profile->stacks.rows.items[old];
	struct frame *chain = r->chain;
	struct node node = {.span = {0, UINT64_MAX}};
	stack_id parent = NO_STACK;
	size_t count;

	chain[0] = *frames_get(&r->profile->frames, row->frame);
	count = r->at(r->ctx, time, chain, &node.span);
	if (row->parent != NO_STACK) {
		const struct node *above = &r->nodes[row->parent];

		parent = above->stack;
		node.span.from = MAX(node.span.from, above->span.from);
		node.span.to = MIN(node.span.to, above->span.to);
	}
	node.stack = add_chain(r, parent, count);
	r->nodes[old] = node;
}

/* Not recursive: untrusted input can make stacks arbitrarily deep. */
static stack_id resolve(struct rebinding *r, stack_id old, uint64_t time)
{
	vec_clear(&r->path);
	for (stack_id at = old; at != NO_STACK && !holds(&r->nodes[at].span, time);
	     at = r->profile->stacks.rows.items[at].parent)
		vec_push(&r->path, at);
	while (r->path.count)
		resolve_node(r, r->path.items[--r->path.count], time);
	return r->nodes[old].stack;
}

void rebind_frames_apply(struct profile *p, rebind_fn *at, rebind_keep_fn *keep, void *ctx)
{
	struct rebinding r = {.profile = p, .at = at, .keep = keep, .ctx = ctx};

	r.nodes = xcalloc(p->stacks.rows.count + 1, sizeof(*r.nodes));
	vec_for_each(&p->threads.rows, struct profile_thread *, row) {
		samples_change_each(&row->samples, sample) {
			if (sample->stack != NO_STACK)
				sample->stack = resolve(&r, sample->stack, sample->time);
		}
		vec_for_each(&row->allocations.rows, struct allocation *, allocation) {
			if (allocation->stack != NO_STACK)
				allocation->stack = resolve(&r, allocation->stack,
							    allocation->time);
		}
	}
	vec_for_each(&p->markers.values, struct marker_value *, value) {
		if (value->type == FIELD_STACK && value->stack != NO_STACK)
			value->stack = resolve(&r, value->stack, value->time);
	}
	frames_release(&p->frames);
	stacks_release(&p->stacks);
	p->frames = r.frames;
	p->stacks = r.stacks;
	free(r.nodes);
	vec_release(&r.path);
}

/* Maximum depth of inlined functions; longer chains come from damaged debug information. */
#define CHAIN_MAX 256

struct frame_answer {
	symbol_id symbol;
	uint32_t depth; /* number of names; 0: no answer */
	size_t first; /* index of the first name in `names` */
};

/* The range in `ids` of the frames that replace an old one. */
struct replaced {
	uint32_t depth;
	size_t first;
};

struct expand_inlines {
	struct profile *profile;
	struct frame_answer *answers; /* by old frame id */
	size_t frame_count;
	VEC(struct frame_name) names;
	struct frames frames; /* new frames table */
	struct stacks stacks; /* new stacks table */
	struct replaced *replaced; /* by old frame id */
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
	depth = MIN(depth, CHAIN_MAX);
	e->answers[frame] = (struct frame_answer){
		.symbol = symbol,
		.depth = (uint32_t)depth,
		.first = e->names.count,
	};
	for (size_t i = 0; i < depth; i++)
		vec_push(&e->names, chain[i]);
}

bool expand_inlines_has_answer(const struct expand_inlines *e, frame_id frame)
{
	return frame < e->frame_count && e->answers[frame].depth;
}

/* Names a nameless frame by its address. */
static string_id address_name(struct profile *p, const struct frame *frame)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64,
		 modules_address(&p->modules, frame->module, frame->offset));
	return strings_intern(&p->strings, text);
}

static func_id name_func(struct profile *p, const struct frame *frame,
			 const struct frame_name *name)
{
	struct func func = {
		.name = name->func,
		.module = frame->module,
		.file = NO_SOURCE_FILE,
		.line = name->start_line,
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

	/* Code generated by the process is named already. */
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

/* Old ids ascend from parent to child, so a parent is always replaced before its children. */
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

void expand_inlines_apply(struct expand_inlines *e)
{
	struct profile *p = e->profile;

	e->replaced = xcalloc(e->frame_count + 1, sizeof(*e->replaced));
	for (size_t i = 0; i < e->frame_count; i++)
		expand_frame(e, (frame_id)i);

	stack_id *map = expand_stacks(e);

	profile_replace_stacks(p, &e->frames, &e->stacks, map);
	free(map);
}
