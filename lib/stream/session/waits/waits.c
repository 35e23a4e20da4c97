/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/waits/waits.h"

#include <elf.h>
#include <math.h>

#include "lib/model/meaning/categories.h"
#include "lib/model/meaning/marker_completion.h"
#include "lib/stream/session/tasks/tasks.h"

/* Fewer sampled long waits than this are too few to estimate the others. */
#define LONG_SAMPLED_MIN 16
/* Larger deviations are not sampling errors. */
#define DEVIATIONS 4

struct wait_rows *wait_rows_new(uint64_t seed, const struct cpu_clock *clock)
{
	struct wait_rows *w = xcalloc(1, sizeof(*w));

	w->seed = seed;
	w->begin_ns = clock->first.time;
	return w;
}

void wait_rows_free(struct wait_rows *w)
{
	if (!w)
		return;
	vec_release(&w->parts);
	samples_release(&w->rows);
	free(w);
}

void wait_rows_add(struct wait_rows *w, const struct wait_part *part)
{
	vec_push(&w->parts, *part);
}

/* Returns the number of waits that a sampled one represents. */
static double wait_part_count(const struct wait_part *part)
{
	return part->chance ? 4294967296.0 / ((double)part->chance + 1) : 1;
}

/* Returns the time that the part represents, in ns. */
static double estimate(const struct wait_part *part)
{
	return (double)part->length * wait_part_count(part);
}

/* Sums over the parts of each group. */
struct sums {
	double known[WAIT_GROUP_COUNT]; /* sum of lengths */
	double estimated[WAIT_GROUP_COUNT];
	double variance; /* variance of the estimate of short waits */
	size_t sampled; /* number of sampled long waits */
};

static struct sums sum_up(const struct wait_rows *w)
{
	struct sums sums = {0};

	vec_for_each(&w->parts, const struct wait_part *, part) {
		double stands_for = estimate(part), length = (double)part->length;

		sums.known[part->group] += length;
		sums.estimated[part->group] += stands_for;
		if (part->group == WAIT_SHORT)
			sums.variance += stands_for * (stands_for - length);
		sums.sampled += part->group == WAIT_LONG;
	}
	return sums;
}

static double bounded(double value, double middle, double range)
{
	return fmin(fmax(value, middle - range), middle + range);
}

/*
 * Sets the factor of each group's estimates. The lengths of all long waits are known, so those with
 * a stack are scaled to the total. Short waits get the rest of the time off the CPU. That rest
 * includes time taken by interrupts or other virtual machines, so the estimate is corrected only
 * within the sampling error, and never beyond the available time: at a tiny chance, one wait
 * represents billions.
 */
static void fit(const struct wait_rows *w, const struct cpu_clock *clock, double *factors,
		bool *counts_lengths)
{
	struct sums sums = sum_up(w);
	double known = sums.known[WAIT_LONG] + sums.known[WAIT_LONG_UNSAMPLED];
	double passed = (double)clock->last.time - (double)w->begin_ns;
	double used = (double)(clock->used_ns - w->begin_used_ns);
	double left = passed - used - known - sums.known[WAIT_COUNTS];
	double estimated = sums.estimated[WAIT_SHORT];

	*counts_lengths = sums.sampled < LONG_SAMPLED_MIN || sums.known[WAIT_LONG_UNSAMPLED] == 0;
	factors[WAIT_COUNTS] = 1;
	factors[WAIT_LONG] = *counts_lengths ? 1 : known / sums.estimated[WAIT_LONG];
	factors[WAIT_LONG_UNSAMPLED] = *counts_lengths;
	factors[WAIT_SHORT] = 1;
	if (estimated > 0)
		factors[WAIT_SHORT] =
			fmin(fmax(0, bounded(left, estimated, DEVIATIONS * sqrt(sums.variance))),
			     fmax(left, sums.known[WAIT_SHORT])) /
			estimated;
}

static void add_part_row(struct wait_rows *w, const struct wait_part *part, uint64_t time,
			 double weight)
{
	const struct sample row = {
		.time = time,
		.stack = part->stack,
		.weight = weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX,
		.cpu_delta = part->cpu,
		.cpu = NO_CPU,
	};

	samples_add(&w->rows, &row);
}

