/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/write_internal.h"

INDEX_EQUAL(is_equal, struct cpu_stacks, rows, a->program == b->program && a->stack == b->stack)

static uint32_t find(const struct cpu_stacks *c, const struct cpu_stack *row)
{
	return index_find(&c->index, hash_pair(row->program, row->stack), is_equal, c, row);
}

static uint32_t add(struct cpu_stacks *c, const struct cpu_stack *row)
{
	uint32_t id = (uint32_t)c->rows.count;

	vec_push(&c->rows, *row);
	index_add(&c->index, hash_pair(row->program, row->stack), id);
	return id;
}

static uint32_t add_root(struct cpu_stacks *c, const struct profile *p, string_id program)
{
	struct cpu_stack row = {
		.frame = (uint32_t)(p->frames.rows.count + c->programs.count),
		.parent = NO_STACK,
		.program = program,
		.stack = NO_STACK,
	};

	vec_push(&c->programs, program);
	return add(c, &row);
}

uint32_t cpu_stacks_intern(struct cpu_stacks *c, const struct profile *p, string_id program,
			   stack_id stack)
{
	uint32_t first = (uint32_t)p->stacks.rows.count, id = INDEX_NONE;
	VEC(stack_id) missing = {0};

	/* The outer part of the stack may already exist. */
	for (;; stack = p->stacks.rows.items[stack].parent) {
		id = find(c, &(struct cpu_stack){.program = program, .stack = stack});
		if (id != INDEX_NONE || stack == NO_STACK)
			break;
		vec_push(&missing, stack);
	}
	if (id == INDEX_NONE)
		id = add_root(c, p, program);
	while (missing.count) {
		stack = missing.items[--missing.count];
		id = add(c, &(struct cpu_stack){
				    .frame = p->stacks.rows.items[stack].frame,
				    .parent = first + id,
				    .program = program,
				    .stack = stack,
			    });
	}
	vec_release(&missing);
	return first + id;
}

void cpu_stacks_release(struct cpu_stacks *c)
{
	vec_release(&c->rows);
	index_release(&c->index);
	vec_release(&c->programs);
}

/* Allocations of a row, and their frees: the table nativeAllocations. */

ORDER(compare_times, struct allocation, COMPARE(a->time, b->time))

static void collect(const struct firefox *f, const struct thread_row *row, struct allocations *all)
{
	size_t members = 0;

	for (size_t i = 0; i < row->count; i++) {
		thread_id id = f->rows.members.items[row->first + i];
		const struct allocations *own = &f->profile->threads.rows.items[id].allocations;

		vec_for_each(&own->rows, const struct allocation *, allocation)
			vec_push(&all->rows, *allocation);
		members += own->rows.count > 0;
	}
	if (members > 1)
		qsort(all->rows.items, all->rows.count, sizeof(*all->rows.items), compare_times);
}

/* Blocks are numbered: front-ends only compare the addresses, and a profile has none. */
static void write_table(const struct firefox *f, struct jsonw *w, const struct allocations *all,
			const struct allocation_events *events)
{
#define COLUMN(key, format) \
	FIREFOX_COLUMN(w, key, &events->rows, struct allocation_event, event, at, format)
#define ROW (&all->rows.items[event->row])
	jsonw_member(w, "nativeAllocations", object_begin);
	COLUMN("time", jsonw_format_ms(at, firefox_time(f, event->time)));
	COLUMN("weight",
	       jsonw_format_i64(at, event->is_free ? -(int64_t)ROW->bytes : (int64_t)ROW->bytes));
	jsonw_member(w, "weightType", cstring, WEIGHTS_ARE_BYTES);
	COLUMN("stack", firefox_format_position(at, ROW->stack));
	COLUMN("memoryAddress", jsonw_format_u64(at, event->row + 1ull));
	COLUMN("threadId", jsonw_format_u64(at, ROW->tid));
	jsonw_member(w, "length", u64, events->rows.count);
	jsonw_object_end(w);
#undef COLUMN
#undef ROW
}

void firefox_write_allocations(const struct firefox *f, struct jsonw *w,
			       const struct thread_row *row)
{
	struct allocation_events events = {0};
	struct allocations all = {0};

	if (row->kind == ROW_THREAD || row->kind == ROW_MERGED)
		collect(f, row, &all);
	allocations_list(&all, &events);
	if (events.rows.count)
		write_table(f, w, &all, &events);
	vec_release(&events.rows);
	vec_release(&all.rows);
}

/*
 * Writes a thread's samples. Front-ends extend a stack to the thread's next sample, however late,
 * so rows without a stack mark the times off the CPU.
 */

/* Times are relative to the start of the file. */
struct filler {
	const struct profile *profile;
	struct firefox_samples *out;
	uint64_t interval;
	uint64_t edge; /* distance between the row of a gap and the adjacent sample */
	uint64_t peak; /* maximum rate for rows of events; 0: rows with CPU time */
};

