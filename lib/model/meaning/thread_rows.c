/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/thread_rows.h"

#include "lib/model/meaning/thread_times.h"

ORDER(compare_processes, struct thread_row,
      COMPARE(a->pid, b->pid) ?: COMPARE(a->incarnation, b->incarnation))

static bool is_root(const struct thread_rows *r, const struct thread_row *row)
{
	uint32_t root = r->profile->meta.root_pid;

	return root && row->pid == root && !row->incarnation;
}

/* Compares ids last, so that the order never depends on the sort. */
static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct thread_row *left = a, *right = b;
	const struct thread_rows *r = ctx;
	int result = is_root(r, right) - is_root(r, left);

	if (!result && r->is_machine)
		result = left->is_kernel - right->is_kernel;
	else if (!result)
		result = COMPARE(left->process_start, right->process_start);
	if (!result)
		result = COMPARE(right->process_cpu_ns, left->process_cpu_ns);
	if (!result)
		result = compare_processes(left, right);
	if (!result)
		result = right->is_main - left->is_main;
	if (!result)
		result = COMPARE(left->start, right->start);
	if (!result)
		result = COMPARE(right->cpu_ns, left->cpu_ns);
	if (!result)
		result = COMPARE(left->tid, right->tid);
	return result ? result
		      : COMPARE(r->members.items[left->first], r->members.items[right->first]);
}

/* Sorts rows of threads as above. */
static void thread_rows_sort(struct thread_rows *r)
{
	if (r->list.count > 1)
		qsort_r(r->list.items, r->list.count, sizeof(*r->list.items), compare_rows, r);
}

/* Threads of further programs share a row with single threads. */
#define PROGRAMS_MAX 100
#define NO_GROUP UINT32_MAX
#define NO_ROW SIZE_MAX
#define OTHERS 0

struct group {
	string_id program; /* NO_STRING: threads of several programs */
	size_t count; /* number of threads */
	size_t processes; /* number of main threads among them */
};

struct merger {
	struct thread_rows *rows;
	size_t *mains; /* by row: main thread of its process, or NO_ROW */
	bool *is_crowd; /* by row: short-lived, of a program with many short-lived processes */
	bool *is_kept; /* by row: has a row of its own */
	uint32_t *group_of; /* by row; NO_GROUP: row is kept */
	size_t kept;
	VEC(struct group)
	groups; /* groups.items[OTHERS] has the rows without a group of their own */
	size_t programs; /* number of different values of program_of() */
};

static bool is_same_process(const struct thread_row *a, const struct thread_row *b)
{
	return a->pid == b->pid && a->incarnation == b->incarnation;
}

static void find_mains(struct merger *m)
{
	const struct thread_row *rows = m->rows->list.items;
	size_t main = NO_ROW;

	for (size_t i = 0; i < m->rows->list.count; i++) {
		if (rows[i].is_main)
			main = i;
		else if (main != NO_ROW && !is_same_process(&rows[i], &rows[main]))
			main = NO_ROW;
		m->mains[i] = main;
	}
}

/* Keeps a thread and the main thread of its process. */
static void keep(struct merger *m, size_t row)
{
	size_t main = m->mains[row];

	m->kept += !m->is_kept[row];
	m->is_kept[row] = true;
	if (main == NO_ROW || m->is_kept[main])
		return;
	m->is_kept[main] = true;
	m->kept++;
}

static bool is_short_lived(const struct merger *m, const struct thread_row *row)
{
	return !row->is_merged && row->start > m->rows->profile->meta.start_ns && row->end;
}

/* Returns an index into arrays of programs. */
static size_t program_of(const struct merger *m, const struct thread_row *row)
{
	return row->process_name == NO_STRING ? m->programs - 1 : row->process_name;
}

/*
 * Finds programs with more than `processes` short-lived processes. Returns false if there are none.
 */
