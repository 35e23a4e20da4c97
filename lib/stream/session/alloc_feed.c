/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/sample_feed.h"

/* Minimum distance of the counter's values. */
#define COUNTER_STEP_NS 10000000ull
/* CPUs' clocks differ by less than this. */
#define CLOCK_SKEW_NS 1000000ull
/* Alignment of blocks in ranges: the smallest page size of any machine. */
#define RANGE_STEP 4096u

void alloc_feed_init(struct alloc_feed *f, struct tasks *tasks)
{
	*f = (struct alloc_feed){
		.tasks = tasks,
		.max = FED_ALLOCS_MAX,
		.random = 0x9e3779b97f4a7c15ull,
	};
}

void alloc_feed_release(struct alloc_feed *f)
{
	vec_release(&f->rows);
	index_release(&f->by_address);
	vec_release(&f->free_rows);
	vec_release(&f->held);
}

INDEX_EQUAL(address_equal, struct alloc_feed, rows,
	    a->process == b->process && a->address == b->address)

static uint64_t hash_of(const struct fed_alloc *row)
{
	return hash_pair(row->process, row->address);
}

static struct alloc_stats *stats_of(struct alloc_feed *f)
{
	return &f->tasks->profile->stats.allocs;
}

/* Returns a random number from 0 to `end` - 1. */
static uint64_t next_random(struct alloc_feed *f, uint64_t end)
{
	f->random ^= f->random << 13;
	f->random ^= f->random >> 7;
	f->random ^= f->random << 17;
	return f->random % end;
}

/* Notes that the block is no longer held. */
static void end_row(struct alloc_feed *f, struct fed_alloc *row, uint64_t time)
{
	index_remove(&f->by_address, hash_of(row), (uint32_t)(row - f->rows.items));
	f->held.items[row->process]--;
	row->allocation.freed = time > row->allocation.time ? time : row->allocation.time;
}

static void add_loose_end(struct alloc_feed *f, const struct fed_alloc *key, const struct rec *rec,
			  bool is_free)
{
	f->loose_ends[f->loose_count++ % LOOSE_ENDS_MAX] = (struct loose_end){
		.process = key->process,
		.address = key->address,
		.time = rec->time,
		.cpu = rec->cpu,
		.is_free = is_free,
	};
}

/* True if the record may be earlier than the loose end, within the skew of the clocks. */
static bool may_precede(const struct rec *rec, const struct loose_end *end)
{
	return rec->time <= end->time ||
	       (rec->cpu != end->cpu && rec->time - end->time <= CLOCK_SKEW_NS);
}

/*
 * Finds the free for an allocation, or for a free the allocation that reused its block's address.
 * Marks the loose end as matched; NULL if there is none.
 */
static const struct loose_end *take_loose_end(struct alloc_feed *f, const struct fed_alloc *key,
					      const struct rec *rec, bool is_free)
{
	for (size_t i = 0; i < LOOSE_ENDS_MAX; i++) {
		struct loose_end *end = &f->loose_ends[i];

		if (end->is_free != is_free || end->process != key->process ||
		    end->address != key->address || !may_precede(rec, end))
			continue;
		end->process = NO_PROCESS;
		return end;
	}
	return NULL;
}

static void drop_row(struct alloc_feed *f, struct fed_alloc *row)
{
	row->process = NO_PROCESS;
	vec_push(&f->free_rows, (uint32_t)(row - f->rows.items));
}

/*
 * Merges rows in pairs: keeps one of the two at random, in proportion to their bytes, with the
 * bytes of both.
 */
static void halve(struct alloc_feed *f)
{
	struct fed_alloc *before = NULL;

	f->halvings++;
	vec_for_each(&f->rows, struct fed_alloc *, row) {
		struct fed_alloc *kept, *other;
		uint64_t sum;

		if (row->process == NO_PROCESS)
			continue;
		if (!before) {
			before = row;
			continue;
		}
		sum = before->allocation.bytes + row->allocation.bytes;
		kept = next_random(f, sum ? sum : 1) < row->allocation.bytes ? row : before;
		other = kept == row ? before : row;
		kept->allocation.bytes = sum;
		if (!other->allocation.freed)
			end_row(f, other, other->allocation.time);
		drop_row(f, other);
		stats_of(f)->thinned++;
		before = NULL;
	}
}