/* `before`: the points before the part, which become those before the next one. */
static void add_rows(struct wait_rows *w, const struct wait_part *part, double waited,
		     double interval, double *before)
{
	double end = w->position + waited, after = points_before(w->seed, end, interval);
	double points = after - *before;

	w->position = end;
	*before = after;
	if (points >= 1)
		add_part_row(w, part, part->start, 1);
	if (points >= 2)
		add_part_row(w, part, part->start + part->length, points - 1);
}

void wait_rows_flush(struct wait_rows *w, const struct cpu_clock *clock, uint64_t interval_ns,
		     struct wait_stats *stats)
{
	double factors[WAIT_GROUP_COUNT], interval = (double)interval_ns;
	double before = points_before(w->seed, w->position, interval);
	bool counts_lengths;

	fit(w, clock, factors, &counts_lengths);
	vec_for_each(&w->parts, const struct wait_part *, part) {
		double stands_for = part->group == WAIT_LONG && counts_lengths
					    ? (double)part->length
					    : estimate(part);
		double waited = stands_for * factors[part->group];

		if (part->group != WAIT_LONG_UNSAMPLED)
			stats->estimated_ns += estimate(part);
		stats->fitted_ns += waited;
		add_rows(w, part, waited, interval, &before);
	}
	vec_clear(&w->parts);
	w->begin_ns = clock->last.time;
	w->begin_used_ns = clock->used_ns;
}

/* Frees spare room: few further waits are expected, or none. */
static void wait_rows_trim(struct wait_rows *w)
{
	vec_fit(&w->parts);
	samples_close(&w->rows);
}

void wait_rows_place(struct wait_rows *w, struct profile_thread *thread)
{
	samples_merge(&thread->samples, &w->rows);
}

/* Mark the stacks of parts and rows, see stacks_mark(), and replace them by the new ids. */
static void wait_rows_mark_stacks(const struct wait_rows *w, const struct stacks *stacks,
				  bool *used)
{
	vec_for_each(&w->parts, const struct wait_part *, part)
		stacks_mark(stacks, part->stack, used);
	samples_for_each(&w->rows, sample)
		stacks_mark(stacks, sample->stack, used);
}

static void wait_rows_move_stacks(struct wait_rows *w, const stack_id *map)
{
	vec_for_each(&w->parts, struct wait_part *, part) {
		if (part->stack != NO_STACK)
			part->stack = map[part->stack];
	}
	samples_change_each(&w->rows, sample) {
		if (sample->stack != NO_STACK)
			sample->stack = map[sample->stack];
	}
}

enum wait_stack_taken {
	WAIT_STACK_NONE,
	WAIT_STACK_BY_CHANCE,
	WAIT_STACK_BY_LENGTH, /* stack taken during the wait, or of every wait */
};

struct slow_wait {
	thread_id thread;
	uint64_t start, end;
	stack_id stack; /* stack with the label */
	struct wait_reason reason;
	enum wait_stack_taken taken;
	uint32_t chance; /* for WAIT_STACK_BY_CHANCE, in 2^-32 */
};

double points_before(uint64_t seed, double position, double interval)
{
	double number = floor(position / interval), within = position / interval - number;
	uint64_t point = hash_pair(seed, (uint64_t)number) >> 11;

	return number + ((double)point * 0x1p-53 < within);
}

static frame_id intern_label(struct wait_labels *l, const char *text,
			     struct frame_category category)
{
	string_id name = strings_intern(&l->profile->strings, text);

	return label_frames_intern(l->profile, name, category);
}

/* Determined from any program's file: all programs of a machine share one native table. */
static enum system_call_table native_table(const struct profile *p)
{
	vec_for_each(&p->modules.rows, const struct module *, module) {
		if (module->machine == EM_AARCH64)
			return CALLS_ARM64;
		if (module->machine == EM_X86_64)
			break;
	}
	return CALLS_X86_64;
}

/* Returns NULL if unknown, as are calls of 32-bit programs except i386. */
static const struct system_call *find_call(struct wait_labels *l, const struct wait_reason *reason)
{
	enum system_call_table table = native_table(l->profile);
	uint32_t number = (uint32_t)reason->call;

	if (reason->flags & WAIT_COMPAT) {
		if (table != CALLS_X86_64)
			return NULL;
		table = CALLS_I386;
	}
	if (number >= WAIT_LABEL_CALLS)
		return NULL;
	if (!l->is_known[table][number]) {
		l->calls[table][number] = system_call_find(table, reason->call);
		l->is_known[table][number] = true;
	}
	return l->calls[table][number];
}

