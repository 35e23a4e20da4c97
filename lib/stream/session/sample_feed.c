/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/sample_feed.h"

#include "lib/stream/record/records.h"
#include "lib/stream/session/tasks/tasks.h"

#define NONE UINT32_MAX

static bool pending_take_next(struct pending *p, uint64_t before_ns, uint32_t *cursor,
			      struct pending_sample *sample);

void pending_release(struct pending *p)
{
	struct pending_sample sample;
	uint32_t cursor = 0;

	while (pending_take_next(p, UINT64_MAX, &cursor, &sample))
		mapping_table_drop(sample.mappings);
	vec_release(&p->rows);
	index_release(&p->by_stack_id);
	vec_for_each(&p->stacks, struct rec_stack **, rec)
		free(*rec);
	vec_release(&p->stacks);
}

INDEX_HAS(stack_id_equal, struct pending, rows, sample.rec.stack_id)

static uint32_t find_first(const struct pending *p, uint32_t wire_id)
{
	return index_find(&p->by_stack_id, hash_u64(wire_id), stack_id_equal, p, &wire_id);
}

bool pending_add(struct pending *p, const struct pending_sample *sample)
{
	uint32_t wire_id = sample->rec.stack_id, first = find_first(p, wire_id), id;

	if (p->count == PENDING_SAMPLES_MAX || p->mappings_size > PENDING_MAPPINGS_MAX)
		return false;
	if (p->free) {
		id = p->free - 1;
		p->free = p->rows.items[id].next + 1;
	} else {
		id = (uint32_t)p->rows.count;
		vec_add_zeroed(&p->rows, 1);
	}

	struct waiting_sample *row = &p->rows.items[id];

	*row = (struct waiting_sample){
		.sample = *sample, .next = NONE, .last = id, .is_taken = true};
	p->mappings_size += mapping_table_await(sample->mappings);
	p->count++;
	if (first == NONE) {
		index_add(&p->by_stack_id, hash_u64(wire_id), id);
	} else {
		p->rows.items[p->rows.items[first].last].next = id;
		p->rows.items[first].last = id;
	}
	return true;
}

/*
 * Removes the oldest sample of the chain that begins with `first`. The first row stays in place
 * while the chain has other samples, so that the index changes only when the chain ends.
 */
static uint32_t unchain(struct pending *p, uint32_t first)
{
	struct waiting_sample *row = &p->rows.items[first], *next;
	uint32_t id = row->next;

	if (id == NONE) {
		index_remove(&p->by_stack_id, hash_u64(row->sample.rec.stack_id), first);
		return first;
	}
	next = &p->rows.items[id];
	row->sample = next->sample;
	row->next = next->next;
	if (row->last == id)
		row->last = first;
	return id;
}

bool pending_take(struct pending *p, uint32_t wire_id, struct pending_sample *sample)
{
	uint32_t first = p->count ? find_first(p, wire_id) : NONE, id;

	if (first == NONE)
		return false;
	*sample = p->rows.items[first].sample;
	mapping_table_hold(sample->mappings);
	p->mappings_size -= mapping_table_settle(sample->mappings);
	id = unchain(p, first);
	p->rows.items[id].is_taken = false;
	/* NONE + 1 is 0, the end of the free list. */
	p->rows.items[id].next = p->free - 1;
	p->free = id + 1;
	p->count--;
	return true;
}

/*
 * Removes any sample older than that time, UINT64_MAX: any at all; *cursor begins as 0. The caller
 * drops sample->mappings.
 */
static bool pending_take_next(struct pending *p, uint64_t before_ns, uint32_t *cursor,
			      struct pending_sample *sample)
{
	const struct waiting_sample *row;

	for (; *cursor < p->rows.count; ++*cursor) {
		row = &p->rows.items[*cursor];
		if (row->is_taken &&
		    (row->sample.rec.rec.time < before_ns || before_ns == UINT64_MAX))
			break;
	}
	if (*cursor >= p->rows.count)
		return false;
	return pending_take(p, p->rows.items[*cursor].sample.rec.stack_id, sample);
}

void pending_move_values(struct pending *p, const uint32_t *map)
{
	vec_for_each(&p->rows, struct waiting_sample *, row) {
		uint32_t *value = &row->sample.marker_value;

		if (row->is_taken && *value && *value != NO_VALUE)
			*value = map[*value - 1];
	}
}