static uint32_t take_row(struct alloc_feed *f)
{
	if (!f->free_rows.count && f->rows.count >= f->max)
		halve(f);
	if (f->free_rows.count)
		return f->free_rows.items[--f->free_rows.count];
	vec_push(&f->rows, (struct fed_alloc){.process = NO_PROCESS});
	return (uint32_t)(f->rows.count - 1);
}

static void add_held(struct alloc_feed *f, process_id process)
{
	if (process >= f->held.count)
		vec_add_zeroed(&f->held, process + 1 - f->held.count);
	f->held.items[process]++;
}

uint32_t alloc_feed_add(struct alloc_feed *f, thread_id thread, const struct rec_alloc *rec)
{
	struct fed_alloc row = {
		.process = f->tasks->threads.rows.items[thread].process,
		.address = rec->address,
		.allocation = {.time = tasks_time(f->tasks, rec->sample.rec.time),
			       .bytes = rec->weighted,
			       .stack = NO_STACK,
			       .tid = rec->sample.rec.tid},
	};
	const struct loose_end *end = take_loose_end(f, &row, &rec->sample.rec, true);
	uint32_t at;

	stats_of(f)->sampled++;
	stats_of(f)->bytes += rec->weighted;
	at = index_find(&f->by_address, hash_of(&row), address_equal, f, &row);
	if (end) {
		stats_of(f)->unmatched--;
		stats_of(f)->matched++;
	} else if (at != INDEX_NONE) {
		/*
		 * The free of the earlier block was lost or is late. Its row must end first in any
		 * case.
		 */
		end_row(f, &f->rows.items[at], row.allocation.time - !!row.allocation.time);
		add_loose_end(f, &row, &rec->sample.rec, false);
	}
	if (f->halvings && next_random(f, 1ull << (f->halvings & 63))) {
		stats_of(f)->thinned++;
		return NO_ALLOC;
	}
	row.allocation.bytes <<= f->halvings & 63;
	at = take_row(f);
	f->rows.items[at] = row;
	index_add(&f->by_address, hash_of(&row), at);
	add_held(f, row.process);
	if (end)
		end_row(f, &f->rows.items[at], tasks_time(f->tasks, end->time));
	return at;
}

void alloc_feed_set_stack(struct alloc_feed *f, uint32_t row, uint64_t time, stack_id stack)
{
	/* The row may have been dropped and reused since. */
	if (f->rows.items[row].allocation.time == time)
		f->rows.items[row].allocation.stack = stack;
}

static void free_at(struct alloc_feed *f, uint32_t row, const struct rec_free *rec)
{
	stats_of(f)->matched++;
	end_row(f, &f->rows.items[row], tasks_time(f->tasks, rec->rec.time));
}

/*
 * Ends all blocks that the process holds in the range. Looks up each page or scans all rows,
 * whichever is faster.
 */
static void free_range(struct alloc_feed *f, const struct rec_free *rec, process_id process)
{
	uint64_t pages = rec->size / RANGE_STEP;

	if (process >= f->held.count || !f->held.items[process])
		return;
	for (uint64_t i = 0; pages < f->rows.count && i < pages; i++) {
		struct fed_alloc key = {
			.process = process,
			.address = rec->address + i * RANGE_STEP,
		};
		uint32_t at = index_find(&f->by_address, hash_of(&key), address_equal, f, &key);

		if (at != INDEX_NONE)
			free_at(f, at, rec);
	}
	for (uint32_t i = 0; pages >= f->rows.count && i < f->rows.count; i++) {
		const struct fed_alloc *row = &f->rows.items[i];

		if (row->process == process && !row->allocation.freed &&
		    row->address - rec->address < rec->size)
			free_at(f, i, rec);
	}
}

void alloc_feed_free(struct alloc_feed *f, const struct rec_free *rec)
{
	struct fed_alloc key = {
		.process = process_table_find(&f->tasks->processes, rec->rec.pid),
		.address = rec->address,
	};
	uint32_t at;

	if (rec->size) {
		free_range(f, rec, key.process);
		return;
	}
	at = index_find(&f->by_address, hash_of(&key), address_equal, f, &key);
	/* The free may be that of the previous block, which has already ended. */
	if (at != INDEX_NONE && take_loose_end(f, &key, &rec->rec, false)) {
		stats_of(f)->matched++;
		return;
	}
	if (at == INDEX_NONE) {
		stats_of(f)->unmatched++;
		add_loose_end(f, &key, &rec->rec, true);
		return;
	}
	free_at(f, at, rec);
}