/* Rounds an interval down to three digits, so that times take few characters. */
static uint64_t edge_of(uint64_t interval)
{
	uint64_t unit = 1;

	while (interval / unit >= 1000)
		unit *= 10;
	return interval / unit * unit;
}

static void add_row(struct firefox_samples *out, const struct sample *row)
{
	samples_add(&out->rows, row);
	out->last = *row;
}

static void add_null_row(struct filler *f, uint64_t time, uint32_t cpu_delta)
{
	const struct sample row = {.time = time, .stack = NO_STACK, .cpu_delta = cpu_delta};

	add_row(f->out, &row);
	f->out->gap_rows++;
}

static void add_gap_row(struct filler *f, uint64_t time)
{
	add_null_row(f, time, 0);
}

/* Distance from the row that ends a gap to its sample: the sample's CPU time fits in between. */
static uint64_t end_of_gap(const struct filler *f, const struct sample *sample)
{
	return !f->peak && sample->cpu_delta > f->edge ? sample->cpu_delta : f->edge;
}

static bool is_null(const struct sample *row)
{
	return row->stack == NO_STACK && !row->weight;
}

/*
 * Marks the time before a thread's first sample, during which it did not run. It may already have a
 * row at its start, and a row of several threads one at the end of each. `before`: time of the last
 * such row, or the thread's start.
 */
static void add_first_gap(struct filler *f, uint64_t before, struct sample *sample)
{
	uint64_t passed = sample->time - before, used;

	if (!samples_count(&f->out->rows)) {
		if (passed <= f->interval)
			return;
		add_gap_row(f, before);
	}
	if (sample->cpu_delta > passed)
		sample->cpu_delta = (uint32_t)passed;
	used = end_of_gap(f, sample);
	/* A sample without CPU time draws nothing before it. */
	if (passed > 2 * f->interval && passed > used && (f->peak || sample->cpu_delta))
		add_gap_row(f, sample->time - used);
}

/*
 * True if a wait continues until the sample. Its last row may have CPU time: the kernel counts some
 * before the thread is switched in. Its weight identifies the same wait: plus the first row's, it
 * equals the elapsed time up to the random points at both ends.
 */
static bool goes_on_waiting(const struct filler *f, uint64_t passed, const struct sample *sample)
{
	const struct sample *before = &f->out->last;

	if (!profile_is_wait(f->profile, before))
		return false;
	return !sample->cpu_delta ||
	       (sample->stack == before->stack && sample->weight + 2ull >= passed / f->interval);
}

/*
 * Returns the time that the last row represents, which is one interval more than its ticks. 0 for a
 * row without weight, and for recordings, whose ticks precede the row.
 */
static uint64_t covered(const struct filler *f)
{
	const struct sample *last = &f->out->last;

	if (f->peak || !f->profile->meta.sample_ticks || profile_is_wait(f->profile, last))
		return 0;
	return (last->weight + 1ull) * f->interval;
}

/*
 * Marks time off the CPU between two samples. A thread that used CPU time throughout has lost
 * samples; it did not sleep. One that waits without CPU time is still waiting.
 */
static void add_gap(struct filler *f, uint64_t before, const struct sample *sample)
{
	uint64_t passed = sample->time - before, used = end_of_gap(f, sample);

	if (passed <= 2 * f->interval || passed <= f->edge + used || passed <= covered(f))
		return;
	if (goes_on_waiting(f, passed, sample))
		return;
	add_gap_row(f, before + f->edge);
	if (sample->cpu_delta || !is_null(sample))
		add_gap_row(f, sample->time - used);
}

/* The samples of an event within an interval. */
struct window {
	const struct samples *of;
	struct sample_iterator first; /* behind `oldest` */
	const struct sample *oldest;
	uint64_t weight;
};

static const struct sample *next_of(struct sample_iterator *it, uint8_t event)
{
	const struct sample *sample = sample_iterator_next(it);

	while (sample && sample->event != event)
		sample = sample_iterator_next(it);
	return sample;
}

/* Returns the weight of the samples up to this one that are at most an interval older. */
static uint64_t weight_around(struct window *w, uint64_t interval, const struct sample *sample)
{
	w->weight += sample->weight;
	if (!w->oldest) {
		w->first = samples_begin(w->of);
		w->oldest = next_of(&w->first, sample->event);
	}
	while (sample->time - w->oldest->time >= interval) {
		w->weight -= w->oldest->weight;
		w->oldest = next_of(&w->first, sample->event);
	}
	return w->weight;
}