/* Drops the record if there is no more room: its samples will then have no stack. */
static void pending_add_stack(struct pending *p, const struct rec_stack *rec)
{
	struct rec_stack *copy;

	if (p->stacks.count == PENDING_STACKS_MAX)
		return;
	copy = xcalloc(1, record_size(&rec->rec));
	memcpy(copy, rec, record_size(&rec->rec));
	vec_push(&p->stacks, copy);
}

/* Removes a record that continues this stack; NULL if there is none. The caller frees it. */
static struct rec_stack *pending_take_stack(struct pending *p, uint32_t prefix_id)
{
	for (size_t i = 0; i < p->stacks.count; i++) {
		struct rec_stack *rec = p->stacks.items[i];

		if (rec->prefix_id != prefix_id)
			continue;
		/* Keep the order: of two records with one id the later one wins. */
		memmove(p->stacks.items + i, p->stacks.items + i + 1,
			(--p->stacks.count - i) * sizeof(rec));
		return rec;
	}
	return NULL;
}

/*
 * The kind of task comes first: no better stack is possible for these. A stack that does not say
 * whether it is complete, such as one by frame pointers, is unknown. A stack marked as whole that
 * lacks parts in the profile is broken.
 */
static enum stack_class tick_stats_class(const struct tick_stats_entry *entry)
{
	if (entry->sample_flags & SAMPLE_KERNEL_THREAD)
		return STACK_CLASS_KERNEL_ONLY;
	if (entry->sample_flags & SAMPLE_EXITING)
		return STACK_CLASS_EXITING;
	if (entry->stack_flags & STACK_TRUNCATED)
		return STACK_CLASS_TRUNCATED;
	if (entry->stack_flags & STACK_WHOLE)
		return entry->is_cut ? STACK_CLASS_BROKEN : STACK_CLASS_WHOLE;
	if (entry->stack_flags & STACK_BROKEN)
		return STACK_CLASS_BROKEN;
	return STACK_CLASS_UNKNOWN;
}

void tick_stats_count(struct profile_stats *stats, const struct tick_stats_entry *entry)
{
	uint64_t *const counts[STACK_CLASS_COUNT] = {
		[STACK_CLASS_WHOLE] = &stats->whole,
		[STACK_CLASS_TRUNCATED] = &stats->truncated,
		[STACK_CLASS_BROKEN] = &stats->broken,
		[STACK_CLASS_UNKNOWN] = &stats->unknown,
		[STACK_CLASS_KERNEL_ONLY] = &stats->kernel_only,
		[STACK_CLASS_EXITING] = &stats->exiting,
	};
	uint64_t *class = counts[tick_stats_class(entry)];

	stats->cpu_samples += entry->ticks;
	*class += entry->ticks;
	if (entry->is_32bit)
		stats->compat += entry->ticks;
	if (entry->is_32bit && class == &stats->unknown)
		stats->compat_unknown += entry->ticks;
	if (entry->stack_flags & STACK_GUESSED)
		stats->guessed += entry->ticks;
	if (entry->stack_flags & STACK_LATER)
		stats->finished_later += entry->ticks;
	if (entry->has_unknown_kind)
		stats->unknown_kinds += entry->ticks;
}

void sample_feed_init(struct sample_feed *f, struct tasks *tasks, struct losses *losses)
{
	*f = (struct sample_feed){
		.profile = tasks->profile,
		.tasks = tasks,
		.losses = losses,
		.lost_cause = LOST_STACK,
	};
	resolver_init(&f->resolver, f->profile);
	waits_init(&f->waits, tasks);
	alloc_feed_init(&f->allocs, tasks);
}

void sample_feed_release(struct sample_feed *f)
{
	pending_release(&f->pending);
	resolver_release(&f->resolver);
	waits_release(&f->waits);
	alloc_feed_release(&f->allocs);
}

static bool has_user_frame(const struct rec_sample *rec, const struct stack_extent *extent)
{
	return extent->has_user_frame || !(rec->rec.flags & (SAMPLE_NO_LEAF | SAMPLE_LEAF_KERNEL));
}

/* The kernel never walks a 32-bit program's stack completely, so most samples need no check. */
static bool may_be_32bit(const struct tick_stats_entry *entry)
{
	return !(entry->sample_flags & (SAMPLE_KERNEL_THREAD | SAMPLE_EXITING)) &&
	       (entry->stack_flags & (STACK_WHOLE | STACK_LATER)) != STACK_WHOLE;
}

