/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/firefox_rows.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/model/meaning/wait_sums.h"

/* Finds the stacks whose outermost frame is the kernel's. The caller frees. */
static bool *find_kernel_stacks(const struct profile *p)
{
	bool *is_kernel = xcalloc(p->stacks.rows.count + 1, sizeof(*is_kernel));

	for (size_t i = 0; i < p->stacks.rows.count; i++) {
		const struct stack *stack = &p->stacks.rows.items[i];
		const struct frame *frame = &p->frames.rows.items[stack->frame];

		if (stack->parent != NO_STACK)
			is_kernel[i] = is_kernel[stack->parent];
		else
			is_kernel[i] = frame->module != NO_MODULE &&
				       module_is_kernel(&p->modules.rows.items[frame->module]);
	}
	return is_kernel;
}

static void sum_samples(struct firefox_row *row, const struct profile *p,
			const struct profile_thread *thread, const bool *is_kernel_stack)
{
	struct wait_sums waits = {0};
	bool has_stack = false, has_user = false;

	samples_for_each(&thread->samples, sample) {
		row->cpu_ns += sample->cpu_delta;
		wait_sums_add(&waits, p, sample);
		if (sample->weight && sample->event < EVENT_COUNTS_MAX)
			row->events |= 1ull << sample->event;
		row->has_run |= sample->weight && !sample->event && !profile_is_wait(p, sample);
		if (sample->stack >= p->stacks.rows.count)
			continue;
		has_stack = true;
		has_user = has_user || !is_kernel_stack[sample->stack];
	}
	row->is_kernel = has_stack && !has_user;
	row->blocked = waits.blocked;
}