static bool find_crowds(struct merger *m, size_t processes)
{
	_cleanup_free_ size_t *counts = xcalloc(m->programs, sizeof(*counts));
	bool has_any = false;

	vec_for_each(&m->rows->list, const struct thread_row *, row)
		counts[program_of(m, row)] += row->is_main && is_short_lived(m, row);
	for (size_t i = 0; i < m->rows->list.count; i++) {
		const struct thread_row *row = &m->rows->list.items[i];

		/* Other threads follow the main thread of their process. */
		if (!row->is_main)
			m->is_crowd[i] = m->mains[i] != NO_ROW && m->is_crowd[m->mains[i]];
		else if (is_short_lived(m, row))
			m->is_crowd[i] = counts[program_of(m, row)] > processes;
		has_any |= m->is_crowd[i];
	}
	return has_any;
}

/* Follows the order of the file, so that the result does not depend on ids. */
static void choose_kept(struct merger *m, size_t max)
{
	size_t rows = m->rows->list.count, count = 0;
	_cleanup_free_ struct radix_row *busy = xcalloc(rows + 1, sizeof(*busy));

	keep(m, 0);
	for (size_t i = 0; i < rows; i++) {
		const struct thread_row *row = &m->rows->list.items[i];

		if (!is_short_lived(m, row))
			keep(m, i);
		else if (!m->is_crowd[i])
			busy[count++] = (struct radix_row){UINT64_MAX - row->cpu_ns, (uint32_t)i};
	}
	radix_sort(busy, count);
	for (size_t i = 0; i < count && m->kept < max; i++)
		keep(m, busy[i].value);
}

static void count_programs(struct merger *m)
{
	_cleanup_free_ uint32_t *of_programs = xcalloc(m->programs, sizeof(*of_programs));

	vec_push(&m->groups, (struct group){.program = NO_STRING});
	for (size_t i = 0; i < m->rows->list.count; i++) {
		const struct thread_row *row = &m->rows->list.items[i];
		uint32_t *id = &of_programs[program_of(m, row)];

		m->group_of[i] = NO_GROUP;
		if (m->is_kept[i])
			continue;
		if (!*id) {
			*id = (uint32_t)m->groups.count;
			vec_push(&m->groups, (struct group){.program = row->process_name});
		}
		m->groups.items[*id].count++;
		m->groups.items[*id].processes += row->is_main;
		m->group_of[i] = *id;
	}
}

/* Merges groups of one thread and groups beyond PROGRAMS_MAX into the others' group. */
static void merge_small_groups(struct merger *m)
{
	struct group *groups = m->groups.items;
	size_t programs = 0;

	for (size_t id = 1; id < m->groups.count; id++) {
		if (groups[id].count > 1 && ++programs <= PROGRAMS_MAX)
			continue;
		groups[OTHERS].count += groups[id].count;
		groups[OTHERS].processes += groups[id].processes;
		groups[id].count = 0;
	}
	for (size_t i = 0; i < m->rows->list.count; i++) {
		uint32_t *id = &m->group_of[i];

		if (*id == NO_GROUP || groups[*id].count)
			continue;
		/* A single thread keeps its row. */
		*id = groups[OTHERS].count > 1 ? OTHERS : NO_GROUP;
	}
	if (groups[OTHERS].count == 1)
		groups[OTHERS].count = 0;
}

static string_id name_group(struct merger *m, const struct group *group)
{
	const char *program = group->program == NO_STRING
				      ? "other programs"
				      : string_overlay_get(m->rows->strings, group->program);
	_cleanup_free_ char *name = xasprintf("%s × %zu", program,
					      group->processes ? group->processes : group->count);

	return string_overlay_intern(m->rows->strings, name);
}

/* Initializes a group's row from its first thread. */
static void begin_group(struct merger *m, struct thread_row *row, const struct group *group)
{
	row->kind = ROW_MERGED;
	row->incarnation |= MERGED_INCARNATION;
	row->tid = row->pid;
	row->title = row->process_title = row->name = row->process_name = name_group(m, group);
	row->process_label = row->arguments = NO_STRING;
	row->is_main = row->is_merged = true;
}

static void add_member(struct thread_row *to, const struct thread_row *from)
{
	to->start = from->start < to->start ? from->start : to->start;
	to->end = from->end > to->end ? from->end : to->end;
	to->cpu_ns += from->cpu_ns;
	to->blocked += from->blocked;
	to->has_run |= from->has_run;
	to->is_kernel = to->is_kernel && from->is_kernel;
	to->events |= from->events;
	to->count += from->count;
}

