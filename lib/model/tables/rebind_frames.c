/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/rebind_frames.h"

#include "lib/base/alloc.h"

/* The latest answer for an old stack. Samples come by thread and mostly in order of time. */
struct node {
	struct rebind_span span; /* empty: none yet */
	stack_id stack; /* the new one */
};

struct rebinding {
	struct profile *profile;
	rebind_fn *at;
	rebind_covers_fn *covers;
	void *ctx;
	struct node *nodes; /* by old stack */
	struct frames frames; /* the new tables */
	struct stacks stacks;
	VEC(stack_id) path;
	struct frame chain[REBIND_CHAIN_MAX];
};

static bool holds(const struct rebind_span *span, uint64_t time)
{
	return span->from <= time && time < span->to;
}

/* Returns the stack without the innermost frames that the next one stands for. */
static stack_id leave_out(const struct rebinding *r, stack_id parent, const struct frame *frame)
{
	while (parent != NO_STACK) {
		const struct stack *row = &r->stacks.rows.items[parent];

		if (!r->covers(frame, frames_get(&r->frames, row->frame)))
			break;
		parent = row->parent;
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
		if (above->span.from > node.span.from)
			node.span.from = above->span.from;
		if (above->span.to < node.span.to)
			node.span.to = above->span.to;
	}
	node.stack = leave_out(r, parent, &chain[0]);
	for (size_t i = 0; i < count; i++)
		node.stack = stacks_intern(&r->stacks, node.stack,
					   frames_intern(&r->frames, &chain[i]));
	r->nodes[old] = node;
}

/* No recursion: stacks are as deep as untrusted input makes them. */
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

void rebind_frames_apply(struct profile *p, rebind_fn *at, rebind_covers_fn *covers, void *ctx)
{
	struct rebinding r = {.profile = p, .at = at, .covers = covers, .ctx = ctx};

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