/* Weights the sample by its period, at least 1: a row of weight 0 would be taken for a gap. */
static void count_event(struct sample_feed *f, const struct pending_sample *pending,
			struct sample *sample)
{
	struct event_count *count = event_counts_get(&f->profile->events, pending->event);

	sample->weight = 1;
	if (pending->period)
		sample->weight = pending->period < UINT32_MAX ? (uint32_t)pending->period
							      : UINT32_MAX;
	count->samples++;
	count->weight += sample->weight;
}

static uint8_t leaf_kind(const struct rec_sample *rec)
{
	if (rec->rec.flags & SAMPLE_LEAF_MANAGED)
		return FRAME_MANAGED;
	return rec->rec.flags & SAMPLE_LEAF_KERNEL ? FRAME_KERNEL : FRAME_NATIVE;
}

/* True if the stack already contains a different frame for the leaf. */
static bool leaf_is_replaced(const struct rec_sample *rec, const struct tick_stats_entry *entry)
{
	return leaf_kind(rec) == FRAME_NATIVE && entry->stack_flags & STACK_LEAF_REPLACED;
}

/*
 * Resolves the stack of a sample or marker with the state of its time. raw: the stack below the
 * leaf; NO_RAW_STACK: none.
 */
static stack_id resolve_pending(struct sample_feed *f, const struct pending_sample *pending,
				raw_stack_id raw, struct tick_stats_entry *entry,
				struct stack_extent *extent)
{
	const struct rec_sample *rec = &pending->rec;
	struct process *process = tasks_process_of(f->tasks, pending->thread);
	stack_id id = NO_STACK;

	if (raw != NO_RAW_STACK) {
		const struct raw_stack *stack = &f->resolver.raw.rows.items[raw];

		id = resolver_stack(&f->resolver, raw, process, pending->mappings, extent);
		entry->stack_flags = stack->flags;
		/* A runtime's own frame may have taken the place of the guessed one. */
		if (!extent->has_guess)
			entry->stack_flags &= ~STACK_GUESSED;
		entry->is_cut = extent->user_depth < raw_stack_user_depth(stack);
		entry->has_unknown_kind = extent->unknown_depth;
	}
	if (!(rec->rec.flags & SAMPLE_NO_LEAF) && !leaf_is_replaced(rec, entry))
		id = resolver_leaf(&f->resolver, id, rec->leaf, leaf_kind(rec), process,
				   pending->mappings);
	return id;
}

static void place_sample(struct sample_feed *f, const struct pending_sample *pending,
			 raw_stack_id raw)
{
	const struct rec_sample *rec = &pending->rec;
	struct sample sample = {
		.time = tasks_time(f->tasks, rec->rec.time),
		.weight = rec->rec.weight ? rec->rec.weight : 1,
		.cpu_delta = pending->cpu_time,
		.cpu = rec->rec.cpu,
		.event = (uint8_t)pending->event,
	};
	struct tick_stats_entry entry = {.sample_flags = rec->rec.flags, .ticks = sample.weight};
	struct stack_extent extent = {0};

	sample.stack = resolve_pending(f, pending, raw, &entry, &extent);
	if (pending->marker_value == NO_VALUE)
		return;
	if (pending->marker_value) {
		struct marker_value *value =
			&f->profile->markers.values.items[pending->marker_value - 1];

		value->stack = sample.stack;
		value->time = sample.time;
		return;
	}
	if (pending->wait) {
		f->profile->stats.waits.classes[tick_stats_class(&entry)]++;
		waits_set_stack(&f->waits, pending->wait - 1, sample.stack);
		return;
	}
	if (pending->alloc) {
		alloc_feed_set_stack(&f->allocs, pending->alloc - 1, sample.time, sample.stack);
		return;
	}
	f->profile->stats.user_stacks += has_user_frame(rec, &extent);
	entry.is_32bit = may_be_32bit(&entry) && pending->mappings &&
			 resolver_is_32bit(&f->resolver, pending->mappings);
	if (pending->event)
		count_event(f, pending, &sample);
	else
		tick_stats_count(&f->profile->stats, &entry);
	samples_add(&threads_get(&f->profile->threads, pending->thread)->samples, &sample);
}