/* Makes one row of a group. Its threads go to `members`. */
static struct thread_row merge_group(struct merger *m, uint32_t id, thread_id *members,
				     size_t *used)
{
	struct thread_row row = {0};

	for (size_t i = 0; i < m->rows->list.count; i++) {
		const struct thread_row *member = &m->rows->list.items[i];

		if (m->group_of[i] != id)
			continue;
		if (row.count) {
			add_member(&row, member);
		} else {
			row = *member;
			row.first = *used;
			begin_group(m, &row, &m->groups.items[id]);
		}
		members[(*used)++] = m->rows->members.items[member->first];
	}
	row.process_start = row.start;
	row.process_end = row.end;
	row.process_cpu_ns = row.cpu_ns;
	return row;
}

static struct merge_counts merge_groups(struct merger *m)
{
	struct thread_rows *r = m->rows;
	struct merge_counts counts = {0};
	struct thread_row *old = r->list.items;
	size_t count = r->list.count, used = 0, kept = 0;
	_cleanup_free_ struct thread_row *rows = xcalloc(m->groups.count, sizeof(*rows));
	thread_id *members = xcalloc(count + 1, sizeof(*members));

	for (uint32_t id = 0; id < m->groups.count; id++) {
		if (!m->groups.items[id].count)
			continue;
		rows[counts.rows++] = merge_group(m, id, members, &used);
		counts.threads += m->groups.items[id].count;
	}
	for (size_t i = 0; i < count; i++) {
		if (m->group_of[i] != NO_GROUP)
			continue;
		members[used] = r->members.items[old[i].first];
		old[kept] = old[i];
		old[kept++].first = used++;
	}
	r->list.count = kept;
	for (size_t i = 0; i < counts.rows; i++)
		vec_push(&r->list, rows[i]);
	memcpy(r->members.items, members, used * sizeof(*members));
	free(members);
	return counts;
}

static void merger_init(struct merger *m, struct thread_rows *r)
{
	size_t count = r->list.count + 1;

	*m = (struct merger){.rows = r, .programs = string_overlay_count(r->strings) + 1};
	m->mains = xcalloc(count, sizeof(*m->mains));
	m->is_crowd = xcalloc(count, sizeof(*m->is_crowd));
	m->is_kept = xcalloc(count, sizeof(*m->is_kept));
	m->group_of = xcalloc(count, sizeof(*m->group_of));
}

static void merger_release(struct merger *m)
{
	free(m->mains);
	free(m->is_crowd);
	free(m->is_kept);
	free(m->group_of);
	vec_release(&m->groups);
}

struct merge_counts thread_rows_merge(struct thread_rows *r, const struct merge_limits *limits)
{
	struct merge_counts counts = {0};
	struct merger m;

	merger_init(&m, r);
	find_mains(&m);
	if (find_crowds(&m, limits->processes) || r->list.count > limits->rows) {
		choose_kept(&m, limits->rows);
		count_programs(&m);
		merge_small_groups(&m);
		counts = merge_groups(&m);
	}
	merger_release(&m);
	if (counts.rows)
		thread_rows_sort(r);
	return counts;
}

/* Marks of a stack. */
enum {
	BEGINS_IN_KERNEL = 1 << 0, /* its outermost frame is in the kernel */
	IS_WAIT = 1 << 1, /* as profile_is_wait() for the clock's samples */
};

/* Marks stacks once, for all samples. The caller frees the marks. */
static uint8_t *mark_stacks(const struct profile *p)
{
	uint8_t *marks = xcalloc(p->stacks.rows.count + 1, sizeof(*marks));

	for (size_t i = 0; i < p->stacks.rows.count; i++) {
		const struct stack *stack = &p->stacks.rows.items[i];
		const struct frame *frame = &p->frames.rows.items[stack->frame];

		if (stack->parent != NO_STACK)
			marks[i] = marks[stack->parent] & BEGINS_IN_KERNEL;
		else if (frame->module != NO_MODULE &&
			 module_is_kernel(&p->modules.rows.items[frame->module]))
			marks[i] = BEGINS_IN_KERNEL;
		if (frame->kind == PROFILE_FRAME_LABEL)
			marks[i] |= IS_WAIT;
	}
	return marks;
}