static struct frame_category idle(enum idle_subcategory subcategory)
{
	return (struct frame_category){CATEGORY_IDLE, (uint8_t)subcategory};
}

/*
 * The kernel always reports io_uring_enter as waiting for I/O. A call that waits for time or events
 * can be interrupted by signals, unless something else blocks it.
 */
static struct frame_category category_of_call(const struct system_call *call,
					      const struct wait_reason *reason)
{
	static const uint8_t subcategories[] = {
		[CALL_WAIT_OTHER] = IDLE_OTHER,	  [CALL_WAIT_EVENT] = IDLE_OTHER,
		[CALL_WAIT_TIMER] = IDLE_OTHER,	  [CALL_WAIT_LOCK] = IDLE_LOCK,
		[CALL_WAIT_DISK] = IDLE_DISK,	  [CALL_WAIT_PIPE] = IDLE_PIPE,
		[CALL_WAIT_SOCKET] = IDLE_SOCKET, [CALL_WAIT_CHILD] = IDLE_CHILD,
	};
	bool is_io = reason->flags & WAIT_IO;

	if (!call)
		return idle(is_io ? IDLE_DISK : IDLE_OTHER);
	if (strcmp(call->name, "io_uring_enter") == 0)
		return idle(IDLE_OTHER);
	if (call->waits_for == CALL_WAIT_TIMER && reason->state == WAIT_SLEEPING)
		return idle(IDLE_TIMER);
	if (call->waits_for == CALL_WAIT_EVENT && reason->state == WAIT_SLEEPING)
		return idle(IDLE_FOR_WORK);
	return idle(is_io ? IDLE_DISK : subcategories[call->waits_for]);
}

static frame_id label_of_call(struct wait_labels *l, const struct wait_reason *reason)
{
	const struct system_call *call = find_call(l, reason);
	char text[64];

	if (call)
		snprintf(text, sizeof(text), "[%s]", call->name);
	else
		snprintf(text, sizeof(text), "[system call %" PRId32 "]", reason->call);
	return intern_label(l, text, category_of_call(call, reason));
}

static frame_id label_of_kernel_thread(struct wait_labels *l, const struct wait_reason *reason)
{
	struct frame_category category = idle(IDLE_FOR_WORK);

	if (reason->state == WAIT_UNINTERRUPTIBLE)
		category = idle(reason->flags & WAIT_IO ? IDLE_DISK : IDLE_OTHER);
	return intern_label(l, "[kernel thread]", category);
}

static frame_id label_of(struct wait_labels *l, const struct wait_reason *reason,
			 bool is_kernel_thread)
{
	if (reason->state == WAIT_RUNNABLE)
		return intern_label(l, "[preempted]", idle(IDLE_PREEMPTED));
	if (reason->state == WAIT_STOPPED)
		return intern_label(l, "[stopped]", idle(IDLE_OTHER));
	if (reason->state == WAIT_TRACED)
		return intern_label(l, "[traced]", idle(IDLE_OTHER));
	if (is_kernel_thread)
		return label_of_kernel_thread(l, reason);
	if (reason->call >= 0)
		return label_of_call(l, reason);
	if (reason->call == WAIT_CALL_UNKNOWN)
		return intern_label(l, "[waiting]", idle(IDLE_OTHER));
	/* User code outside of system calls waits only for page faults. */
	return intern_label(l, "[page fault]", idle(IDLE_FAULT));
}

/* Packs all that decides the label of a wait; never 0. */
static uint64_t label_key(const struct wait_labels *l, const struct wait_reason *reason,
			  bool is_kernel_thread)
{
	uint32_t thread = native_table(l->profile) << 2 | (uint32_t)is_kernel_thread << 1 | 1;

	return (uint64_t)(uint32_t)reason->call << 32 | thread << 16 |
	       (uint32_t)reason->state << 8 | reason->flags;
}

