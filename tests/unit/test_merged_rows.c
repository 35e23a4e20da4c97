/* SPDX-License-Identifier: MIT */
/* Short-lived threads that share rows: which ones do, and that nothing is lost. */

#include "lib/base/cleanup.h"
#include "lib/model/meaning/thread_rows.h"
#include "lib/model/meaning/titles.h"
#include "lib/model/tables/markers.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/test.h"

#define MS 1000000ull

/* Adds a process of one thread that began after `ms`, lived for 5 ms and used `cpu` ns. */
static struct profile_thread *add(struct exported *f, uint32_t pid, const char *name, uint64_t ms,
				  uint32_t cpu)
{
	struct profile_thread *row = export_add_thread(f, pid, pid, name);

	row->start = row->process_start = EXPORT_START_NS + ms * MS;
	row->end = row->process_end = row->start + 5 * MS;
	export_add_sample(row, (ms + 1) * MS, NO_STACK, 0);
	export_add_sample(row, (ms + 4) * MS, NO_STACK, cpu);
	return row;
}

/* Rows left of the profile's threads. */
struct folded {
	struct thread_rows rows;
	struct string_overlay strings;
	struct merge_counts counts;
};

static void fold(struct folded *f, const struct profile *p, size_t max)
{
	*f = (struct folded){.strings.base = &p->strings};
	thread_rows_init(&f->rows, p, &f->strings);
	f->counts = thread_rows_merge(&f->rows,
				      &(struct merge_limits){.rows = max, .processes = 50});
}

static void release(struct folded *f)
{
	thread_rows_release(&f->rows);
	string_overlay_release(&f->strings);
}

static const struct thread_row *find(const struct folded *f, const char *name)
{
	vec_for_each(&f->rows.list, const struct thread_row *, row) {
		if (!strcmp(string_overlay_get(&f->strings, row->title), name))
			return row;
	}
	fail_msg("no row %s", name);
	return NULL;
}

static bool has_pid(const struct folded *f, uint32_t pid)
{
	vec_for_each(&f->rows.list, const struct thread_row *, row) {
		if (row->pid == pid && !row->is_merged)
			return true;
	}
	return false;
}

#define CASE(name) TEST_WITH(name, export_setup, export_teardown)

CASE(few_threads_stay_as_they_are)
{
	struct exported *f = *state;
	struct folded folded;

	add(f, 10, "cc", 1, 5);
	add(f, 11, "cc", 2, 5);
	fold(&folded, f->p, 2);
	assert_int_equal(folded.counts.rows + folded.counts.threads, 0);
	assert_int_equal(folded.rows.list.count, 2);
	release(&folded);
}

static void expect_folded(const struct folded *f, const char *name, size_t samples)
{
	struct samples own = {0};
	const struct samples *rows = thread_row_samples(&f->rows, find(f, name), &own);
	uint64_t before = 0;

	assert_int_equal(samples_count(rows), samples);
	samples_for_each(rows, sample) {
		assert_true(before <= sample->time);
		before = sample->time;
	}
	samples_release(&own);
}

CASE(the_rest_is_folded_by_program)
{
	struct exported *f = *state;
	const struct thread_row *row;
	struct folded folded;

	export_add_thread(f, 5, 5, "make")->end = EXPORT_START_NS + 50 * MS;
	f->p->meta.root_pid = 5;
	/* The last is the busiest of all. */
	for (uint32_t i = 0; i < 4; i++)
		add(f, 10 + i, "cc", 10 - 2 * i, 100 + i);
	for (uint32_t i = 0; i < 2; i++)
		add(f, 20 + i, "as", 20 + i, 50);
	fold(&folded, f->p, 2);
	assert_int_equal(folded.counts.rows, 2);
	assert_int_equal(folded.counts.threads, 5);
	assert_int_equal(folded.rows.list.count, 4);
	assert_true(has_pid(&folded, 5) && has_pid(&folded, 13));

	row = find(&folded, "cc × 3");
	/* The row begins as that of the first thread. */
	assert_int_equal(row->pid, 12);
	assert_true(row->is_main && row->is_merged);
	assert_int_equal(row->start, EXPORT_START_NS + 6 * MS);
	assert_int_equal(row->process_start, row->start);
	assert_int_equal(row->end, EXPORT_START_NS + 15 * MS);
	assert_int_equal(row->cpu_ns, 100 + 101 + 102);
	expect_folded(&folded, "cc × 3", 6);
	expect_folded(&folded, "as × 2", 4);
	release(&folded);
}