static void sum_samples(struct thread_row *row, const struct profile *p,
			const struct profile_thread *thread, const uint8_t *marks)
{
	struct wait_sums waits = {0};
	bool has_stack = false, has_user = false;

	samples_for_each(&thread->samples, sample) {
		bool is_known = sample->stack < p->stacks.rows.count;
		uint8_t mark = is_known ? marks[sample->stack] : 0;

		row->cpu_ns += sample->cpu_delta;
		if (mark & IS_WAIT)
			wait_sums_add(&waits, p, sample);
		if (sample->weight && sample->event < EVENT_COUNTS_MAX)
			row->events |= 1ull << sample->event;
		row->has_run |= sample->weight && !sample->event && !(mark & IS_WAIT);
		has_stack |= is_known;
		has_user |= is_known && !(mark & BEGINS_IN_KERNEL);
	}
	row->is_kernel = has_stack && !has_user;
	row->blocked = waits.blocked;
}

static void add_thread(struct thread_rows *r, thread_id id, const uint8_t *marks)
{
	const struct profile_thread *thread = &r->profile->threads.rows.items[id];
	struct thread_row row = {
		.kind = thread->is_folded ? ROW_MERGED : ROW_THREAD,
		.is_main = thread->is_main,
		.is_merged = thread->is_folded,
		.pid = thread->pid,
		.tid = thread->tid,
		.incarnation = thread->incarnation | (thread->is_folded ? MERGED_INCARNATION : 0),
		.name = thread->name,
		.process_name = thread->process_name,
		.process_label = thread->process_label,
		.arguments = thread->arguments,
		.title = thread->name,
		.process_title = thread->process_name,
		.start = thread->start,
		.end = thread->end,
		.process_start = thread->process_start,
		.process_end = thread->process_end,
		.first = r->members.count,
		.count = 1,
	};

	sum_samples(&row, r->profile, thread, marks);
	vec_push(&r->members, id);
	vec_push(&r->list, row);
}

static void sum_processes(struct thread_rows *r)
{
	struct thread_row *rows = r->list.items;

	vec_sort(&r->list, compare_processes);
	for (size_t i = 0, end; i < r->list.count; i = end) {
		uint64_t sum = 0;
		bool is_kernel = true;

		for (end = i; end < r->list.count && !compare_processes(&rows[i], &rows[end]);
		     end++) {
			sum += rows[end].cpu_ns;
			is_kernel = is_kernel && rows[end].is_kernel;
		}
		for (size_t j = i; j < end; j++) {
			rows[j].process_cpu_ns = sum;
			rows[j].is_kernel = is_kernel;
		}
	}
}

void thread_rows_init(struct thread_rows *r, const struct profile *p,
		      struct string_overlay *strings)
{
	_cleanup_free_ uint8_t *marks = mark_stacks(p);

	*r = (struct thread_rows){
		.profile = p,
		.strings = strings,
		.is_machine = vec_find(&p->meta.features, feature,
				       strcmp(*feature, FEATURE_ALL_PROCESSES) == 0)};
	for (size_t id = 0; id < p->threads.rows.count; id++)
		add_thread(r, (thread_id)id, marks);
	sum_processes(r);
	thread_rows_sort(r);
}

void thread_rows_release(struct thread_rows *r)
{
	vec_release(&r->list);
	vec_release(&r->members);
	vec_release(&r->cpu_samples);
}

/* Formats "worker (page-faults)". */
static string_id event_title(const struct thread_rows *r, const struct thread_row *row)
{
	const struct event_counts *events = &r->profile->events;
	string_id name = row->event < events->rows.count ? events->rows.items[row->event].name
							 : NO_STRING;
	_cleanup_free_ char *number = xasprintf("event %u", row->event);
	_cleanup_free_ char *title = NULL;

	title = xasprintf("%s (%s)", string_overlay_get(r->strings, row->title),
			  name == NO_STRING ? number : string_overlay_get(r->strings, name));
	return string_overlay_intern(r->strings, title);
}