/* Adds the label to the stack; NO_STACK: a stack of the label alone. */
static stack_id wait_labels_add(struct wait_labels *l, stack_id stack,
				const struct wait_reason *reason, bool is_kernel_thread)
{
	uint64_t key = label_key(l, reason, is_kernel_thread);
	struct wait_label *label = &l->frames[hash_u64(key) % WAIT_LABEL_FRAMES];

	if (label->key != key)
		*label = (struct wait_label){key, label_of(l, reason, is_kernel_thread)};
	return stacks_intern(&l->profile->stacks, stack, label->frame);
}

/* Adds the label for the end of a wait, in which the thread was runnable but had no CPU. */
static stack_id wait_labels_add_queued(struct wait_labels *l, stack_id stack)
{
	if (!l->queued.key)
		l->queued = (struct wait_label){1, intern_label(l, "[queued]", idle(IDLE_QUEUED))};
	return stacks_intern(&l->profile->stacks, stack, l->queued.frame);
}

/* Forgets the frames of labels, which have got other ids. */
static void wait_labels_clear(struct wait_labels *l)
{
	memset(l->frames, 0, sizeof(l->frames));
	l->queued = (struct wait_label){0};
}

/* "[read]" → "read" */
static string_id without_brackets(struct strings *strings, string_id label)
{
	const char *text = strings_get(strings, label);
	size_t size = strings_size(strings, label);

	return size > 2 ? strings_intern_sized(strings, text + 1, size - 2) : label;
}

/* Formats "one of 12 like it". */
static string_id taken_text(struct strings *strings, const struct slow_wait *wait)
{
	char text[48];

	if (wait->taken == WAIT_STACK_NONE)
		return strings_intern(strings, "not at all");
	if (wait->taken == WAIT_STACK_BY_LENGTH || !wait->chance)
		return strings_intern(strings, "by length");
	snprintf(text, sizeof(text), "one of %.0f like it", 4294967296.0 / wait->chance);
	return strings_intern(strings, text);
}

static void set_values(struct profile *p, const struct marker *marker, const struct slow_wait *wait,
		       string_id label)
{
	struct marker_value *values = marker_value(&p->markers, marker, 0);
	string_id call = without_brackets(&p->strings, label);

	if (wait->reason.argument && system_call_takes_file(strings_get(&p->strings, call)))
		values[SLOW_WAIT_FD] = marker_integer(wait->reason.argument - 1);
	values[SLOW_WAIT_TAKEN] = marker_string(taken_text(&p->strings, wait));
	values[MARKER_SLOW_CALL_FIELD_COUNT] = marker_stack(wait->stack);
	values[MARKER_SLOW_CALL_FIELD_COUNT].time = wait->start;
	values[SLOW_WAIT_CALL] = marker_string(call);
}

/* Adds a marker to the thread, unless the label means that the thread idled. */
static void wait_markers_add(struct tasks *tasks, const struct slow_wait *wait)
{
	struct profile *p = tasks->profile;
	const struct frame *label = profile_frame_of(p, wait->stack);
	string_id name = p->funcs.rows.items[label->func].name;
	struct marker marker;
	schema_id schema;

	/* The wait for an event may turn out to be a lock once functions have names. */
	if (label->subcategory == IDLE_TIMER ||
	    (label->subcategory == IDLE_FOR_WORK && wait->taken == WAIT_STACK_NONE))
		return;
	schema = slow_waits_schema(p);
	if (schema == NO_SCHEMA)
		return;
	marker = markers_make(&p->markers, schema, wait->start, wait->end);
	set_values(p, &marker, wait, name);
	thread_add_marker(&tasks->threads, wait->thread, &marker);
}

/* Maximum number of parts of waits kept until their threads are fitted. */
#define PARTS_MAX (1u << 20)
/*
 * Maximum number of open waits searched per thread. There are more only if records were lost or
 * stacks come very late.
 */
#define OPEN_MAX 64
/* The chance of waits that are always sampled. */
#define CERTAIN UINT32_MAX

void waits_init(struct waits *w, struct tasks *tasks)
{
	w->tasks = tasks;
	w->stats = &tasks->profile->stats.waits;
	w->free = NO_WAIT;
	w->labels.profile = tasks->profile;
}

void waits_release(struct waits *w)
{
	vec_release(&w->rows);
	for (size_t i = 0; i < w->tasks->threads.rows.count; i++)
		wait_rows_free(w->tasks->threads.rows.items[i].wait_rows);
}

