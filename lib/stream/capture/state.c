/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/state.h"

#include "lib/stream/capture/state_internal.h"
#include "lib/stream/record/records.h"

static bool start_equal(const void *table, uint32_t row, const void *key)
{
	const struct state_process *p = table;

	return p->code.items[row] && p->code.items[row]->start == *(const uint64_t *)key;
}

/* Returns a copy, from malloc(). */
static void *state_copy(const struct rec *rec)
{
	return xmemdup(rec, record_size(rec));
}

/* Replaces older code that begins at the same address, which covers nearly all replaced code. */
static void state_code_add(struct state_process *p, const struct rec_code *rec)
{
	uint64_t hash = hash_u64(rec->start);
	uint32_t row;

	if (!(rec->rec.flags & CODE_MANAGED)) {
		row = index_find(&p->by_start, hash, start_equal, p, &rec->start);
		if (row != INDEX_NONE && p->code.items[row]->size <= rec->size) {
			index_remove(&p->by_start, hash, row);
			free(p->code.items[row]);
			p->code.items[row] = NULL;
		}
		if (row == INDEX_NONE || !p->code.items[row])
			index_add(&p->by_start, hash, (uint32_t)p->code.count);
	}
	vec_push(&p->code, state_copy(&rec->rec));
}

void state_code_clear(struct state_process *p)
{
	vec_for_each(&p->code, struct rec_code **, rec)
		free(*rec);
	vec_release(&p->code);
	index_release(&p->by_start);
	p->by_start = (struct index){0};
}

/* Bounds the links of a chain; real ones have some hundreds at most. */
#define LINKS_MAX 2048

static void state_stacks_release(struct state_stacks *s)
{
	vec_release(&s->words);
	vec_release(&s->rows);
	index_release(&s->by_id);
}

static const struct rec_stack *stack_at(const struct state_stacks *s, uint32_t row)
{
	return (const struct rec_stack *)(s->words.items + s->rows.items[row]);
}

static bool id_equal(const void *table, uint32_t row, const void *key)
{
	return stack_at(table, row)->stack_id == *(const uint32_t *)key;
}

static const struct rec_stack *find(const struct state_stacks *s, uint32_t id)
{
	uint32_t row = id ? index_find(&s->by_id, hash_u64(id), id_equal, s, &id) : INDEX_NONE;

	return row == INDEX_NONE ? NULL : stack_at(s, row);
}

static void state_stacks_add(struct state_stacks *s, const struct rec_stack *rec)
{
	size_t at = s->words.count;

	if (!s->is_wanted || find(s, rec->stack_id))
		return;
	vec_add_zeroed(&s->words, rec->rec.words);
	memcpy(s->words.items + at, rec, record_size(&rec->rec));
	index_add(&s->by_id, hash_u64(rec->stack_id), (uint32_t)s->rows.count);
	vec_push(&s->rows, at);
}

/* Passes on the stacks that this one continues, then the stack itself. */
static void state_stacks_give(const struct state_stacks *s, uint32_t stack_id, record_sink_fn *sink,
			      void *ctx)
{
	const struct rec_stack *chain[LINKS_MAX];
	size_t count = 0;

	for (const struct rec_stack *rec = find(s, stack_id); rec && count < LINKS_MAX;
	     rec = find(s, rec->prefix_id))
		chain[count++] = rec;
	while (count)
		sink(ctx, &chain[--count]->rec);
}

static void keep(void *ctx, const struct rec *rec)
{
	state_stacks_add(ctx, (const struct rec_stack *)rec);
}

/* Keeps only the stacks of open waits. */
static void state_stacks_renew(struct state_stacks *s, const struct state_tasks *t)
{
	struct state_stacks old = *s;

	*s = (struct state_stacks){.is_wanted = old.is_wanted};
	vec_for_each(&t->threads, const struct state_thread *, thread) {
		if (!thread->is_free && thread->wait)
			state_stacks_give(&old, thread->wait->sample.stack_id, keep, s);
	}
	state_stacks_release(&old);
}

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

/* The record may have been received for an ancestor from which this process inherited it. */
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
		/*
		 * The parent is the process whose code this one runs, whichever process forked it.
		 */
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

/* Passes on an ended process whose code other processes run. */
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

/* Introduces a process by its main thread, which may have a separate name. */
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