/* Stack lost: drop the sample, or the marker's value. */
static void lose_sample(struct sample_feed *f, const struct pending_sample *pending)
{
	const struct rec *rec = &pending->rec.rec;
	uint64_t time = tasks_time(f->tasks, rec->time);
	struct rec_lost lost = {
		.rec.cpu = rec->cpu,
		.cause = f->lost_cause,
		.event = pending->event,
		.count = rec->weight ? rec->weight : 1,
	};

	if (pending->marker_value) {
		f->profile->stats.lost_marker_values++;
		return;
	}
	if (pending->wait) {
		f->profile->stats.waits.lost_stacks++;
		waits_set_stack(&f->waits, pending->wait - 1, NO_STACK);
		return;
	}
	/* The allocation stays in the profile without its stack. */
	if (pending->alloc)
		return;
	if (pending->event)
		lost.count = pending->period;
	losses_add(f->losses, &lost, time);
}

static void feed_pending(struct sample_feed *f, struct pending_sample *pending)
{
	const struct rec_sample *rec = &pending->rec;
	raw_stack_id raw = NO_RAW_STACK;

	pending->mappings = process_mappings_at(tasks_process_of(f->tasks, pending->thread),
						tasks_time(f->tasks, rec->rec.time));
	if (!(rec->rec.flags & SAMPLE_NO_STACK)) {
		raw = raw_stacks_find(&f->resolver.raw, rec->stack_id);
		if (raw == NO_RAW_STACK) {
			if (!pending_add(&f->pending, pending))
				lose_sample(f, pending);
			return;
		}
	}
	place_sample(f, pending, raw);
}

static void feed_sample(struct sample_feed *f, const struct rec_sample *rec)
{
	thread_id thread = tasks_sampled(f->tasks, &rec->rec, 0);
	struct pending_sample pending = {
		.rec = *rec,
		.thread = thread,
		.cpu_time = thread_read_cpu(&f->tasks->threads, thread, rec->rec.time,
					    rec->cpu_time),
	};

	waits_seen(&f->waits, thread, rec->rec.time, &pending.cpu_time);
	life_markers_cpu(f->tasks, thread, tasks_time(f->tasks, rec->rec.time), rec->rec.cpu);
	feed_pending(f, &pending);
}

/*
 * Reads the final CPU time of a dead thread. The record neither introduces the thread nor implies
 * that the filters passed it.
 */
static void feed_death(struct sample_feed *f, const struct rec_sample *sample)
{
	thread_id thread = tasks_known(f->tasks, &sample->rec);
	uint32_t cpu;

	if (thread == NO_THREAD)
		return;
	cpu = thread_read_cpu(&f->tasks->threads, thread, sample->rec.time, sample->cpu_time);
	waits_seen(&f->waits, thread, sample->rec.time, &cpu);
}

static void feed_wait(struct sample_feed *f, const struct rec_wait *rec)
{
	const struct rec_sample *sample = &rec->sample;
	struct pending_sample pending = {.rec = *sample};
	uint32_t row;

	if (rec->reason.state == WAIT_DEAD) {
		feed_death(f, sample);
		return;
	}
	pending.thread = tasks_sampled(f->tasks, &sample->rec, rec->start);
	row = waits_begin(&f->waits, pending.thread, rec);
	if (row == NO_WAIT)
		return;
	pending.wait = row + 1;
	feed_pending(f, &pending);
}

static void feed_run(struct sample_feed *f, const struct rec_resumed *rec)
{
	thread_id thread = tasks_sampled(f->tasks, &rec->rec, rec->start);

	waits_end(&f->waits, thread, rec);
	if (!(rec->rec.flags & RUN_SHORT))
		life_markers_cpu(f->tasks, thread, tasks_time(f->tasks, rec->rec.time),
				 rec->rec.cpu);
}

void sample_feed_exit(struct sample_feed *f, thread_id thread, const struct rec_exit *rec)
{
	uint64_t time = tasks_time(f->tasks, rec->rec.time);
	uint32_t cpu;

	if (rec->cpu_time)
		cpu = thread_read_cpu(&f->tasks->threads, thread, time, rec->cpu_time);
	waits_seen(&f->waits, thread, time, rec->cpu_time ? &cpu : NULL);
	waits_exit(&f->waits, thread);
}