static void add_thread(struct firefox_rows *r, thread_id id, const bool *is_kernel_stack)
{
	const struct profile_thread *thread = &r->profile->threads.rows.items[id];
	struct firefox_row row = {
		.kind = thread->is_folded ? ROW_FOLDED : ROW_THREAD,
		.is_main = thread->is_main,
		.is_folded = thread->is_folded,
		.pid = thread->pid,
		.tid = thread->tid,
		.incarnation = thread->incarnation | (thread->is_folded ? FOLDED_INCARNATION : 0),
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

	sum_samples(&row, r->profile, thread, is_kernel_stack);
	vec_push(&r->members, id);
	vec_push(&r->list, row);
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_processes(const void *a, const void *b)
{
	const struct firefox_row *left = a, *right = b;
	int result = compare_u64(left->pid, right->pid);

	return result ? result : compare_u64(left->incarnation, right->incarnation);
}

static void sum_processes(struct firefox_rows *r)
{
	struct firefox_row *rows = r->list.items;

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

static bool is_of_machine(const struct profile *p)
{
	vec_for_each(&p->meta.features, char *const *, feature) {
		if (strcmp(*feature, FEATURE_ALL_PROCESSES) == 0)
			return true;
	}
	return false;
}

void firefox_rows_init(struct firefox_rows *r, const struct profile *p)
{
	_cleanup_free_ bool *is_kernel_stack = find_kernel_stacks(p);

	*r = (struct firefox_rows){.profile = p, .is_machine = is_of_machine(p)};
	for (size_t id = 0; id < p->threads.rows.count; id++)
		add_thread(r, (thread_id)id, is_kernel_stack);
	sum_processes(r);
	firefox_rows_sort(r);
}

void firefox_rows_release(struct firefox_rows *r)
{
	vec_release(&r->list);
	vec_release(&r->members);
	vec_release(&r->cpu_samples);
}

static bool is_root(const struct firefox_rows *r, const struct firefox_row *row)
{
	uint32_t root = r->profile->meta.root_pid;

	return root && row->pid == root && !row->incarnation;
}

/* Compares ids last, so that the order never depends on the sort. */
static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct firefox_row *left = a, *right = b;
	const struct firefox_rows *r = ctx;
	int result = is_root(r, right) - is_root(r, left);

	if (!result && r->is_machine)
		result = left->is_kernel - right->is_kernel;
	else if (!result)
		result = compare_u64(left->process_start, right->process_start);
	if (!result)
		result = compare_u64(right->process_cpu_ns, left->process_cpu_ns);
	if (!result)
		result = compare_processes(left, right);
	if (!result)
		result = right->is_main - left->is_main;
	if (!result)
		result = compare_u64(left->start, right->start);
	if (!result)
		result = compare_u64(right->cpu_ns, left->cpu_ns);
	if (!result)
		result = compare_u64(left->tid, right->tid);
	return result ? result
		      : compare_u64(r->members.items[left->first], r->members.items[right->first]);
}

void firefox_rows_sort(struct firefox_rows *r)
{
	if (r->list.count > 1)
		qsort_r(r->list.items, r->list.count, sizeof(*r->list.items), compare_rows, r);
}

/* "worker (page-faults)" */
static string_id event_title(const struct firefox_rows *r, struct file_strings *strings,
			     const struct firefox_row *row)
{
	const struct event_counts *events = &r->profile->events;
	string_id name = row->event < events->rows.count ? events->rows.items[row->event].name
							 : NO_STRING;
	_cleanup_free_ char *number = xasprintf("event %u", row->event);
	_cleanup_free_ char *thread = xasprintf("tid %u", row->tid);
	_cleanup_free_ char *title = NULL;

	title = xasprintf("%s (%s)",
			  file_strings_size(strings, row->title)
				  ? file_strings_get(strings, row->title)
				  : thread,
			  name == NO_STRING ? number : file_strings_get(strings, name));
	return file_strings_intern(strings, title);
}

static void add_events_of(struct firefox_rows *r, struct file_strings *strings,
			  const struct firefox_row *owner)
{
	for (uint8_t event = 1; event < EVENT_COUNTS_MAX; event++) {
		struct firefox_row row = *owner;

		if (!(owner->events >> event & 1))
			continue;
		row.kind = ROW_EVENT;
		row.event = event;
		row.is_main = false;
		row.cpu_ns = 0;
		row.title = event_title(r, strings, &row);
		vec_push(&r->list, row);
	}
}

void firefox_rows_add_events(struct firefox_rows *r, struct file_strings *strings)
{
	struct firefox_row *threads = r->list.items;
	size_t count = r->list.count;

	memset(&r->list, 0, sizeof(r->list));
	for (size_t i = 0; i < count; i++) {
		vec_push(&r->list, threads[i]);
		add_events_of(r, strings, &threads[i]);
	}
	free(threads);
}

static bool is_on_cpu(const struct sample *sample)
{
	return !sample->event && sample->cpu != NO_CPU;
}

/* Counts the clock's samples of each CPU. */
static void count_cpus(const struct firefox_rows *r, size_t *counts)
{
	vec_for_each(&r->profile->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (is_on_cpu(sample))
				counts[sample->cpu]++;
		}
	}
}

/* Groups samples by CPU: next[cpu] is the place of its next one. */
static void list_cpu_samples(struct firefox_rows *r, size_t *next)
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

static void add_cpu(struct firefox_rows *r, struct file_strings *strings, uint32_t cpu,
		    size_t count)
{
	_cleanup_free_ char *name = xasprintf("CPU %u", cpu);
	struct firefox_row row = {
		.kind = ROW_CPU,
		.tid = cpu,
		.name = file_strings_intern(strings, name),
		.process_name = file_strings_intern(strings, "CPUs"),
		.process_label = NO_STRING,
		.arguments = NO_STRING,
		.start = r->profile->meta.start_ns,
		.process_start = r->profile->meta.start_ns,
		.events = 1,
		.first = r->cpu_samples.count,
		.count = count,
	};

	row.title = row.name;
	row.process_title = row.process_name;
	vec_push(&r->list, row);
}

void firefox_rows_add_cpus(struct firefox_rows *r, struct file_strings *strings)
{
	_cleanup_free_ size_t *counts = xcalloc(NO_CPU, sizeof(*counts));

	count_cpus(r, counts);
	for (uint32_t cpu = 0; cpu < NO_CPU; cpu++) {
		size_t count = counts[cpu];

		if (!count)
			continue;
		add_cpu(r, strings, cpu, count);
		counts[cpu] = r->cpu_samples.count;
		vec_add_zeroed(&r->cpu_samples, count);
	}
	list_cpu_samples(r, counts);
}

void firefox_rows_add_difference(struct firefox_rows *r, struct file_strings *strings)
{
	string_id name = file_strings_intern(strings, "Difference");

	vec_push(&r->list, (struct firefox_row){
				   .kind = ROW_DIFFERENCE,
				   .is_main = true,
				   .name = name,
				   .process_name = name,
				   .process_label = NO_STRING,
				   .arguments = NO_STRING,
				   .title = name,
				   .process_title = name,
				   .start = r->profile->meta.start_ns,
				   .process_start = r->profile->meta.start_ns,
				   .end = r->profile->meta.end_ns,
				   .process_end = r->profile->meta.end_ns,
			   });
}

struct busy {
	uint64_t cpu_ns, blocked;
	uint32_t position;
};

static int compare_busy(const void *a, const void *b)
{
	const struct busy *left = a, *right = b;
	int result = compare_u64(right->cpu_ns, left->cpu_ns);

	if (!result)
		result = compare_u64(right->blocked, left->blocked);
	return result ? result : compare_u64(left->position, right->position);
}

size_t firefox_rows_busiest(const struct firefox_rows *r, uint32_t *positions, size_t max)
{
	_cleanup_free_ struct busy *busy = xcalloc(r->list.count + 1, sizeof(*busy));
	size_t count = 0;

	for (size_t i = 0; i < r->list.count; i++) {
		const struct firefox_row *row = &r->list.items[i];

		if (row->kind <= ROW_FOLDED && firefox_row_has_samples(row))
			busy[count++] = (struct busy){row->cpu_ns, row->blocked, (uint32_t)i};
	}
	qsort(busy, count, sizeof(*busy), compare_busy);
	if (count > max)
		count = max;
	for (size_t i = 0; i < count; i++)
		positions[i] = busy[i].position;
	return count;
}
