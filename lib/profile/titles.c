/* SPDX-License-Identifier: MIT */
#include "lib/profile/titles.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "lib/profile/distinct_argument.h"

/* Rows that are to be compared: those with equal keys stand side by side. */
struct keyed_row {
	uint64_t key;
	string_id name;
	thread_id row;
};

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_rows(const void *a, const void *b)
{
	const struct keyed_row *left = a, *right = b;
	int result = compare_u64(left->key, right->key);

	if (!result)
		result = compare_u64(left->name, right->name);
	return result ? result : compare_u64(left->row, right->row);
}

struct keyed_rows {
	VEC(struct keyed_row) rows;
};

/* Where the group that begins at row i ends. */
static size_t group_end(const struct keyed_rows *k, size_t i)
{
	const struct keyed_row *first = &k->rows.items[i];
	size_t end = i + 1;

	while (end < k->rows.count && k->rows.items[end].key == first->key &&
	       k->rows.items[end].name == first->name)
		end++;
	return end;
}

static const struct profile_thread *row_of(const struct profile *p, const struct keyed_row *keyed)
{
	return &p->threads.rows.items[keyed->row];
}

/* "NAME TEXT" */
static string_id extend(struct strings *strings, string_id name, const char *text)
{
	struct strbuf title __attribute__((cleanup(strbuf_release_cleanup))) = {0};

	strbuf_add(&title, strings_get(strings, name), strings_size(strings, name));
	strbuf_addf(&title, " %s", text);
	return strings_intern_sized(strings, title.text, title.size);
}

static void name_processes(struct titles *t, struct profile *p, const struct keyed_row *rows,
			   size_t count)
{
	_cleanup_free_ struct command_line *lines = xcalloc(count, sizeof(*lines));
	_cleanup_free_ struct strbuf *texts = xcalloc(count, sizeof(*texts));

	for (size_t i = 0; i < count; i++) {
		string_id arguments = p->threads.rows.items[rows[i].row].arguments;

		lines[i].list = strings_get(&p->strings, arguments);
		lines[i].size = strings_size(&p->strings, arguments);
	}
	distinct_arguments(lines, count, texts);
	for (size_t i = 0; i < count; i++) {
		if (texts[i].size)
			t->processes[rows[i].row] = extend(&p->strings, rows[i].name,
							   texts[i].text);
		strbuf_release(&texts[i]);
	}
}

/* Each process has one main thread: that row gets the process's title. */
static void compare_processes(struct titles *t, struct profile *p)
{
	struct keyed_rows mains = {0};

	vec_for_each(&p->threads.rows, const struct profile_thread *, row) {
		thread_id id = (thread_id)(row - p->threads.rows.items);

		if (row->is_main && !row->is_cpu && strings_size(&p->strings, row->process_name))
			vec_push(&mains.rows, (struct keyed_row){0, row->process_name, id});
	}
	vec_sort(&mains.rows, compare_rows);
	for (size_t i = 0, end; i < mains.rows.count; i = end) {
		end = group_end(&mains, i);
		if (end - i > 1)
			name_processes(t, p, &mains.rows.items[i], end - i);
	}
	vec_release(&mains.rows);
}

static uint64_t process_key(const struct profile_thread *row)
{
	return (uint64_t)row->pid << 32 | row->incarnation;
}

/* The main thread is called like its process; of the others, those of one name get their tids. */
static void name_threads(struct titles *t, struct profile *p, const struct keyed_row *rows,
			 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct profile_thread *row = row_of(p, &rows[i]);
		char tid[16];

		if (row->is_main) {
			if (row->name == row->process_name)
				t->threads[rows[i].row] = t->processes[rows[i].row];
			continue;
		}
		snprintf(tid, sizeof(tid), "%" PRIu32, row->tid);
		if (count > 1)
			t->threads[rows[i].row] = extend(&p->strings, row->name, tid);
	}
}

/* All rows of a process are sorted together: its title is known from its main thread. */
static void spread_process(struct titles *t, const struct profile *p, const struct keyed_row *rows,
			   size_t count)
{
	const struct keyed_row *main_row = NULL;

	for (size_t i = 0; i < count; i++) {
		if (row_of(p, &rows[i])->is_main)
			main_row = &rows[i];
	}
	for (size_t i = 0; main_row && i < count; i++) {
		if (row_of(p, &rows[i])->process_name == row_of(p, main_row)->process_name)
			t->processes[rows[i].row] = t->processes[main_row->row];
	}
}

static void compare_threads(struct titles *t, struct profile *p)
{
	struct keyed_rows all = {0};
	size_t first = 0;

	vec_for_each(&p->threads.rows, const struct profile_thread *, row) {
		thread_id id = (thread_id)(row - p->threads.rows.items);

		if (!row->is_cpu && !row->event)
			vec_push(&all.rows, (struct keyed_row){process_key(row), row->name, id});
	}
	vec_sort(&all.rows, compare_rows);
	for (size_t i = 0, end; i < all.rows.count; i = end) {
		end = group_end(&all, i);
		name_threads(t, p, &all.rows.items[i], end - i);
		if (end < all.rows.count && all.rows.items[end].key == all.rows.items[i].key)
			continue;
		spread_process(t, p, &all.rows.items[first], end - first);
		first = end;
	}
	vec_release(&all.rows);
}

/* "worker (page-faults)" is named after its thread. */
static void name_event_rows(struct titles *t, struct profile *p)
{
	vec_for_each(&p->threads.rows, const struct profile_thread *, row) {
		thread_id id = (thread_id)(row - p->threads.rows.items);
		const struct profile_thread *owner;
		size_t size;

		if (!row->event || row->owner >= p->threads.rows.count)
			continue;
		owner = &p->threads.rows.items[row->owner];
		t->processes[id] = t->processes[row->owner];
		size = strings_size(&p->strings, owner->name);
		if (t->threads[row->owner] == owner->name ||
		    strings_size(&p->strings, row->name) < size + 1)
			continue;

		_cleanup_free_ char *event =
			xstrdup(strings_get(&p->strings, row->name) + size + 1);

		t->threads[id] = extend(&p->strings, t->threads[row->owner], event);
	}
}

void titles_init(struct titles *t, struct profile *p)
{
	size_t count = p->threads.rows.count;

	t->processes = xcalloc(count + 1, sizeof(*t->processes));
	t->threads = xcalloc(count + 1, sizeof(*t->threads));
	for (size_t i = 0; i < count; i++) {
		t->processes[i] = p->threads.rows.items[i].process_name;
		t->threads[i] = p->threads.rows.items[i].name;
	}
	compare_processes(t, p);
	compare_threads(t, p);
	name_event_rows(t, p);
}

void titles_release(struct titles *t)
{
	free(t->processes);
	free(t->threads);
}
