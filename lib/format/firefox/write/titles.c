/* SPDX-License-Identifier: MIT */
#include "lib/format/firefox/write/titles.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"
#include "lib/format/firefox/write/distinct_argument.h"
#include "lib/format/firefox/write/thread_roles.h"

/* Rows to compare, sorted by key. */
struct keyed_row {
	uint64_t key;
	string_id name;
	struct firefox_row *row;
};

struct keyed_rows {
	VEC(struct keyed_row) rows;
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
	return result ? result : compare_u64((uintptr_t)left->row, (uintptr_t)right->row);
}

/* Returns the end of the group that begins at row i. */
static size_t group_end(const struct keyed_rows *k, size_t i)
{
	const struct keyed_row *first = &k->rows.items[i];
	size_t end = i + 1;

	while (end < k->rows.count && k->rows.items[end].key == first->key &&
	       k->rows.items[end].name == first->name)
		end++;
	return end;
}

/* "NAME TEXT", of the name's first `size` bytes. */
static string_id join(struct file_strings *strings, string_id name, size_t size, const char *text)
{
	struct strbuf title __attribute__((cleanup(strbuf_release_cleanup))) = {0};

	strbuf_add(&title, file_strings_get(strings, name), size);
	strbuf_addf(&title, " %s", text);
	return file_strings_intern_sized(strings, title.text, title.size);
}

static string_id extend(struct file_strings *strings, string_id name, const char *text)
{
	return join(strings, name, file_strings_size(strings, name), text);
}

/* Programs also name the process after their title, as far as it goes: "gunicorn: worke". */
static size_t size_before_role(const char *name, const char *title)
{
	const char *colon = strstr(name, ": ");

	return colon && text_starts_with(title, name) ? (size_t)(colon + 1 - name) : strlen(name);
}

static void name_processes(const struct keyed_row *rows, size_t count, struct file_strings *strings)
{
	_cleanup_free_ struct command_line *lines = xcalloc(count, sizeof(*lines));
	_cleanup_free_ struct strbuf *distinct = xcalloc(count, sizeof(*distinct));

	for (size_t i = 0; i < count; i++) {
		lines[i].list = file_strings_get(strings, rows[i].row->arguments);
		lines[i].size = file_strings_size(strings, rows[i].row->arguments);
	}
	distinct_arguments(lines, count, distinct);
	for (size_t i = 0; i < count; i++) {
		if (distinct[i].size)
			rows[i].row->process_title =
				join(strings, rows[i].name,
				     size_before_role(file_strings_get(strings, rows[i].name),
						      lines[i].list),
				     distinct[i].text);
		strbuf_release(&distinct[i]);
	}
}

/* Gives a process's title to the row of its main thread. */
static void compare_processes(struct firefox_rows *r, struct file_strings *strings)
{
	struct keyed_rows mains = {0};

	vec_for_each(&r->list, struct firefox_row *, row) {
		if (row->is_main && file_strings_size(strings, row->process_name))
			vec_push(&mains.rows, (struct keyed_row){0, row->process_name, row});
	}
	vec_sort(&mains.rows, compare_rows);
	for (size_t i = 0, end; i < mains.rows.count; i = end) {
		end = group_end(&mains, i);
		if (end - i > 1)
			name_processes(&mains.rows.items[i], end - i, strings);
	}
	vec_release(&mains.rows);
}

static uint64_t process_key(const struct firefox_row *row)
{
	return (uint64_t)row->pid << 32 | row->incarnation;
}

/*
 * Names threads that only have their process's name after what they do: it says more, and they are
 * told apart by the numbers that follow.
 */
static void name_by_roles(struct firefox_rows *r, struct file_strings *strings)
{
	struct thread_roles roles = {0};

	vec_for_each(&r->list, struct firefox_row *, row) {
		const struct profile_thread *thread =
			&r->profile->threads.rows.items[r->members.items[row->first]];
		const char *role;

		if (row->is_main || row->is_folded || row->name != row->process_name)
			continue;
		if (!roles.by_stack)
			thread_roles_init(&roles, r->profile);
		role = thread_role(&roles, r->profile, thread);
		if (role)
			row->name = row->title = file_strings_intern(strings, role);
	}
	thread_roles_release(&roles);
}

/* Names the main thread after its process, and adds tids to other threads with equal names. */
static void name_threads(const struct keyed_row *rows, size_t count, struct file_strings *strings)
{
	for (size_t i = 0; i < count; i++) {
		struct firefox_row *row = rows[i].row;
		char tid[16];

		if (row->is_main) {
			if (row->name == row->process_name)
				row->title = row->process_title;
			continue;
		}
		snprintf(tid, sizeof(tid), "%" PRIu32, row->tid);
		if (count > 1)
			row->title = extend(strings, row->name, tid);
	}
}

/* Copies the title of the main thread to all rows of a process, which are sorted together. */
static void spread_process(const struct keyed_row *rows, size_t count)
{
	const struct firefox_row *main_row = NULL;

	for (size_t i = 0; i < count; i++) {
		if (rows[i].row->is_main)
			main_row = rows[i].row;
	}
	for (size_t i = 0; main_row && i < count; i++) {
		if (rows[i].row->process_name == main_row->process_name)
			rows[i].row->process_title = main_row->process_title;
	}
}

static void compare_threads(struct firefox_rows *r, struct file_strings *strings)
{
	struct keyed_rows all = {0};
	size_t first = 0;

	vec_for_each(&r->list, struct firefox_row *, row)
		vec_push(&all.rows, (struct keyed_row){process_key(row), row->name, row});
	vec_sort(&all.rows, compare_rows);
	for (size_t i = 0, end; i < all.rows.count; i = end) {
		end = group_end(&all, i);
		name_threads(&all.rows.items[i], end - i, strings);
		if (end < all.rows.count && all.rows.items[end].key == all.rows.items[i].key)
			continue;
		spread_process(&all.rows.items[first], end - first);
		first = end;
	}
	vec_release(&all.rows);
}

/* Adds its share of all CPU time to a row that stands for many: "cc1 × 180, 82 %". */
static void add_shares(struct firefox_rows *r, struct file_strings *strings)
{
	double all = 0;

	vec_for_each(&r->list, const struct firefox_row *, row)
		all += (double)row->cpu_ns;
	vec_for_each(&r->list, struct firefox_row *, row) {
		double share = all > 0 ? 100 * (double)row->cpu_ns / all : 0;
		_cleanup_free_ char *title = NULL;

		if (!row->is_folded)
			continue;
		title = xasprintf("%s, %.*f %%", file_strings_get(strings, row->name), share < 10,
				  share);
		row->title = row->process_title = file_strings_intern(strings, title);
	}
}

void title_rows(struct firefox_rows *r, struct file_strings *strings)
{
	compare_processes(r, strings);
	name_by_roles(r, strings);
	compare_threads(r, strings);
	add_shares(r, strings);
}