/* Lists all threads as members of the row. */
static void share_row(struct thread_rows *r, struct thread_row *row)
{
	row->first = r->members.count;
	row->count = r->profile->threads.rows.count;
	row->events |= 1ull << row->event;
	row->end = 0; /* others may outlive the thread */
	for (thread_id id = 0; id < row->count; id++)
		vec_push(&r->members, id);
}

static void add_events_of(struct thread_rows *r, const struct thread_row *owner, bool is_first)
{
	for (uint8_t event = 1; event < EVENT_COUNTS_MAX; event++) {
		struct thread_row row = *owner;

		if (event_is_derived(r->profile, event) ? !is_first : !(owner->events >> event & 1))
			continue;
		row.kind = ROW_EVENT;
		row.event = event;
		row.is_main = false;
		row.cpu_ns = 0;
		row.title = event_title(r, &row);
		if (event_is_derived(r->profile, event))
			share_row(r, &row);
		vec_push(&r->list, row);
	}
}

void thread_rows_add_events(struct thread_rows *r)
{
	struct thread_row *threads = r->list.items;
	size_t count = r->list.count;

	memset(&r->list, 0, sizeof(r->list));
	for (size_t i = 0; i < count; i++) {
		vec_push(&r->list, threads[i]);
		add_events_of(r, &threads[i], !i);
	}
	free(threads);
}

static bool is_on_cpu(const struct sample *sample)
{
	return !sample->event && sample->cpu != NO_CPU;
}

/* Counts the clock's samples of each CPU. */
static void count_cpus(const struct thread_rows *r, size_t *counts)
{
	vec_for_each(&r->profile->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (is_on_cpu(sample))
				counts[sample->cpu]++;
		}
	}
}

/* Groups samples by CPU. next[cpu]: position of the CPU's next sample. */
static void list_cpu_samples(struct thread_rows *r, size_t *next)
{
	const struct threads *threads = &r->profile->threads;

	for (thread_id id = 0; id < threads->rows.count; id++) {
		samples_for_each(&threads->rows.items[id].samples, sample) {
			if (is_on_cpu(sample))
				r->cpu_samples.items[next[sample->cpu]++] = (struct cpu_sample){
					sample->time, id, sample->weight, sample->stack};
		}
	}
}

static struct thread_row make_view(const struct thread_rows *r, enum row_kind kind,
				   const char *process, const char *name)
{
	struct thread_row row = {
		.kind = kind,
		.name = string_overlay_intern(r->strings, name),
		.process_name = string_overlay_intern(r->strings, process),
		.process_label = NO_STRING,
		.arguments = NO_STRING,
		.start = r->profile->meta.start_ns,
		.process_start = r->profile->meta.start_ns,
	};

	row.title = row.name;
	row.process_title = row.process_name;
	return row;
}

static void add_cpu(struct thread_rows *r, uint32_t cpu, size_t count)
{
	_cleanup_free_ char *name = xasprintf("CPU %u", cpu);
	struct thread_row row = make_view(r, ROW_CPU, "CPUs", name);

	row.tid = cpu;
	row.events = 1;
	row.first = r->cpu_samples.count;
	row.count = count;
	vec_push(&r->list, row);
}

void thread_rows_add_cpus(struct thread_rows *r)
{
	_cleanup_free_ size_t *counts = xcalloc(NO_CPU, sizeof(*counts));

	count_cpus(r, counts);
	for (uint32_t cpu = 0; cpu < NO_CPU; cpu++) {
		size_t count = counts[cpu];

		if (!count)
			continue;
		add_cpu(r, cpu, count);
		counts[cpu] = r->cpu_samples.count;
		vec_add_zeroed(&r->cpu_samples, count);
	}
	list_cpu_samples(r, counts);
}

