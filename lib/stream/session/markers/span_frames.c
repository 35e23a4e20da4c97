/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/markers/span_frames.h"

#include "lib/base/vec.h"
#include "lib/model/meaning/label_frames.h"

/* Maximum number of open spans added to a stack; beyond it the innermost are left out. */
#define OPEN_MAX 64

/* A stack with span frames, derived from another stack. */
struct made {
	stack_id root; /* root stack of the innermost span */
	stack_id stack;
};

struct span_frames {
	struct profile *profile;
	VEC(struct marker) spans; /* spans of one thread, by beginning */
	const struct marker *open[OPEN_MAX]; /* open spans, by beginning */
	size_t open_count;
	stack_id root; /* root stack of the open spans; NO_STACK: none */
	VEC(struct made) made; /* by the stack they were derived from */
	VEC(stack_id) chain;
};

/* Puts the longer one of equal beginnings first: it is the outer one. */
ORDER(compare_starts, struct marker,
      COMPARE(a->start, b->start) ?: COMPARE(b->end, a->end) ?:
      COMPARE(a->first_value, b->first_value))

static void end_with_thread(const struct profile *p, struct profile_thread *row)
{
	uint64_t end = row->end ? row->end : p->meta.end_ns;

	vec_for_each(&row->markers, struct marker *, marker) {
		if (marker->is_told && marker->end > end)
			marker->end = marker->start > end ? marker->start : end;
	}
}

static void make_root(struct span_frames *s)
{
	const struct frame_category other = {.category = CATEGORY_OTHER};
	struct profile *p = s->profile;

	s->root = NO_STACK;
	for (size_t i = 0; i < s->open_count; i++)
		s->root = stacks_intern(&p->stacks, s->root,
					label_frames_intern(p, s->open[i]->name, other));
}

/* Closes and opens spans up to this time. *next is the first span not opened so far. */
static void advance(struct span_frames *s, uint64_t time, size_t *next)
{
	size_t kept = 0;
	bool is_new;

	for (size_t i = 0; i < s->open_count; i++) {
		if (s->open[i]->end > time)
			s->open[kept++] = s->open[i];
	}
	is_new = kept != s->open_count;
	s->open_count = kept;
	for (; *next < s->spans.count && s->spans.items[*next].start <= time; ++*next) {
		if (s->spans.items[*next].end <= time || s->open_count == OPEN_MAX)
			continue;
		s->open[s->open_count++] = &s->spans.items[*next];
		is_new = true;
	}
	if (is_new)
		make_root(s);
}

/* Returns the stack with the open spans at its root. */
static stack_id rooted(struct span_frames *s, stack_id stack)
{
	struct stacks *stacks = &s->profile->stacks;
	struct made *made;
	stack_id id = s->root;

	if (s->made.count <= stack)
		vec_add_zeroed(&s->made, stack + 1 - s->made.count);
	made = &s->made.items[stack];
	if (made->stack && made->root == s->root)
		return made->stack;
	vec_clear(&s->chain);
	for (stack_id at = stack; at != NO_STACK; at = stacks->rows.items[at].parent)
		vec_push(&s->chain, stacks->rows.items[at].frame);
	while (s->chain.count)
		id = stacks_intern(stacks, id, s->chain.items[--s->chain.count]);
	*made = (struct made){s->root, id};
	return id;
}

static void take_spans(struct span_frames *s, const struct profile_thread *row)
{
	vec_clear(&s->spans);
	s->open_count = 0;
	s->root = NO_STACK;
	vec_for_each(&row->markers, const struct marker *, marker) {
		if (marker->is_frame && marker->end > marker->start)
			vec_push(&s->spans, *marker);
	}
	vec_sort(&s->spans, compare_starts);
}

static void add_frames(struct span_frames *s, struct profile_thread *row)
{
	size_t next = 0;

	take_spans(s, row);
	if (!s->spans.count)
		return;
	samples_change_each(&row->samples, sample) {
		advance(s, sample->time, &next);
		if (s->root != NO_STACK && sample->stack != NO_STACK)
			sample->stack = rooted(s, sample->stack);
	}
}

void span_frames_finish(struct profile *p)
{
	struct span_frames s = {.profile = p, .root = NO_STACK};

	vec_for_each(&p->threads.rows, struct profile_thread *, row) {
		end_with_thread(p, row);
		add_frames(&s, row);
	}
	vec_release(&s.spans);
	vec_release(&s.made);
	vec_release(&s.chain);
}
