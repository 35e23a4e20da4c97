/* SPDX-License-Identifier: MIT */
/* Titles of threads and processes: those of the rows of a file, whoever asks for them. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/model/meaning/titles.h"
#include "lib/query/select.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/test.h"

#define CASE(name) TEST_WITH(name, export_setup, export_teardown)

static struct profile_thread *add(struct exported *f, uint32_t pid, uint32_t tid,
				  const char *process, const char *name)
{
	struct profile_thread *row = export_add_thread(f, pid, tid, name);

	row->process_name = export_intern(f, process);
	row->process_start += pid;
	export_add_sample(row, 1000000, NO_STACK, 1000);
	return row;
}

static void set_arguments(struct exported *f, struct profile_thread *row, const char *list,
			  size_t size)
{
	row->arguments = strings_intern_list(&f->p->strings, list, size);
}

#define ARGUMENTS(f, row, list) set_arguments(f, row, list, sizeof(list))

/* Two compilers of different files, one with threads, one process in a container, one nameless. */
static void fill(struct exported *f)
{
	ARGUMENTS(f, add(f, 10, 10, "cc1", "cc1"), "cc1\0a.c");
	ARGUMENTS(f, add(f, 20, 20, "cc1", "cc1"), "cc1\0b [1.c");
	add(f, 20, 21, "cc1", "worker");
	add(f, 20, 22, "cc1", "worker");
	add(f, 30, 30, "nginx", "nginx")->process_label = export_intern(f, "web");
	add(f, 30, 31, "nginx", "cache")->process_label = export_intern(f, "web");
	add(f, 40, 40, "", "");
}

static const struct {
	uint32_t tid;
	const char *thread, *process, *whole;
} expected[] = {
	{10, "cc1 a.c", "cc1 a.c", "cc1 a.c"},
	{20, "cc1 b [1.c", "cc1 b [1.c", "cc1 b [1.c"},
	{21, "worker 21", "cc1 b [1.c", "worker 21 – cc1 b [1.c"},
	{22, "worker 22", "cc1 b [1.c", "worker 22 – cc1 b [1.c"},
	{30, "nginx", "nginx (web)", "nginx"},
	{31, "cache", "nginx (web)", "cache – nginx (web)"},
	{40, "tid 40", "pid 40", "tid 40 – pid 40"},
};

#define COUNT (sizeof(expected) / sizeof(expected[0]))

static void expect_titles(const struct profile *p)
{
	struct thread_titles titles;

	assert_int_equal(p->threads.rows.count, COUNT);
	thread_titles_find(&titles, p);
	for (thread_id id = 0; id < COUNT; id++) {
		_cleanup_free_ char *whole = thread_title_whole(&titles, id);

		assert_int_equal(p->threads.rows.items[id].tid, expected[id].tid);
		assert_string_equal(thread_title(&titles, id), expected[id].thread);
		assert_string_equal(process_title(&titles, id), expected[id].process);
		assert_string_equal(whole, expected[id].whole);
	}
	thread_titles_release(&titles);
}

CASE(titles_of_a_recording)
{
	fill(*state);
	expect_titles(((struct exported *)*state)->p);
}

/* A file has titles in place of names: they are not lengthened once more. */
CASE(titles_of_its_file)
{
	struct exported *f = *state;
	_cleanup_free_ char *text = NULL;
	struct profile *again;

	fill(f);
	text = json_dumps(export_run(f), 0);
	for (size_t i = 0; i < COUNT; i++) {
		json_t *row = json_array_get(export_at(f->root, "threads"), i);

		assert_string_equal(json_string_value(json_object_get(row, "name")),
				    expected[i].thread);
		assert_string_equal(json_string_value(json_object_get(row, "processName")),
				    expected[i].process);
	}
	assert_int_equal(format_firefox.read(&again, text, strlen(text), NULL, NULL), 0);
	expect_titles(again);
	profile_free(again);
}

/* Expects the tids of the selected threads, "10 20". */
static void expect_selected(const struct profile *p, const char *process, const char *thread,
			    const char *tids)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	_cleanup_free_ bool *is_selected = NULL;
	struct strbuf text = {0};

	filter.process = process;
	filter.thread = thread;
	is_selected = query_select_threads(p, &filter);
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		if (is_selected[id])
			strbuf_addf(&text, "%s%u", text.size ? " " : "",
				    p->threads.rows.items[id].tid);
	}
	assert_string_equal(strbuf_text(&text), tids);
	strbuf_release(&text);
}

CASE(threads_are_selected_by_name_and_by_title)
{
	struct exported *f = *state;
	const bool only[COUNT] = {[2] = true};
	struct query_filter filter = QUERY_FILTER_ALL;
	_cleanup_free_ bool *is_selected = NULL;

	fill(f);
	expect_selected(f->p, NULL, NULL, "10 20 21 22 30 31 40");
	expect_selected(f->p, "cc1", NULL, "10 20 21 22");
	expect_selected(f->p, "cc1 a.c", NULL, "10");
	/* A title may be no valid glob. */
	expect_selected(f->p, "cc1 b [1.c", NULL, "20 21 22");
	expect_selected(f->p, "nginx (web)", NULL, "30 31");
	expect_selected(f->p, "nginx", NULL, "30 31");
	expect_selected(f->p, "20", NULL, "20 21 22");
	expect_selected(f->p, NULL, "worker", "21 22");
	expect_selected(f->p, NULL, "worker 22", "22");
	expect_selected(f->p, "cc1", "*r 21", "21");
	expect_selected(f->p, "cc1 a.c", "worker", "");
	expect_selected(f->p, NULL, "tid 40", "40");
	filter.threads = only;
	filter.process = "cc1";
	is_selected = query_select_threads(f->p, &filter);
	assert_memory_equal(is_selected, only, sizeof(only));
}
