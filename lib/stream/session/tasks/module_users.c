/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/tasks/module_users.h"

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"

/* Samples of a thread from one time until before another, while its process had one user. */
struct stretch {
	uint64_t user;
	thread_id row;
	uint64_t from, until; /* until 0: the end */
};

struct stretches {
	VEC(struct stretch) rows;
};

static int compare_users(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	if (x->user != y->user)
		return x->user < y->user ? -1 : 1;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static void split_row(struct stretches *s, thread_id id, const struct process *process)
{
	struct stretch stretch = {.user = process->first_user, .row = id};

	vec_for_each(&process->users, const struct user_change *, change) {
		if (change->since > stretch.from) {
			stretch.until = change->since;
			vec_push(&s->rows, stretch);
			stretch.from = change->since;
		}
		stretch.user = change->user;
	}
	stretch.until = 0;
	vec_push(&s->rows, stretch);
}

static void split_rows(struct stretches *s, struct tasks *t)
{
	struct threads *threads = &t->profile->threads;

	for (thread_id id = 0; id < threads->rows.count; id++)
		split_row(s, id, tasks_process_of(t, id));
	vec_sort(&s->rows, compare_users);
}

struct marks {
	struct profile *profile;
	uint32_t round; /* number of the present user */
	uint32_t *stacks, *modules; /* by id: last round that visited it */
};

static void mark_stack(struct marks *m, stack_id stack, uint64_t user)
{
	while (stack != NO_STACK && m->stacks[stack] != m->round) {
		const struct stack *row = &m->profile->stacks.rows.items[stack];
		module_id id = m->profile->frames.rows.items[row->frame].module;

		m->stacks[stack] = m->round;
		stack = row->parent;
		if (id == NO_MODULE || m->modules[id] == m->round)
			continue;
		m->modules[id] = m->round;
		if (!module_is_kernel(modules_get(&m->profile->modules, id)))
			vec_push(&modules_get(&m->profile->modules, id)->users.rows,
				 (struct reader){(uint32_t)user, (uint32_t)(user >> 32)});
	}
}

static void mark_stretch(struct marks *m, const struct stretch *stretch)
{
	const struct samples *samples = &threads_get(&m->profile->threads, stretch->row)->samples;
	_cleanup_(sample_iterator_release) struct sample_iterator it =
		stretch->from ? samples_after(samples, stretch->from - 1) : samples_begin(samples);
	const struct sample *sample;

	while ((sample = sample_iterator_next(&it)) &&
	       (!stretch->until || sample->time < stretch->until))
		mark_stack(m, sample->stack, stretch->user);
}

void module_users_find(struct tasks *t)
{
	struct profile *p = t->profile;
	_cleanup_free_ uint32_t *stacks = xcalloc(p->stacks.rows.count + 1, sizeof(*stacks));
	_cleanup_free_ uint32_t *modules = xcalloc(p->modules.rows.count + 1, sizeof(*modules));
	struct marks marks = {.profile = p, .stacks = stacks, .modules = modules};
	struct stretches all = {0};

	split_rows(&all, t);
	for (size_t i = 0; i < all.rows.count; i++) {
		const struct stretch *it = &all.rows.items[i];

		if (!i || it[-1].user != it->user)
			marks.round++;
		mark_stretch(&marks, it);
	}
	vec_release(&all.rows);
}