void thread_rows_add_difference(struct thread_rows *r)
{
	struct thread_row row = make_view(r, ROW_DIFFERENCE, "Difference", "Difference");

	row.is_main = true;
	row.end = row.process_end = r->profile->meta.end_ns;
	vec_push(&r->list, row);
}

/* True if the row has samples of the clock or of its own event. */
static bool has_samples(const struct thread_row *row)
{
	return row->events >> row->event & 1;
}

ORDER(compare_busy, struct thread_row *const,
      COMPARE((*b)->cpu_ns, (*a)->cpu_ns) ?: COMPARE((*b)->blocked, (*a)->blocked) ?:
      COMPARE(*a, *b))

size_t thread_rows_busiest(const struct thread_rows *r, uint32_t *positions, size_t max)
{
	_cleanup_free_ const struct thread_row **busy = xcalloc(r->list.count + 1, sizeof(*busy));
	size_t count = 0;

	vec_for_each(&r->list, const struct thread_row *, row) {
		if (row->kind <= ROW_MERGED && has_samples(row))
			busy[count++] = row;
	}
	qsort(busy, count, sizeof(*busy), compare_busy);
	count = MIN(count, max);
	for (size_t i = 0; i < count; i++)
		positions[i] = (uint32_t)(busy[i] - r->list.items);
	return count;
}

struct row_samples {
	VEC(struct sample) list;
};

/*
 * Drops rows that mark the start of a thread: in the row of several they would end another thread's
 * stack.
 */
static void copy_event(struct row_samples *into, const struct profile_thread *thread, uint8_t event)
{
	samples_for_each(&thread->samples, sample) {
		if (sample->event == event && (sample->weight || sample->cpu_delta))
			vec_push(&into->list, *sample);
	}
}

/* Sorts by time; keeps the order of equal times. */
static void sort_samples(struct row_samples *s)
{
	size_t count = s->list.count;
	VEC(struct radix_row) times = {0};
	struct sample *sorted;

	for (size_t i = 0; i < count; i++)
		vec_push(&times, (struct radix_row){s->list.items[i].time, (uint32_t)i});
	if (!count)
		return;
	radix_sort(times.items, count);
	sorted = xcalloc(count, sizeof(*sorted));
	for (size_t i = 0; i < count; i++)
		sorted[i] = s->list.items[times.items[i].value];
	vec_release(&times);
	free(s->list.items);
	s->list.items = sorted;
	s->list.capacity = count;
}

/*
 * Returns a tick's time, in which its CPU was busy. The thread's own delta is unsuitable: it
 * includes time on other CPUs, and is 0 for a new thread.
 */
static uint32_t busy_ns(uint64_t interval, uint32_t weight)
{
	uint64_t most = weight ? UINT32_MAX / weight : UINT32_MAX;

	return interval < most ? (uint32_t)(interval * weight) : UINT32_MAX;
}

static void copy_cpu(const struct thread_rows *r, const struct thread_row *row,
		     struct row_samples *into)
{
	uint64_t excess = 0;

	for (size_t i = row->first; i < row->first + row->count; i++) {
		const struct cpu_sample *from = &r->cpu_samples.items[i];

		vec_push(&into->list,
			 (struct sample){
				 .time = from->time,
				 .stack = from->stack,
				 .weight = from->weight,
				 .cpu_delta = busy_ns(r->profile->meta.interval_ns, from->weight),
				 .cpu = (uint16_t)row->tid,
			 });
	}
	sort_samples(into);
	sample_rows_settle(into->list.items, into->list.count, 0, &excess);
}

const struct samples *thread_row_samples(const struct thread_rows *r, const struct thread_row *row,
					 struct samples *own)
{
	const struct profile_thread *threads = r->profile->threads.rows.items;
	const thread_id *members = r->members.items + row->first;
	struct row_samples rows = {0};

	if (row->kind != ROW_CPU && row->count == 1)
		return &threads[*members].samples;
	if (row->kind == ROW_CPU) {
		copy_cpu(r, row, &rows);
	} else {
		for (size_t i = 0; i < row->count; i++)
			copy_event(&rows, &threads[members[i]], row->event);
		sort_samples(&rows);
	}
	samples_take(own, rows.list.items, rows.list.count);
	return own;
}