static struct thread *thread_of(struct waits *w, thread_id id)
{
	return &w->tasks->threads.rows.items[id];
}

static uint32_t add_row(struct waits *w, thread_id thread)
{
	struct thread *owner = thread_of(w, thread);
	uint32_t id = w->free;

	if (id == NO_WAIT) {
		id = (uint32_t)w->rows.count;
		vec_add_zeroed(&w->rows, 1);
	} else {
		w->free = w->rows.items[id].next;
	}
	w->rows.items[id] = (struct open_wait){
		.thread = thread,
		.next = owner->open_waits,
		.previous = NO_WAIT,
		.stack = NO_STACK,
	};
	if (owner->open_waits != NO_WAIT)
		w->rows.items[owner->open_waits].previous = id;
	owner->open_waits = id;
	return id;
}

static void remove_row(struct waits *w, uint32_t id)
{
	struct open_wait *row = &w->rows.items[id];

	if (row->previous == NO_WAIT)
		thread_of(w, row->thread)->open_waits = row->next;
	else
		w->rows.items[row->previous].next = row->next;
	if (row->next != NO_WAIT)
		w->rows.items[row->next].previous = row->previous;
	row->next = w->free;
	row->stack = NO_STACK;
	w->free = id;
}

/* Returns the thread's wait that began at that time; NO_WAIT if there is none. */
static uint32_t find_row(struct waits *w, thread_id thread, uint64_t start)
{
	uint32_t id = thread_of(w, thread)->open_waits;

	for (int i = 0; i < OPEN_MAX && id != NO_WAIT; i++, id = w->rows.items[id].next) {
		if (w->rows.items[id].start == start)
			return id;
	}
	return NO_WAIT;
}

/*
 * An unrecorded start is that of the thread, of the recording, or of recording's last resumption.
 */
static uint64_t known_start(struct waits *w, thread_id thread, uint64_t start)
{
	const struct profile_thread *row = threads_get(&w->tasks->profile->threads, thread);

	if (start)
		return tasks_time(w->tasks, start);
	return row->start > w->resumed_ns ? row->start : w->resumed_ns;
}

static struct wait_rows *rows_of(struct waits *w, thread_id id)
{
	struct thread *thread = thread_of(w, id);
	const struct profile_thread *row = threads_get(&w->tasks->profile->threads, id);

	if (!thread->wait_rows)
		thread->wait_rows =
			wait_rows_new(hash_pair((uint64_t)row->pid << 32 | row->tid,
						row->start - w->tasks->profile->meta.start_ns),
				      &thread->cpu);
	return thread->wait_rows;
}

/* Returns the ns that a weight of 1 represents. */
static uint64_t interval_of(const struct waits *w)
{
	uint64_t interval = w->tasks->profile->meta.interval_ns;

	return interval ? interval : 1000000;
}

static void place(struct waits *w, thread_id id)
{
	struct wait_rows *rows = thread_of(w, id)->wait_rows;

	if (rows && samples_count(&rows->rows))
		wait_rows_place(rows, threads_get(&w->tasks->profile->threads, id));
}

/* Turns all parts into rows. Threads that have ended are then complete. */
static void flush(struct waits *w)
{
	for (thread_id id = 0; id < w->tasks->threads.rows.count; id++) {
		struct thread *thread = thread_of(w, id);

		if (!thread->wait_rows)
			continue;
		wait_rows_flush(thread->wait_rows, &thread->cpu, interval_of(w), w->stats);
		if (!thread->has_ended)
			continue;
		place(w, id);
		wait_rows_free(thread->wait_rows);
		thread->wait_rows = NULL;
	}
	w->parts = 0;
}

static void add_part(struct waits *w, thread_id thread, const struct wait_part *part)
{
	if (!part->length)
		return;
	if (w->parts >= PARTS_MAX)
		flush(w);
	wait_rows_add(rows_of(w, thread), part);
	w->parts++;
}

static enum wait_group group_of(const struct waits *w, const struct open_wait *row)
{
	uint64_t length = row->end - row->start, interval = w->tasks->profile->meta.interval_ns;

	if (length >= WAIT_CERTAIN_NS || (row->has_begin && !row->is_sampled))
		return WAIT_COUNTS;
	if (!row->is_sampled)
		return WAIT_LONG_UNSAMPLED;
	return interval && length >= 2 * interval ? WAIT_LONG : WAIT_SHORT;
}