/* Threads that were there before, or still are, keep their rows, even beyond the limit. */
CASE(long_lived_threads_keep_their_rows)
{
	struct exported *f = *state;
	struct folded folded;

	export_add_thread(f, 5, 5, "init")->end = EXPORT_START_NS + MS;
	for (uint32_t i = 0; i < 3; i++)
		add(f, 10 + i, "daemon", 1 + i, 1)->end = 0;
	for (uint32_t i = 0; i < 3; i++)
		add(f, 20 + i, "cc", 1 + i, 1000);
	fold(&folded, f->p, 2);
	assert_int_equal(folded.counts.threads, 3);
	assert_int_equal(folded.rows.list.count, 5);
	assert_true(has_pid(&folded, 5) && has_pid(&folded, 10) && has_pid(&folded, 12));
	release(&folded);
}

CASE(main_threads_stay_with_their_others)
{
	struct exported *f = *state;
	struct profile_thread *row;
	struct folded folded;
	size_t processes = 0;

	export_add_thread(f, 5, 5, "make");
	for (uint32_t pid = 10; pid <= 30; pid += 10) {
		add(f, pid, "java", pid, 1);
		row = add(f, pid, "java", pid, pid == 20 ? 1000 : 10);
		row->tid = pid + 1;
		row->is_main = false;
	}
	/* One row is left: the busiest worker takes it, and its main thread comes along. */
	fold(&folded, f->p, 2);
	assert_int_equal(folded.counts.threads, 4);
	assert_int_equal(folded.rows.list.count, 4);
	assert_true(has_pid(&folded, 20));
	vec_for_each(&folded.rows.list, const struct thread_row *, it)
		processes += it->is_main;
	assert_int_equal(processes, 3);
	release(&folded);
}

/* Folding the only process of a program would save no row. */
CASE(single_programs_share_a_row)
{
	struct exported *f = *state;
	struct folded folded;

	export_add_thread(f, 5, 5, "make");
	add(f, 10, "a", 1, 1);
	add(f, 11, "b", 2, 1);
	add(f, 12, "c", 3, 1);
	fold(&folded, f->p, 1);
	assert_int_equal(folded.counts.rows, 1);
	find(&folded, "other programs × 3");
	assert_int_equal(folded.rows.list.count, 2);
	release(&folded);
}

CASE(one_alone_keeps_its_row)
{
	struct exported *f = *state;
	struct folded folded;

	export_add_thread(f, 5, 5, "make");
	add(f, 10, "a", 1, 1);
	fold(&folded, f->p, 1);
	assert_int_equal(folded.counts.threads, 0);
	assert_int_equal(folded.rows.list.count, 2);
	assert_true(has_pid(&folded, 10));
	release(&folded);
}

/* Folded rows of a file that was read stay; nothing more is known of their threads. */
CASE(rows_that_were_folded_before_stay)
{
	struct exported *f = *state;
	struct folded folded;

	export_add_thread(f, 5, 5, "make");
	for (uint32_t i = 0; i < 4; i++)
		add(f, 10 + i, "cc", 1 + i, 1)->is_folded = i == 1;
	fold(&folded, f->p, 1);
	assert_int_equal(folded.counts.threads, 3);
	assert_int_equal(folded.rows.list.count, 3);
	assert_int_equal(find(&folded, "cc")->pid, 11);
	release(&folded);
}

static void add_event(struct exported *f, thread_id id)
{
	struct profile_thread *row = threads_get(&f->p->threads, id);
	struct sample sample = {
		.time = row->start + MS, .stack = NO_STACK, .weight = 7, .event = 1};

	samples_add(&row->samples, &sample);
}

static const struct thread_row *next_to(const struct folded *f, const char *name)
{
	const struct thread_row *row = find(f, name) + 1;

	assert_true(row < f->rows.list.items + f->rows.list.count);
	return row;
}