#define VISIBLE_THREADS 15

/* Shows a row. Threads are shown inside the track of their process's main thread. */
static void show(const struct thread_rows *r, bool *is_visible, size_t position)
{
	const struct thread_row *rows = r->list.items, *row = &rows[position];

	is_visible[position] = true;
	for (size_t i = position + 1; i-- > 0;) {
		if (rows[i].pid != row->pid || rows[i].incarnation != row->incarnation)
			return;
		if (!rows[i].is_main)
			continue;
		is_visible[i] = true;
		return;
	}
}

static uint64_t weight_of(const struct thread_rows *r, const struct thread_row *row)
{
	uint64_t weight = 0;

	for (size_t i = row->first; i < row->first + row->count; i++) {
		thread_id id = r->members.items[i];

		samples_for_each(&r->profile->threads.rows.items[id].samples, sample)
			weight += sample->event == row->event ? sample->weight : 0;
	}
	return weight;
}

/* Shows rows of events with their thread, and each event's row with the most samples. */
static void show_events(const struct thread_rows *r, bool *is_visible)
{
	uint64_t most[EVENT_COUNTS_MAX] = {0}, weight;
	size_t where[EVENT_COUNTS_MAX] = {0}, owner = 0;

	for (size_t i = 0; i < r->list.count; i++) {
		const struct thread_row *row = &r->list.items[i];

		if (row->kind != ROW_EVENT) {
			owner = i;
			/* Rows of CPUs, and of a difference, exist only on request. */
			is_visible[i] |= row->kind == ROW_CPU || row->kind == ROW_DIFFERENCE;
			continue;
		}
		is_visible[i] = is_visible[owner];
		weight = weight_of(r, row);
		if (weight > most[row->event]) {
			most[row->event] = weight;
			where[row->event] = i;
		}
	}
	for (size_t event = 0; event < EVENT_COUNTS_MAX; event++) {
		if (most[event])
			show(r, is_visible, where[event]);
	}
}

static bool has_processes(const struct thread_rows *r)
{
	size_t processes = 0;

	vec_for_each(&r->list, const struct thread_row *, row)
		processes += row->is_main && row->kind <= ROW_MERGED;
	return processes > 1;
}

/*
 * Selects all rows that contribute to a sum over the recording. Returns false if none has CPU time.
 */
static bool select_busy(const struct thread_rows *r, bool *is_selected)
{
	bool has_any = false;

	for (size_t i = 0; i < r->list.count; i++) {
		const struct thread_row *row = &r->list.items[i];

		is_selected[i] = row->kind <= ROW_MERGED && row->has_run;
		has_any = has_any || is_selected[i];
	}
	return has_any;
}

/* Selects the rows of the event to show first. Returns false if that is the clock. */
static bool select_event(const struct thread_rows *r, bool *is_visible, bool *is_selected)
{
	uint8_t first = profile_first_event(r->profile);

	for (size_t i = 0; first && i < r->list.count; i++) {
		if (r->list.items[i].kind != ROW_EVENT || r->list.items[i].event != first)
			continue;
		is_selected[i] = true;
		show(r, is_visible, i);
	}
	return first;
}

void thread_rows_show_first(const struct thread_rows *r, bool *is_visible, bool *is_selected)
{
	size_t rows = r->list.count, count;
	uint32_t busiest[VISIBLE_THREADS];

	count = thread_rows_busiest(r, busiest, VISIBLE_THREADS);
	if (!count) {
		for (; count < VISIBLE_THREADS && count < rows; count++)
			busiest[count] = (uint32_t)count;
	}
	/* The root process comes first and is always shown. */
	is_visible[0] = true;
	for (size_t i = 0; i < count; i++)
		show(r, is_visible, busiest[i]);
	show_events(r, is_visible);
	if (vec_last(&r->list).kind == ROW_DIFFERENCE)
		is_selected[rows - 1] = true;
	else if (!select_event(r, is_visible, is_selected) &&
		 (!has_processes(r) || !select_busy(r, is_selected)))
		is_selected[busiest[0]] = true;
}