void alloc_feed_exec(struct alloc_feed *f, process_id process, uint64_t time)
{
	if (process >= f->held.count || !f->held.items[process])
		return;
	vec_for_each(&f->rows, struct fed_alloc *, row) {
		if (row->process == process && !row->allocation.freed)
			end_row(f, row, time);
	}
}

void alloc_feed_mark_stacks(const struct alloc_feed *f, bool *used)
{
	vec_for_each(&f->rows, const struct fed_alloc *, row) {
		if (row->process != NO_PROCESS)
			stacks_mark(&f->tasks->profile->stacks, row->allocation.stack, used);
	}
}

void alloc_feed_move_stacks(struct alloc_feed *f, const stack_id *map)
{
	vec_for_each(&f->rows, struct fed_alloc *, row) {
		if (row->process != NO_PROCESS && row->allocation.stack != NO_STACK)
			row->allocation.stack = map[row->allocation.stack];
	}
}

ORDER(compare_times, struct allocation, COMPARE(a->time, b->time) ?: COMPARE(a->tid, b->tid))

/* Allocation stacks begin with functions of the shim. */
static stack_id leave_out_shim(const struct profile *p, stack_id stack)
{
	for (; stack != NO_STACK; stack = p->stacks.rows.items[stack].parent) {
		const struct frame *frame = profile_frame_of(p, stack);
		const struct module *module = frame->module == NO_MODULE
						      ? NULL
						      : &p->modules.rows.items[frame->module];

		if (!module ||
		    !text_ends_with(strings_get(&p->strings, module->path), "/" ALLOC_SHIM_NAME))
			break;
	}
	return stack;
}

static void add_counter(struct alloc_feed *f, const struct profile_thread *thread)
{
	const struct counter_schema *schema = counter_schema(COUNTER_MALLOC);
	struct profile *p = f->tasks->profile;
	struct allocation_events events = {0};
	struct counter row = {
		.pid = thread->pid,
		.incarnation = thread->incarnation,
		.name = strings_intern(&p->strings, schema->name),
		.category = strings_intern(&p->strings, schema->category),
		.description = strings_intern(&p->strings, schema->description),
		.label = strings_intern(&p->strings, schema->name),
		.unit = strings_intern(&p->strings, schema->unit),
		.color = strings_intern(&p->strings, schema->color),
		.graph = (uint8_t)schema->graph,
	};

	allocations_list(&thread->allocations, &events);
	counter_add_sample(&row, thread->allocations.rows.items[0].time, 0);
	vec_for_each(&events.rows, const struct allocation_event *, event) {
		int64_t bytes = (int64_t)thread->allocations.rows.items[event->row].bytes;
		uint64_t last = vec_last(&row.samples).time;

		counter_add_sample(&row, event->time - last < COUNTER_STEP_NS ? last : event->time,
				   event->is_free ? -bytes : bytes);
	}
	vec_release(&events.rows);
	if (profile_counters_add(&p->counters, &row) == NO_COUNTER)
		vec_release(&row.samples);
}

void alloc_feed_finish(struct alloc_feed *f)
{
	struct profile *p = f->tasks->profile;

	vec_for_each(&f->rows, struct fed_alloc *, row) {
		struct profile_thread *thread;

		if (row->process == NO_PROCESS)
			continue;
		if (!row->allocation.freed)
			stats_of(f)->held_bytes += row->allocation.bytes;
		else if (f->held_only)
			continue;
		row->allocation.stack = leave_out_shim(p, row->allocation.stack);
		thread = threads_get(&p->threads,
				     f->tasks->processes.rows.items[row->process].main_thread);
		vec_push(&thread->allocations.rows, row->allocation);
	}
	vec_for_each(&p->threads.rows, struct profile_thread *, thread) {
		struct allocations *all = &thread->allocations;

		if (!all->rows.count)
			continue;
		qsort(all->rows.items, all->rows.count, sizeof(*all->rows.items), compare_times);
		add_counter(f, thread);
	}
}
