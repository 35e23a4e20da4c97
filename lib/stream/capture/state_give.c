/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/state_internal.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/stream/record/record.h"

struct giving {
	struct state_tasks *tasks;
	record_sink_fn *sink;
	void *ctx;
};

static void give(const struct giving *g, const struct rec *rec)
{
	if (rec)
		g->sink(g->ctx, rec);
}

/* The record may be that of another process, which left it to this one. */
static void give_as(const struct giving *g, const struct rec *rec, uint32_t pid)
{
	_cleanup_free_ struct rec *own = rec ? state_copy(rec) : NULL;

	if (!rec)
		return;
	own->pid = own->tid = pid;
	give(g, own);
}

static void give_fork(const struct giving *g, const struct state_process *p,
		      const struct state_thread *thread, uint8_t flags)
{
	struct rec_fork rec = {
		.parent_pid = thread->parent_pid,
		.parent_tid = thread->parent_tid,
		.ns_pid = p->ns_pid,
	};

	record_init(&rec.rec, REC_FORK, sizeof(rec), thread->start, p->pid, thread->tid);
	rec.rec.flags = flags | FORK_RUNNING;
	if (thread->tid != p->pid) {
		rec.parent_pid = p->pid;
	} else if (p->parent != NO_STATE_ROW) {
		/* It runs the code of that one, whoever forked it. */
		rec.parent_pid = rec.parent_tid = g->tasks->processes.items[p->parent].pid;
	}
	memcpy(rec.name, thread->name, sizeof(rec.name));
	give(g, &rec.rec);
}

static void give_thread(const struct giving *g, const struct state_process *p,
			const struct state_thread *thread)
{
	struct rec_name rec = {0};
	uint8_t flags = thread->flags & REC_UNSAMPLED;

	flags |= p->is_outside ? REC_OUTSIDE : 0;
	if (thread->origin == STATE_FORKED) {
		give_fork(g, p, thread, flags);
		return;
	}
	record_init(&rec.rec, REC_NAME, sizeof(rec), thread->start, p->pid, thread->tid);
	rec.rec.flags = flags;
	if (thread->origin == STATE_SCANNED)
		rec.rec.flags |= NAME_SCAN | (thread->flags & NAME_KERNEL_THREAD);
	memcpy(rec.name, thread->name, sizeof(rec.name));
	give(g, &rec.rec);
}

static void give_code(const struct giving *g, const struct state_process *p)
{
	vec_for_each(&p->code, struct rec_code *const *, rec)
		give(g, *rec ? &(*rec)->rec : NULL);
}

/* Gives a process that has ended, whose code others run. */
static void give_dead(const struct giving *g, const struct state_process *p)
{
	const struct state_thread thread = {.tid = p->pid, .origin = STATE_FORKED};
	struct rec_exit rec = {.status = p->end_status};

	give_fork(g, p, &thread, REC_OUTSIDE);
	give(g, p->space);
	give_code(g, p);
	record_init(&rec.rec, REC_EXIT, sizeof(rec), p->end, p->pid, p->pid);
	rec.rec.flags = EXIT_PROCESS | REC_OUTSIDE;
	give(g, &rec.rec);
}

static const struct state_thread *thread_at(const struct state_tasks *t, uint32_t row)
{
	return &t->threads.items[row];
}

/* Introduces a process by its main thread, which may have a name of its own. */
static void give_main_thread(const struct giving *g, const struct state_process *p,
			     const struct state_thread *thread)
{
	struct rec_name rec = {0};

	give_thread(g, p, thread);
	if (strncmp(p->name, thread->name, sizeof(rec.name)) == 0)
		return;
	record_init(&rec.rec, REC_NAME, sizeof(rec), thread->start, p->pid, p->pid);
	rec.rec.flags = NAME_PROCESS;
	memcpy(rec.name, p->name, sizeof(rec.name));
	give(g, &rec.rec);
}

static void give_threads(const struct giving *g, const struct state_process *p)
{
	const struct state_tasks *t = g->tasks;

	for (uint32_t row = p->threads; row != NO_STATE_ROW; row = thread_at(t, row)->next) {
		if (thread_at(t, row)->tid == p->pid)
			give_main_thread(g, p, thread_at(t, row));
	}
	for (uint32_t row = p->threads; row != NO_STATE_ROW; row = thread_at(t, row)->next) {
		const struct state_thread *thread = thread_at(t, row);

		if (thread->tid != p->pid && thread->origin != STATE_SEEN)
			give_thread(g, p, thread);
	}
}

void state_maps_give(const struct mapping_table *t, uint32_t pid, bool is_kernel,
		     record_sink_fn *sink, void *ctx)
{
	vec_for_each(&t->rows, const struct mapping *, mapping) {
		struct rec_map rec = {
			.start = mapping->start,
			.end = mapping->end,
			.file_offset = mapping->file_offset,
			.module_id = mapping->module == MAPPING_ANON ? NO_REC_MODULE
								     : mapping->module,
		};

		record_init(&rec.rec, REC_MAP, sizeof(rec), 0, pid, pid);
		rec.rec.flags = is_kernel ? MAP_KERNEL_SPACE : 0;
		sink(ctx, &rec.rec);
	}
}

static int by_order(const void *a, const void *b)
{
	const struct state_process *x = *(const struct state_process *const *)a;
	const struct state_process *y = *(const struct state_process *const *)b;

	return (x->order > y->order) - (x->order < y->order);
}

/*
 * Introduces all processes first: what they are said to have afterwards, no child of theirs
 * inherits.
 */
void state_tasks_give(struct state_tasks *t, record_sink_fn *sink, void *ctx)
{
	const struct giving g = {t, sink, ctx};
	VEC(const struct state_process *) sorted = {0};

	vec_for_each(&t->processes, const struct state_process *, p) {
		if (!p->is_free)
			vec_push(&sorted, p);
	}
	if (sorted.count)
		vec_sort(&sorted, by_order);
	vec_for_each(&sorted, const struct state_process *const *, p) {
		if ((*p)->end)
			give_dead(&g, *p);
		else
			give_threads(&g, *p);
	}
	vec_for_each(&sorted, const struct state_process *const *, p) {
		if ((*p)->end)
			continue;
		give(&g, (*p)->space);
		state_maps_give((*p)->mappings, (*p)->pid, false, sink, ctx);
		give_as(&g, (*p)->user, (*p)->pid);
		give_as(&g, (*p)->container, (*p)->pid);
		give_as(&g, (*p)->resource, (*p)->pid);
		give_as(&g, (*p)->arguments, (*p)->pid);
		give_code(&g, *p);
	}
	vec_release(&sorted);
}

void state_threads_give(struct state_tasks *t, const struct state_stacks *stacks,
			record_sink_fn *sink, void *ctx)
{
	vec_for_each(&t->threads, const struct state_thread *, thread) {
		if (thread->is_free)
			continue;
		if (thread->labels)
			sink(ctx, &thread->labels->rec);
		if (!thread->wait)
			continue;
		state_stacks_give(stacks, thread->wait->sample.stack_id, sink, ctx);
		sink(ctx, &thread->wait->sample.rec);
	}
}