static void add_slow(struct waits *w, const struct open_wait *row, stack_id stack)
{
	const struct slow_wait slow = {
		.thread = row->thread,
		.start = row->start,
		.end = row->end,
		.stack = stack,
		.reason = row->reason,
		.chance = row->chance,
		.taken = row->stack == NO_STACK			     ? WAIT_STACK_NONE
			 : row->is_sampled && row->chance != CERTAIN ? WAIT_STACK_BY_CHANCE
								     : WAIT_STACK_BY_LENGTH,
	};
	bool is_blocked = row->reason.state == WAIT_SLEEPING ||
			  row->reason.state == WAIT_UNINTERRUPTIBLE;

	if (is_blocked && !row->is_kernel_thread)
		wait_markers_add(w->tasks, &slow);
}

/*
 * Adds a completed wait as two parts: the time in which the thread was blocked, and that in which
 * it was queued.
 */
static void add_wait(struct waits *w, const struct open_wait *row)
{
	uint64_t start = row->covered ? row->covered : row->start;
	uint64_t length = row->end > start ? row->end - start : 0;
	bool is_queued = row->reason.state != WAIT_RUNNABLE;
	uint64_t queued = !is_queued ? 0 : row->queued < length ? row->queued : length;
	struct wait_part part = {
		.start = start,
		.length = length - queued,
		.cpu = row->cpu,
		.group = (uint8_t)group_of(w, row),
	};

	if (row->is_sampled && part.group != WAIT_COUNTS)
		part.chance = row->chance;
	w->stats->count += wait_part_count(&part);

	part.stack = wait_labels_add(&w->labels, row->stack, &row->reason, row->is_kernel_thread);
	add_part(w, row->thread, &part);
	if (row->reason.state == WAIT_STOPPED)
		life_markers_stopped(w->tasks, row->thread, row->start, part.start + part.length);
	if (w->slow_ns && length >= w->slow_ns)
		add_slow(w, row, part.stack);
	if (!queued)
		return;
	part.start += part.length;
	part.length = queued;
	part.stack = wait_labels_add_queued(&w->labels, row->stack);
	add_part(w, row->thread, &part);
}

static void finish_if_complete(struct waits *w, uint32_t id)
{
	const struct open_wait *row = &w->rows.items[id];

	if (!row->has_end || row->awaits_begin || row->awaits_stack)
		return;
	add_wait(w, row);
	remove_row(w, id);
}

/*
 * Ends a wait whose end was never reported. Without a later record of its thread, it lasts until
 * the recording or the thread ends. Otherwise the end is the time at which the thread was seen
 * running, less the CPU time used since; only known if no other wait can have come between.
 */
static bool find_end(struct waits *w, struct open_wait *row, uint64_t end_ns)
{
	const struct profile_thread *thread = threads_get(&w->tasks->profile->threads, row->thread);
	int32_t used = (int32_t)(row->seen_cpu - row->cpu);

	if (!row->seen) {
		row->end = thread_of(w, row->thread)->has_ended ? thread->end : end_ns;
		thread_read_cpu(&w->tasks->threads, row->thread, row->end,
				row->cpu + thread_of(w, row->thread)->cpu.base);
		return true;
	}
	row->end = row->seen;
	if (row->is_sampled && row->chance != CERTAIN)
		return false;
	if (row->seen_has_cpu && used > 0)
		row->end -= (uint64_t)used << 4 < row->end - row->start ? (uint64_t)used << 4 : 0;
	return true;
}

/* Closes a wait with the records that have arrived. */
static void close_row(struct waits *w, uint32_t id, uint64_t end_ns)
{
	struct open_wait *row = &w->rows.items[id];

	if (row->has_end || find_end(w, row, end_ns))
		add_wait(w, row);
	else
		w->stats->unended++;
	remove_row(w, id);
}

/* Bounds the number of a thread's open waits. */
static void close_oldest(struct waits *w, thread_id thread)
{
	uint32_t id = thread_of(w, thread)->open_waits;

	for (int i = 0; i < OPEN_MAX && id != NO_WAIT; i++)
		id = w->rows.items[id].next;
	if (id != NO_WAIT && !w->rows.items[id].awaits_stack &&
	    (w->rows.items[id].seen || w->rows.items[id].has_end))
		close_row(w, id, 0);
}