CASE(their_events_go_along)
{
	struct exported *f = *state;
	struct samples own = {0};
	const struct thread_row *row;
	struct folded folded;

	for (uint32_t i = 0; i < 2; i++)
		add(f, 10 + i, "cc", 10 + i, 1);
	export_add_thread(f, 5, 5, "make");
	f->p->meta.root_pid = 5;
	event_counts_get(&f->p->events, 1)->name = export_intern(f, "faults");
	for (thread_id id = 0; id < 3; id++)
		add_event(f, id);
	fold(&folded, f->p, 1);
	assert_int_equal(folded.counts.threads, 2);
	thread_rows_add_events(&folded.rows);
	assert_int_equal(folded.rows.list.count, 4);
	assert_ptr_equal(next_to(&folded, "make"), find(&folded, "make (faults)"));
	row = next_to(&folded, "cc × 2");
	assert_ptr_equal(row, find(&folded, "cc × 2 (faults)"));
	assert_int_equal(row->kind, ROW_EVENT);
	assert_int_equal(row->event, 1);
	assert_false(row->is_main);
	assert_int_equal(row->process_start, row[-1].process_start);
	assert_int_equal(row->process_title, row[-1].process_title);
	assert_int_equal(samples_count(thread_row_samples(&folded.rows, row, &own)), 2);
	assert_int_equal(samples_count(thread_row_samples(&folded.rows, row - 1, &own)), 4);
	samples_release(&own);
	release(&folded);
}

/* Checks the file: ids that no thread has, and gaps of the whole row. */
static json_t *run_with_folded_rows(struct exported *f)
{
	export_add_thread(f, 5, 5, "make");
	f->p->meta.root_pid = 5;
	f->p->meta.interval_ns = MS;
	for (uint32_t i = 0; i < 600; i++)
		add(f, 10, "cc", 10 + 100 * i, i)->incarnation = i;
	schema_text_intern_first(&f->p->markers.schemas, &f->p->strings);
	for (thread_id id = 1; id <= 2; id++)
		vec_push(&threads_get(&f->p->threads, id)->markers,
			 markers_make(&f->p->markers, MARKER_EXEC, 0, 0));
	return export_run(f);
}

CASE(a_file_with_folded_rows)
{
	struct exported *f = *state;
	json_t *root = run_with_folded_rows(f);

	assert_int_equal(json_array_size(export_at(root, "threads")), 2);
	assert_int_equal(f->counts.folded_threads, 600);
	assert_int_equal(f->counts.folded_rows, 1);
	export_expect(root, "threads.0.processType", "\"default\"");
	export_expect(root, "threads.1.processName", "\"cc × 600, 100 %\"");
	export_expect(root, "threads.1.profView", "\"folded\"");
	export_expect(root, "threads.1.pid", "\"10+\"");
	export_expect(root, "threads.1.tid", "\"10+\"");
	export_expect(root, "threads.1.isMainThread", "true");
	export_expect(root, "threads.1.markers.length", "2");
	export_expect(root, "threads.1.processType", "\"process\"");
	export_expect(root, "meta.extra.0.entries.7.value", "600");
	/* Selects all of the recording. */
	export_expect(root, "meta.initialSelectedThreads", "[1]");
}

/* Front-ends show at most one CPU's time in a row; readers get all of it. */
CASE(processes_at_one_time)
{
	struct exported *f = *state;
	struct profile *again;
	_cleanup_free_ char *text = NULL;
	uint64_t cpu_ns = 0;
	json_t *root, *row;

	export_add_thread(f, 5, 5, "make");
	f->p->meta.root_pid = 5;
	f->p->meta.interval_ns = MS;
	for (uint32_t i = 0; i < 60; i++)
		add(f, 10 + i, "cc", 10, 3 * MS);
	root = export_run(f);
	row = export_at(root, "threads.1");
	assert_int_equal(json_integer_value(json_object_get(row, "profCPUTime")), 60 * 3 * MS);
	text = json_dumps(root, 0);
	assert_int_equal(format_firefox.read(&again, text, strlen(text), NULL, NULL), 0);
	vec_for_each(&again->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample)
			cpu_ns += sample->cpu_delta;
	}
	assert_in_range(cpu_ns, 60 * 3 * MS - 1, 60 * 3 * MS);
	profile_free(again);
}