void firefox_find_peaks(struct firefox *f)
{
	struct samples own = {0};

	vec_for_each(&f->rows.list, const struct thread_row *, row) {
		uint64_t *peak = &f->event_peaks[row->event];
		uint64_t interval = firefox_interval(f), weight;
		const struct samples *samples;
		struct window window;

		if (!row->event)
			continue;
		/* A row for all threads is drawn at its full height. */
		if (event_is_derived(f->profile, row->event)) {
			*peak = 1;
			continue;
		}
		samples = thread_row_samples(&f->rows, row, &own);
		window = (struct window){.of = samples};
		samples_for_each(samples, sample) {
			if (sample->event != row->event)
				continue;
			weight = weight_around(&window, interval, sample);
			*peak = MAX(*peak, weight);
		}
		sample_iterator_release(&window.first);
	}
	samples_release(&own);
}

/* Share of the time since the previous row: the event's rate relative to its highest. */
static uint32_t rate_as_cpu_time(uint64_t passed, uint64_t weight, uint64_t peak)
{
	double share = (double)weight / (double)peak;
	double time = share < 1 ? (double)passed * share : (double)passed;

	return time < UINT32_MAX ? (uint32_t)time : UINT32_MAX;
}

static void add_sample(struct filler *f, struct sample sample, uint64_t event_weight)
{
	struct firefox_samples *out = f->out;

	if (f->peak)
		sample.cpu_delta = samples_count(&out->rows)
					   ? rate_as_cpu_time(sample.time - out->last.time,
							      event_weight, f->peak)
					   : 0;
	/* Without weights, a sample without a stack would look like a gap. */
	out->has_weights |= sample.weight != 1 || sample.stack == NO_STACK;
	add_row(out, &sample);
}

/* Only a thread's clock row has event delays. */
static void find_tasks(const struct firefox *f, const struct thread_row *row,
		       struct long_tasks *tasks)
{
	const struct profile *p = f->profile;

	vec_clear(&tasks->rows);
	if (row->kind != ROW_THREAD)
		return;
	long_tasks_find(tasks, p, &p->threads.rows.items[f->rows.members.items[row->first]]);
	vec_for_each(&tasks->rows, struct long_task *, task) {
		task->start = firefox_time(f, task->start);
		task->end = firefox_time(f, task->end);
	}
}

/*
 * Bounds the CPU time of rows by the time between them: front-ends show at most one CPU for a row
 * shared by several threads. The row's sum keeps the excess.
 */
static void bound_cpu_time(struct firefox_samples *out)
{
	uint64_t before = 0, left = 0;
	bool is_first = true;

	samples_change_each(&out->rows, sample) {
		uint64_t passed = sample->time - before;

		out->cpu_ns += sample->cpu_delta;
		if (!is_first && sample->cpu_delta > passed) {
			left += sample->cpu_delta - passed;
			sample->cpu_delta = (uint32_t)passed;
		}
		before = sample->time;
		is_first = false;
	}
	if (!left)
		out->cpu_ns = 0;
}

void firefox_samples_fill(const struct firefox *f, const struct thread_row *row,
			  struct firefox_samples *out)
{
	struct filler filler = {
		.profile = f->profile,
		.out = out,
		.interval = firefox_interval(f),
		.edge = edge_of(firefox_interval(f)),
		.peak = f->event_peaks[row->event],
	};
	struct samples own = {0};
	const struct samples *samples = thread_row_samples(&f->rows, row, &own);
	struct window window = {.of = samples};
	const uint64_t begin = firefox_time(f, row->start);
	/* A row of all threads has no gaps: each stack lasts until the next. */
	const bool has_gaps = !event_is_derived(f->profile, row->event);
	uint64_t before = begin, weight = 0;
	bool has_samples = false, is_first = true;

	samples_release(&out->rows);
	find_tasks(f, row, &out->tasks);
	out->gap_rows = 0;
	out->cpu_ns = 0;
	out->has_weights = false;
	samples_for_each(samples, from) {
		struct sample sample = *from;

		if (sample.event != row->event)
			continue;
		sample.time = firefox_time(f, sample.time);
		/* Raise a time out of order to that of the previous sample. */
		sample.time = MAX(sample.time, before);
		if (!has_samples &&
		    (!is_null(&sample) || !is_first || sample.time > begin + filler.interval))
			add_first_gap(&filler, before, &sample);
		else if (has_samples && has_gaps)
			add_gap(&filler, before, &sample);
		has_samples |= !is_null(&sample);
		if (filler.peak)
			weight = weight_around(&window, filler.interval, from);
		before = sample.time;
		is_first = false;
		if (is_null(&sample))
			add_null_row(&filler, sample.time, filler.peak ? 0 : sample.cpu_delta);
		else
			add_sample(&filler, sample, weight);
	}
	sample_iterator_release(&window.first);
	samples_release(&own);
	/* Both sides of a difference merge threads of one or more processes in a row. */
	if ((row->is_merged || f->difference) && !filler.peak)
		bound_cpu_time(out);
}

void firefox_samples_release(struct firefox_samples *s)
{
	samples_release(&s->rows);
	vec_release(&s->tasks.rows);
}