/* Kernel threads map nothing and make no system calls. A process's mappings may have been lost. */
static bool is_kernel_thread(struct waits *w, thread_id thread, const struct wait_reason *reason)
{
	return reason->call < 0 && !tasks_process_of(w->tasks, thread)->mappings->rows.count;
}

uint32_t waits_begin(struct waits *w, thread_id thread, const struct rec_wait *rec)
{
	uint64_t start = known_start(w, thread, rec->start);
	uint32_t id = find_row(w, thread, start), cpu;
	struct open_wait *row;

	/* CPU time stands still until the wait ends. */
	cpu = thread_read_cpu(&w->tasks->threads, thread, start, rec->sample.cpu_time);
	waits_seen(w, thread, start, &cpu);
	/* A wait sampled at random may be visited later. */
	if (id != NO_WAIT && w->rows.items[id].has_begin)
		return NO_WAIT;
	if (id == NO_WAIT) {
		close_oldest(w, thread);
		id = add_row(w, thread);
	}
	row = &w->rows.items[id];
	row->start = start;
	row->cpu = cpu;
	row->reason = rec->reason;
	row->chance = rec->chance;
	row->is_sampled = rec->chance;
	row->is_kernel_thread = rec->sample.rec.flags & SAMPLE_KERNEL_THREAD;
	row->has_begin = true;
	row->awaits_begin = false;
	row->awaits_stack = true;
	w->stats->sampled++;
	if (row->is_sampled && (!w->stats->chance_min || rec->chance < w->stats->chance_min))
		w->stats->chance_min = rec->chance;
	return id;
}

void waits_set_stack(struct waits *w, uint32_t id, stack_id stack)
{
	struct open_wait *row = &w->rows.items[id];

	row->stack = stack;
	row->awaits_stack = false;
	finish_if_complete(w, id);
}

void waits_end(struct waits *w, thread_id thread, const struct rec_resumed *rec)
{
	uint64_t start = known_start(w, thread, rec->start);
	uint32_t id = find_row(w, thread, start), cpu;
	struct open_wait *row;

	cpu = thread_read_cpu(&w->tasks->threads, thread, start, rec->cpu_time);
	waits_seen(w, thread, start, &cpu);
	thread_read_cpu(&w->tasks->threads, thread, tasks_time(w->tasks, rec->rec.time),
			rec->cpu_time);
	/* Sampled waits represent it. */
	if (rec->rec.flags & RUN_SHORT)
		return;
	if (id == NO_WAIT || w->rows.items[id].has_end) {
		close_oldest(w, thread);
		id = add_row(w, thread);
		w->rows.items[id].start = start;
		w->rows.items[id].is_kernel_thread = is_kernel_thread(w, thread, &rec->reason);
		w->rows.items[id].awaits_begin = rec->rec.flags & RUN_SAMPLED;
	}
	row = &w->rows.items[id];
	row->cpu = cpu;
	row->end = tasks_time(w->tasks, rec->rec.time);
	row->queued = rec->queued;
	row->reason = rec->reason;
	if (rec->rec.flags & RUN_SAMPLED) {
		row->is_sampled = true;
		row->chance = rec->chance;
	}
	row->has_end = true;
	finish_if_complete(w, id);
}

const struct system_call *waits_call(struct waits *w, const struct wait_reason *reason)
{
	return find_call(&w->labels, reason);
}

const struct frame *waits_label(struct waits *w, const struct wait_reason *reason)
{
	struct profile *p = w->tasks->profile;
	stack_id stack = wait_labels_add(&w->labels, NO_STACK, reason, false);

	return profile_frame_of(p, stack);
}

void waits_seen(struct waits *w, thread_id thread, uint64_t time, const uint32_t *cpu)
{
	uint32_t id = thread_of(w, thread)->open_waits;

	for (int i = 0; i < OPEN_MAX && id != NO_WAIT; i++, id = w->rows.items[id].next) {
		struct open_wait *row = &w->rows.items[id];

		/* The record that set this one has also set the older ones. */
		if (row->seen && row->seen <= time)
			return;
		if (row->has_end || time <= row->start)
			continue;
		row->seen = time;
		row->seen_has_cpu = cpu;
		row->seen_cpu = cpu ? *cpu : 0;
	}
}