/* Events with an unknown id are ignored and do not mark the task alive. */
static void feed_event(struct sample_feed *f, const struct rec_event *rec)
{
	struct pending_sample pending = {
		.rec = rec->sample,
		.event = rec->event,
		.period = rec->period,
	};

	if (!rec->event || rec->event >= EVENT_COUNTS_MAX)
		return;
	pending.thread = tasks_sampled(f->tasks, &rec->sample.rec, 0);
	waits_seen(&f->waits, pending.thread, rec->sample.rec.time, NULL);
	feed_pending(f, &pending);
}

static void feed_alloc(struct sample_feed *f, const struct rec_alloc *rec)
{
	struct pending_sample pending = {.rec = rec->sample};
	uint32_t row;

	pending.thread = tasks_sampled(f->tasks, &rec->sample.rec, 0);
	waits_seen(&f->waits, pending.thread, rec->sample.rec.time, NULL);
	row = alloc_feed_add(&f->allocs, pending.thread, rec);
	if (row == NO_ALLOC)
		return;
	pending.alloc = row + 1;
	feed_pending(f, &pending);
}

void sample_feed_marker_stack(void *ctx, uint32_t value, const struct rec_marker_stack *stack)
{
	struct sample_feed *f = ctx;
	process_id process = process_table_find(&f->tasks->processes, stack->pid);
	struct pending_sample pending = {
		.rec = {.leaf = stack->leaf, .stack_id = stack->stack_id},
		.marker_value = value + 1,
	};

	/* A marker does not introduce a task that was never recorded. */
	if (process == NO_PROCESS) {
		f->profile->stats.lost_marker_values++;
		return;
	}
	record_init(&pending.rec.rec, REC_SAMPLE, sizeof(pending.rec), stack->time, stack->pid,
		    stack->tid);
	pending.rec.rec.flags = stack->flags;
	pending.thread = f->tasks->processes.rows.items[process].main_thread;
	feed_pending(f, &pending);
}

static void feed_stack(struct sample_feed *f, const struct rec_stack *rec)
{
	raw_stack_id raw = raw_stacks_add(&f->resolver.raw, rec);
	struct pending_sample pending;
	struct rec_stack *next;

	if (raw == NO_RAW_STACK) {
		pending_add_stack(&f->pending, rec);
		return;
	}
	while (pending_take(&f->pending, rec->stack_id, &pending)) {
		place_sample(f, &pending, raw);
		mapping_table_drop(pending.mappings);
	}
	while ((next = pending_take_stack(&f->pending, rec->stack_id))) {
		feed_stack(f, next);
		free(next);
	}
}

void sample_feed_record(struct sample_feed *f, const struct rec *rec)
{
	if (rec->kind == REC_SAMPLE)
		feed_sample(f, (const struct rec_sample *)rec);
	else if (rec->kind == REC_STACK)
		feed_stack(f, (const struct rec_stack *)rec);
	else if (rec->kind == REC_EVENT)
		feed_event(f, (const struct rec_event *)rec);
	else if (rec->kind == REC_ALLOC)
		feed_alloc(f, (const struct rec_alloc *)rec);
	else if (rec->kind == REC_WAIT)
		feed_wait(f, (const struct rec_wait *)rec);
	else
		feed_run(f, (const struct rec_resumed *)rec);
}

static void lose_before(struct sample_feed *f, uint64_t time_ns)
{
	struct pending_sample pending;
	uint32_t cursor = 0;

	while (pending_take_next(&f->pending, time_ns, &cursor, &pending)) {
		lose_sample(f, &pending);
		mapping_table_drop(pending.mappings);
	}
}

void sample_feed_mark_stacks(const struct sample_feed *f, bool *used)
{
	waits_mark_stacks(&f->waits, used);
	alloc_feed_mark_stacks(&f->allocs, used);
}

void sample_feed_move_stacks(struct sample_feed *f, const stack_id *map)
{
	waits_move_stacks(&f->waits, map);
	alloc_feed_move_stacks(&f->allocs, map);
	resolver_clear(&f->resolver);
}

void sample_feed_forget(struct sample_feed *f, uint64_t before_ns)
{
	lose_before(f, before_ns);
	resolver_forget(&f->resolver);
}

void sample_feed_finish(struct sample_feed *f, uint64_t end_ns)
{
	lose_before(f, UINT64_MAX);
	waits_finish(&f->waits, end_ns);
	alloc_feed_finish(&f->allocs);
}
