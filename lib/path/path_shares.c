/* SPDX-License-Identifier: MIT */
#include "lib/path/path_shares.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/index.h"
#include "lib/path/path_weights.h"

/* Samples that a stretch needs for a share of its own, and that a class needs. */
#define OWN_MIN 8
#define CLASS_MIN 5

static const struct profile_thread *row_of(const struct path_shares *s, thread_id id)
{
	uint32_t row = s->replay->lines->rows.items[id].row;

	return row < s->p->threads.rows.count ? &s->p->threads.rows.items[row] : NULL;
}

/* Start and end of a stretch. */
struct stretch_class {
	uint32_t group;
	uint32_t begin, end; /* kind of op, and system call of a wait */
};

struct stretch_classes {
	VEC(struct stretch_class) rows;
	struct index index;
};

INDEX_EQUAL(class_equal, struct stretch_classes, rows,
	    a->group == b->group && a->begin == b->begin && a->end == b->end)

static uint32_t class_intern(struct stretch_classes *c, const struct stretch_class *key)
{
	uint64_t hash = hash_bytes(key, sizeof(*key), 0);
	uint32_t id = index_intern(&c->index, hash, class_equal, c, key, c->rows.count);

	if (id == c->rows.count)
		vec_push(&c->rows, *key);
	return id;
}

static uint32_t tag_of(const struct replay *r, const struct replay_op *op)
{
	const struct replay_wait *wait;
	const struct timeline *line;

	if (op->kind != REPLAY_BLOCK)
		return op->kind;
	wait = &r->waits.items[op->target];
	line = &r->lines->rows.items[wait->thread];
	return (uint32_t)(uint16_t)line->waits.items[wait->number].reason.call << 8 | op->kind;
}

static void add_classes(struct path_shares *s)
{
	const struct replay *r = s->replay;
	struct stretch_classes classes = {0};

	for (thread_id id = 0; id < r->lines->rows.count; id++) {
		const struct profile_thread *row = row_of(s, id);
		struct stretch_class key = {.group = row ? row->name : NO_STRING,
					    .begin = UINT32_MAX};

		for (uint32_t i = r->first.items[id]; i < r->first.items[id + 1]; i++) {
			key.end = tag_of(r, &r->ops.items[i]);
			s->classes[i] = class_intern(&classes, &key);
			s->groups[i] = key.group;
			key.begin = key.end;
		}
	}
	s->class_count = (uint32_t)classes.rows.count;
	vec_release(&classes.rows);
	index_release(&classes.index);
}

/* Adds the thread's samples to the stretches that contain them. */
static void add_samples(struct path_shares *s, thread_id id)
{
	const struct replay *r = s->replay;
	const struct profile_thread *thread = row_of(s, id);
	uint32_t at = r->first.items[id], end = r->first.items[id + 1];

	if (!thread)
		return;
	samples_for_each(&thread->samples, sample) {
		if (!path_is_tick(s->p, sample))
			continue;
		while (at < end && r->ops.items[at].until < sample->time)
			at++;
		if (at < end && r->ops.items[at].from <= sample->time)
			vec_push(&s->samples,
				 (struct op_sample){at, sample->weight, sample->stack});
	}
}

void path_shares_init(struct path_shares *s, const struct profile *p, const struct replay *r)
{
	*s = (struct path_shares){
		.p = p,
		.replay = r,
		.classes = xcalloc(r->ops.count + 1, sizeof(*s->classes)),
		.groups = xcalloc(r->ops.count + 1, sizeof(*s->groups)),
	};
	add_classes(s);
	for (thread_id id = 0; id < r->lines->rows.count; id++)
		add_samples(s, id);
}

void path_shares_release(struct path_shares *s)
{
	vec_release(&s->samples);
	free(s->classes);
	free(s->groups);
}

/* Returns a flag per stack: it contains a function with that name. The caller frees it. */
static bool *find_stacks(const struct profile *p, const char *function)
{
	string_id name = strings_find(&p->strings, function, strlen(function));
	bool *has = xcalloc(p->stacks.rows.count + 1, sizeof(*has));

	for (stack_id id = 0; name != NO_STRING && id < p->stacks.rows.count; id++) {
		const struct stack *stack = &p->stacks.rows.items[id];
		func_id func = p->frames.rows.items[stack->frame].func;

		has[id] = (stack->parent != NO_STACK && has[stack->parent]) ||
			  (func != NO_FUNC && p->funcs.rows.items[func].name == name);
	}
	return has;
}

/* Weight of all samples and of those with the function. */
struct op_share {
	uint64_t with, all;
};

static void add_to_share(struct op_share *share, const struct op_sample *sample, bool has)
{
	share->all += sample->weight;
	share->with += has ? sample->weight : 0;
}

static double share_of(const struct op_share *own, const struct op_share *of_class,
		       const struct op_share *of_group)
{
	const struct op_share *share = own->all >= OWN_MIN	    ? own
				       : of_class->all >= CLASS_MIN ? of_class
								    : of_group;

	return share->all ? (double)share->with / (double)share->all : 0;
}

float *path_shares_factors(const struct path_shares *s, const char *function, double factor)
{
	size_t ops = s->replay->ops.count;
	_cleanup_free_ bool *has = find_stacks(s->p, function);
	_cleanup_free_ struct op_share *own = xcalloc(ops + 1, sizeof(*own));
	_cleanup_free_ struct op_share *classes = xcalloc(s->class_count + 1, sizeof(*classes));
	_cleanup_free_ struct op_share *groups = xcalloc(s->p->strings.rows.count + 1,
							 sizeof(*groups));
	struct op_share none = {0};
	float *factors = xcalloc(ops + 1, sizeof(*factors));

	vec_for_each(&s->samples, const struct op_sample *, sample) {
		bool is_hit = has[sample->stack];

		add_to_share(&own[sample->op], sample, is_hit);
		add_to_share(&classes[s->classes[sample->op]], sample, is_hit);
		add_to_share(&groups[s->groups[sample->op]], sample, is_hit);
	}
	for (size_t i = 0; i < ops; i++) {
		const struct op_share *group = s->groups[i] == NO_STRING ? &none
									 : &groups[s->groups[i]];
		double share = share_of(&own[i], &classes[s->classes[i]], group);

		factors[i] = (float)(1 - share * (1 - factor));
	}
	return factors;
}