/* Ends a wait whose stack may still come. A wait of unknown length is dropped. */
static void cut_wait(struct waits *w, uint32_t id, uint64_t time)
{
	struct open_wait *row = &w->rows.items[id];

	if (!find_end(w, row, time)) {
		w->stats->unended++;
		row->end = row->start;
	}
	row->has_end = true;
	row->awaits_begin = false;
	finish_if_complete(w, id);
}

void waits_exit(struct waits *w, thread_id thread)
{
	if (thread_of(w, thread)->wait_rows)
		wait_rows_trim(thread_of(w, thread)->wait_rows);
}

void waits_pause(struct waits *w, uint64_t time)
{
	for (thread_id thread = 0; thread < w->tasks->threads.rows.count; thread++) {
		uint32_t id = thread_of(w, thread)->open_waits, next;

		for (; id != NO_WAIT; id = next) {
			next = w->rows.items[id].next;
			if (!w->rows.items[id].has_end)
				cut_wait(w, id, time);
		}
	}
	flush(w);
}

void waits_resume(struct waits *w, uint64_t time)
{
	w->resumed_ns = time;
	vec_for_each(&w->tasks->threads.rows, struct thread *, thread) {
		if (thread->wait_rows)
			thread->wait_rows->begin_ns = time;
	}
}

/* Emits the part so far of an open wait, unless a random sample will represent it. */
static void emit_open(struct waits *w, uint32_t id, uint64_t time)
{
	struct open_wait *row = &w->rows.items[id];
	struct wait_part part = {
		.start = row->covered ? row->covered : row->start,
		.cpu = row->cpu,
		.group = WAIT_COUNTS,
	};

	if (row->has_end || !row->has_begin || row->awaits_stack || row->seen ||
	    time < row->start + WAIT_CERTAIN_NS || time <= part.start)
		return;
	part.length = time - part.start;
	part.stack = wait_labels_add(&w->labels, row->stack, &row->reason, row->is_kernel_thread);
	row->covered = time;
	add_part(w, row->thread, &part);
}

void waits_place(struct waits *w)
{
	for (thread_id id = 0; id < w->tasks->threads.rows.count; id++)
		place(w, id);
}

static void place_rows(struct waits *w)
{
	flush(w);
	waits_place(w);
}

void waits_advance(struct waits *w, uint64_t time)
{
	for (thread_id thread = 0; thread < w->tasks->threads.rows.count; thread++) {
		uint32_t id = thread_of(w, thread)->open_waits;

		for (; id != NO_WAIT; id = w->rows.items[id].next)
			emit_open(w, id, time);
	}
	place_rows(w);
}

size_t waits_row_count(const struct waits *w)
{
	size_t sum = 0;

	vec_for_each(&w->tasks->threads.rows, const struct thread *, thread)
		sum += thread->wait_rows ? samples_count(&thread->wait_rows->rows) : 0;
	return sum;
}

void waits_mark_stacks(const struct waits *w, bool *used)
{
	const struct stacks *stacks = &w->tasks->profile->stacks;

	vec_for_each(&w->rows, const struct open_wait *, row)
		stacks_mark(stacks, row->stack, used);
	vec_for_each(&w->tasks->threads.rows, const struct thread *, thread) {
		if (thread->wait_rows)
			wait_rows_mark_stacks(thread->wait_rows, stacks, used);
	}
}

void waits_move_stacks(struct waits *w, const stack_id *map)
{
	wait_labels_clear(&w->labels);
	vec_for_each(&w->rows, struct open_wait *, row) {
		if (row->stack != NO_STACK)
			row->stack = map[row->stack];
	}
	vec_for_each(&w->tasks->threads.rows, struct thread *, thread) {
		if (thread->wait_rows)
			wait_rows_move_stacks(thread->wait_rows, map);
	}
}

void waits_finish(struct waits *w, uint64_t end_ns)
{
	for (thread_id id = 0; id < w->tasks->threads.rows.count; id++) {
		while (thread_of(w, id)->open_waits != NO_WAIT)
			close_row(w, thread_of(w, id)->open_waits, end_ns);
	}
	place_rows(w);
}