static void state_maps_give(const struct mapping_table *t, uint32_t pid, bool is_kernel,
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

ORDER(by_order, struct state_process *const, COMPARE((*a)->order, (*b)->order))

/*
 * Introduces all processes first, so that children do not inherit attributes that their parents get
 * later.
 */
static void state_tasks_give(struct state_tasks *t, record_sink_fn *sink, void *ctx)
{
	const struct giving g = {t, sink, ctx};
	VEC(const struct state_process *) sorted = {0};

	vec_for_each(&t->processes, const struct state_process *, p) {
		if (!p->is_free)
			vec_push(&sorted, p);
	}
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

/* Passes on names and labels, and open waits with their stacks. */
static void state_threads_give(struct state_tasks *t, const struct state_stacks *stacks,
			       record_sink_fn *sink, void *ctx)
{
	vec_for_each(&t->threads, const struct state_thread *, thread) {
		if (thread->is_free)
			continue;
		if (thread->given_name)
			sink(ctx, thread->given_name);
		for (int set = 0; set < LABEL_SETS; set++) {
			if (thread->labels[set])
				sink(ctx, &thread->labels[set]->rec);
		}
		if (!thread->wait)
			continue;
		state_stacks_give(stacks, thread->wait->sample.stack_id, sink, ctx);
		sink(ctx, &thread->wait->sample.rec);
	}
}

/* Facts whose keys begin with this are the last records: no epoch follows them. */
#define END_KEY "end."

struct capture_state *capture_state_new(void)
{
	struct capture_state *s = xcalloc(1, sizeof(*s));

	s->kernel = mapping_table_new();
	s->tasks = (struct state_tasks){.free_process = NO_STATE_ROW, .free_thread = NO_STATE_ROW};
	return s;
}

void capture_state_free(struct capture_state *s)
{
	if (!s)
		return;
	vec_release(&s->lasting);
	vec_release(&s->gone);
	vec_release(&s->counter_infos);
	vec_release(&s->counters);
	mapping_table_drop(s->kernel);
	state_tasks_release(&s->tasks);
	state_stacks_release(&s->stacks);
	free(s);
}

void state_replace(struct rec **kept, const struct rec *rec)
{
	free(*kept);
	*kept = state_copy(rec);
}

#define APPEND(log, rec) memcpy(vec_add_zeroed(log, (rec)->words), rec, record_size(rec))

static void take_map(struct capture_state *s, const struct rec *r)
{
	const struct rec_map *rec = (const struct rec_map *)r;
	bool is_kernel = rec->rec.flags & MAP_KERNEL_SPACE;
	struct mapping mapping = {
		.start = rec->start,
		.end = rec->end,
		.file_offset = rec->file_offset,
		.module = rec->module_id,
	};
	struct mapping_table **table = &s->kernel;

	if (rec->module_id == NO_REC_MODULE) {
		mapping.module = is_kernel ? NO_REC_MODULE : MAPPING_ANON;
		mapping.file_offset = rec->start;
	}
	if (!is_kernel)
		table = &state_tasks_process(&s->tasks, &rec->rec)->mappings;
	if (mapping_table_insert(table, &mapping, s->tasks.stamp + 1))
		s->tasks.stamp++;
}

static void take_counter(struct capture_state *s, const struct rec *r)
{
	const struct rec_counter *rec = (const struct rec_counter *)r;
	struct state_counter *row = NULL;

	vec_for_each(&s->counters, struct state_counter *, other) {
		if (other->total.counter == rec->counter)
			row = other;
	}
	if (!row) {
		row = vec_add_zeroed(&s->counters, 1);
		row->total = *rec;
		row->total.rec.words = sizeof(row->total) / 8;
		row->total.rec.flags = COUNTER_TOTAL;
		row->total.delta = 0;
	}
	row->total.rec.time = rec->rec.time;
	row->total.delta = (int64_t)((uint64_t)row->total.delta + (uint64_t)rec->delta);
}

static void take_labels(struct capture_state *s, const struct rec *rec)
{
	struct state_thread *thread = state_tasks_thread(&s->tasks, rec);
	struct rec_labels **own;

	if (!thread)
		return;
	own = &thread->labels[((const struct rec_labels *)rec)->set];
	free(*own);
	*own = state_copy(rec);
}

static void take_thread_name(struct capture_state *s, const struct rec *rec)
{
	struct state_thread *thread = state_tasks_thread(&s->tasks, rec);

	if (thread)
		state_replace(&thread->given_name, rec);
}

static void take_wait(struct capture_state *s, const struct rec *r)
{
	const struct rec_wait *rec = (const struct rec_wait *)r;
	struct state_thread *thread = state_tasks_thread(&s->tasks, &rec->sample.rec);

	s->stacks.is_wanted = true;
	if (!thread || rec->reason.state == WAIT_DEAD)
		return;
	if (!thread->wait)
		thread->wait = xmalloc(sizeof(*thread->wait));
	*thread->wait = *rec;
	thread->wait->sample.rec.words = sizeof(*rec) / 8;
}

static void take_run(struct capture_state *s, const struct rec *rec)
{
	struct state_thread *thread = state_tasks_thread(&s->tasks, rec);

	s->stacks.is_wanted = true;
	if (!thread)
		return;
	free(thread->wait);
	thread->wait = NULL;
}

static void take_meta(struct capture_state *s, const struct rec *r)
{
	const struct rec_meta *rec = (const struct rec_meta *)r;

	if (rec->key_size < strlen(END_KEY) || memcmp(rec->text, END_KEY, strlen(END_KEY)) != 0)
		APPEND(&s->lasting, &rec->rec);
}

static void take_arguments(struct capture_state *s, const struct rec *rec)
{
	state_replace(&state_tasks_process(&s->tasks, rec)->arguments, rec);
}

static void take_container(struct capture_state *s, const struct rec *rec)
{
	state_replace(&state_tasks_process(&s->tasks, rec)->container, rec);
}

static void take_resource(struct capture_state *s, const struct rec *rec)
{
	state_replace(&state_tasks_process(&s->tasks, rec)->resource, rec);
}

static void take_user(struct capture_state *s, const struct rec *rec)
{
	state_replace(&state_tasks_process(&s->tasks, rec)->user, rec);
}

static void take_code(struct capture_state *s, const struct rec *rec)
{
	state_code_add(state_tasks_process(&s->tasks, rec), (const struct rec_code *)rec);
}

static void add_stack(struct capture_state *s, const struct rec *rec)
{
	state_stacks_add(&s->stacks, (const struct rec_stack *)rec);
}

static void take_fork(struct capture_state *s, const struct rec *rec)
{
	state_tasks_fork(&s->tasks, (const struct rec_fork *)rec);
}

static void take_name(struct capture_state *s, const struct rec *rec)
{
	state_tasks_name(&s->tasks, (const struct rec_name *)rec);
}

static void take_exit(struct capture_state *s, const struct rec *rec)
{
	state_tasks_exit(&s->tasks, (const struct rec_exit *)rec);
}

static void take_counter_info(struct capture_state *s, const struct rec *rec)
{
	APPEND(&s->counter_infos, rec);
}

static void take_setting(struct capture_state *s, const struct rec *r)
{
	const struct rec_setting *rec = (const struct rec_setting *)r;

	if (rec->setting < SETTING_COUNT)
		s->settings[rec->setting] = *rec;
}

ORDER(compare_ids, uint32_t, COMPARE(*a, *b))

static bool is_gone(const struct capture_state *s, const struct rec *rec)
{
	uint32_t id = rec->kind == REC_MODULE ? ((const struct rec_module *)rec)->module_id
					      : NO_REC_MODULE;

	return id != NO_REC_MODULE &&
	       bsearch(&id, s->gone.items, s->gone.count, sizeof(id), compare_ids);
}

/* Drops modules that the recorder has dropped. */
static void drop_gone(struct capture_state *s)
{
	size_t kept = 0;

	if (!s->gone.count)
		return;
	vec_sort(&s->gone, compare_ids);
	for (size_t at = 0; at < s->lasting.count;) {
		const struct rec *rec = (const struct rec *)(s->lasting.items + at);
		size_t words = rec->words;

		if (!is_gone(s, rec)) {
			memmove(s->lasting.items + kept, rec, words * sizeof(uint64_t));
			kept += words;
		}
		at += words;
	}
	s->lasting.count = kept;
	vec_clear(&s->gone);
}

static void take_gone(struct capture_state *s, const struct rec *rec)
{
	vec_push(&s->gone, ((const struct rec_gone *)rec)->module_id);
}

static void take_lasting(struct capture_state *s, const struct rec *rec)
{
	APPEND(&s->lasting, rec);
}

static void take_module(struct capture_state *s, const struct rec *rec)
{
	if (rec->flags & MODULE_COMPLETED) {
		vec_push(&s->gone, ((const struct rec_module *)rec)->module_id);
		drop_gone(s);
	}
	take_lasting(s, rec);
}

typedef void take_fn(struct capture_state *s, const struct rec *rec);

/* Each kind's row in record.def defines how its state is kept. */
#define PASSING NULL
#define LASTING take_lasting
#define STATE(function) function
static take_fn *const takes[REC_KIND_COUNT] = {
#define RECORD(kind, name, type, size, epoch, ...) [REC_##kind] = epoch,
#include "bpf/record.def"
#undef RECORD
};

void capture_state_take(struct capture_state *s, const struct rec *rec)
{
	if (rec->kind < REC_KIND_COUNT && takes[rec->kind])
		takes[rec->kind](s, rec);
}

static void give_log(const uint64_t *words, size_t count, record_sink_fn *sink, void *ctx)
{
	for (size_t at = 0; at < count;) {
		const struct rec *rec = (const struct rec *)(words + at);

		sink(ctx, rec);
		at += rec->words;
	}
}

void capture_state_give(struct capture_state *s, record_sink_fn *sink, void *ctx)
{
	drop_gone(s);
	give_log(s->lasting.items, s->lasting.count, sink, ctx);
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		if (s->settings[i].rec.words)
			sink(ctx, &s->settings[i].rec);
	}
	state_maps_give(s->kernel, 0, true, sink, ctx);
	state_tasks_give(&s->tasks, sink, ctx);
	give_log(s->counter_infos.items, s->counter_infos.count, sink, ctx);
	vec_for_each(&s->counters, const struct state_counter *, row)
		sink(ctx, &row->total.rec);
	state_threads_give(&s->tasks, &s->stacks, sink, ctx);
	state_stacks_renew(&s->stacks, &s->tasks);
}

size_t capture_state_stack_bytes(const struct capture_state *s)
{
	return s->stacks.words.count * sizeof(uint64_t);
}