/* Many short-lived processes of one program share a row, however few rows there are. */
CASE(a_crowd_is_one_row)
{
	struct exported *f = *state;
	struct profile_thread *row;
	struct folded folded;

	export_add_thread(f, 5, 5, "make");
	f->p->meta.root_pid = 5;
	for (uint32_t i = 0; i < 51; i++)
		add(f, 100 + i, "cc", 1 + i, 10);
	for (uint32_t i = 0; i < 50; i++)
		add(f, 200 + i, "as", 1 + i, 10);
	/* A thread goes with its process; a process that still lives is none of these. */
	row = export_add_thread(f, 100, 300, "worker");
	row->process_name = export_intern(f, "cc");
	row->process_start = EXPORT_START_NS + MS;
	row->start = EXPORT_START_NS + 2 * MS;
	row->process_end = row->end = EXPORT_START_NS + 3 * MS;
	row->is_main = false;
	add(f, 400, "cc", 2, 10)->end = 0;
	fold(&folded, f->p, 500);
	assert_int_equal(folded.counts.rows, 1);
	assert_int_equal(folded.counts.threads, 52);
	assert_int_equal(folded.rows.list.count, 1 + 50 + 1 + 1);
	assert_true(has_pid(&folded, 400) && has_pid(&folded, 200));
	assert_int_equal(find(&folded, "cc × 51")->cpu_ns, 510);
	thread_rows_title(&folded.rows);
	/* All is 510 + 500 + 10 ns. */
	assert_non_null(find(&folded, "cc × 51, 50 %"));
	release(&folded);
}

/* Folded rows are not folded again, and their number is still told in the same place. */
CASE(such_a_file_read_and_written_again)
{
	struct exported *f = *state;
	json_t *first = run_with_folded_rows(f);
	_cleanup_free_ char *text = json_dumps(first, 0);

	profile_free(f->p);
	f->p = NULL;
	assert_int_equal(format_firefox.read(&f->p, text, strlen(text), NULL, NULL), 0);
	export_run(f);
	assert_int_equal(f->counts.folded_threads, 0);
	assert_true(json_equal(first, f->root));
	json_decref(first);
}

CASE(all_threads_on_demand)
{
	struct exported *f = *state;

	f->options.all_threads = true;
	for (uint32_t i = 0; i < 600; i++)
		add(f, 10 + i, "cc", 10, i);
	export_run(f);
	assert_int_equal(json_array_size(export_at(f->root, "threads")), 600);
	assert_int_equal(f->counts.folded_threads, 0);
}

static void add_counter(struct exported *f, uint32_t pid, const char *name, uint8_t graph,
			uint64_t ms, int64_t delta)
{
	struct counter counter = {.pid = pid, .graph = graph};

	counter.name = counter.label = counter.category = counter.description = export_intern(f,
											      name);
	counter.unit = export_intern(f, "bytes");
	counter.color = export_intern(f, "grey");
	counter_add_sample(&counter, EXPORT_START_NS + ms * MS, delta);
	profile_counters_add(&f->p->counters, &counter);
}

/* Processes that share a row have one counter of a kind; what each holds ends with it. */
CASE(their_counters_are_added_up)
{
	struct exported *f = *state;
	struct row_counters counters = {0};
	const struct counter *memory, *reads;
	struct folded folded;

	export_add_thread(f, 5, 5, "make")->end = EXPORT_START_NS + 50 * MS;
	f->p->meta.root_pid = 5;
	add_counter(f, 5, "memory", COUNTER_LEVEL, 1, 7);
	/* The busiest keeps its row. */
	add(f, 20, "as", 20, 1000);
	for (uint32_t i = 0; i < 3; i++) {
		add(f, 10 + i, "cc", 1 + 2 * i, 10);
		add_counter(f, 10 + i, "memory", COUNTER_LEVEL, 2 * i + 2, 100 + i);
		add_counter(f, 10 + i, "reads", COUNTER_RATE, 5, 1);
	}
	/* It ends last, and has no counters. */
	add(f, 13, "cc", 40, 10);
	fold(&folded, f->p, 2);
	row_counters_find(&counters, &folded.rows);
	assert_int_equal(counters.list.count, 3);
	assert_int_equal(counters.list.items[0].counter.pid, 5);
	assert_int_equal(counters.list.items[1].end, EXPORT_START_NS + 45 * MS);
	memory = &counters.list.items[1].counter;
	reads = &counters.list.items[2].counter;
	/* At 6 ms the first process ends, and the last has its memory. */
	assert_int_equal(memory->samples.count, 10);
	assert_int_equal(memory->samples.items[5].delta, 102 - 100);
	assert_int_equal(memory->samples.items[9].delta, -102);
	/* Each of these is a step: the value before it is kept up to its time. */
	for (size_t i = 0; i < 10; i += 2) {
		assert_int_equal(memory->samples.items[i].delta, 0);
		assert_int_equal(memory->samples.items[i].time, memory->samples.items[i + 1].time);
	}
	assert_int_equal(reads->samples.count, 1);
	assert_int_equal(reads->samples.items[0].delta, 3);
	row_counters_release(&counters);
	release(&folded);
}
