/* SPDX-License-Identifier: MIT */

#include <stdio.h>
#include <string.h>

#include "lib/model/meaning/titles.h"
#include "tests/unit/test.h"

/*
 * Expects that these texts follow the names of processes with these arguments, separated by '|'
 * here; NULL ends both lists.
 */
static void check(const char *const *lines, const char *const *expected)
{
	struct profile *p = profile_new();
	struct thread_titles titles;
	char list[256];

	for (uint32_t i = 0; lines[i]; i++) {
		size_t size = strlen(lines[i]);
		struct profile_thread row = {.pid = i + 1, .tid = i + 1, .is_main = true};

		memcpy(list, lines[i], size + 1);
		for (size_t k = 0; k < size; k++)
			list[k] = list[k] == '|' ? '\0' : list[k];
		row.name = row.process_name = strings_intern(&p->strings, "p");
		row.process_label = NO_STRING;
		row.arguments = size ? strings_intern_list(&p->strings, list, size + 1) : NO_STRING;
		threads_add(&p->threads, &row);
	}
	thread_titles_find(&titles, p);
	for (thread_id id = 0; expected[id]; id++) {
		snprintf(list, sizeof(list), "p%s%s", *expected[id] ? " " : "", expected[id]);
		assert_string_equal(process_title(&titles, id), list);
	}
	thread_titles_release(&titles);
	profile_free(p);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(the_first_that_differs)
{
	check(LIST("cc1|-quiet|src/parse.c|-o|/tmp/1.s", "cc1|-quiet|src/scan.c|-o|/tmp/2.s"),
	      LIST("parse.c", "scan.c"));
	check(LIST("python3|a.py|x", "python3|a.py|y"), LIST("x", "y"));
	/* The number of options may differ. */
	check(LIST("cc|-DX|-c|a.c", "cc|-c|b.c"), LIST("a.c", "b.c"));
	check(LIST("sleep|1", "sleep|2", "sleep|3", "sleep|1"), LIST("1", "2", "3", "1"));
	/* An argument of most lines tells little, a folder nothing. */
	check(LIST("cc1|-I|common|a.c", "cc1|-I|common|b.c", "cc1|-I|common|c.c", "cc1|-I|.|d.c"),
	      LIST("a.c", "b.c", "c.c", "d.c"));
}

TEST(a_title_tells_a_role)
{
	check(LIST("nginx: master process /usr/sbin/nginx", "nginx: worker process"),
	      LIST("master process /usr/sbin/nginx", "worker process"));
	check(LIST("postgres: 18/main: u db [local] UPDATE waiting", "postgres|-D|/srv/main"),
	      LIST("18/main: u db [local] UPDATE waiting", "main"));
	/* Longer than arguments are shown, and two of one role. */
	check(LIST("a: 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789", "a: b",
		   "a: b"),
	      LIST("0123456789 0123456789 0123456789 0123456789 0123456789 …", "b", "b"));
	/* These are arguments. */
	check(LIST("sh: x|-c|a", "sh: x|-c|b"), LIST("a", "b"));
}

TEST(equal_ones_have_none)
{
	check(LIST("sh|-c|x", "sh|-c|x"), LIST("", ""));
	check(LIST("sh", "sh"), LIST("", ""));
	check(LIST("", ""), LIST("", ""));
	check(LIST("sh|x"), LIST(""));
}

TEST(not_all_are_known)
{
	check(LIST("cc|a.c", "", "cc|b.c"), LIST("a.c", "", "b.c"));
	check(LIST("cc|a.c", "cc"), LIST("a.c", ""));
	check(LIST("cc||a.c", "cc||b.c"), LIST("a.c", "b.c"));
}

TEST(options_only_where_there_is_no_other)
{
	check(LIST("server|--port=1", "server|--port=2"), LIST("--port=1", "--port=2"));
	check(LIST("server|--dir=/a/b", "server|x"), LIST("--dir=/a/b", "x"));
	check(LIST("cc1|-MMD|a.d|-MQ|a.o|a.c", "cc1|-MMD|b.d|-MQ|b.o|b.c"), LIST("a.c", "b.c"));
}

TEST(files_of_one_name)
{
	check(LIST("cc|src/a/util.c", "cc|src/b/util.c", "cc|main.c"),
	      LIST("a/util.c", "b/util.c", "main.c"));
	check(LIST("ls|/tmp/", "ls|/"), LIST("tmp", "/"));
}

TEST(long_ones_are_shortened)
{
	check(LIST("cc|dir/a_file_with_quite_a_long_name.c", "cc|b"),
	      LIST("…ith_quite_a_long_name.c", "b"));
	check(LIST("sh|-c|cd /tmp/x && make a lot of things", "sh|-c|x"),
	      LIST("cd /tmp/x && make a lot…", "x"));
	/* No parts of characters. */
	check(LIST("sh|éééééééééééééééé", "sh|x"), LIST("ééééééééééé…", "x"));
	check(LIST("sh|a/éééééééééééééééé", "sh|x"), LIST("…ééééééééééé", "x"));
	check(LIST("sh|a\nb\x1b", "sh|x"), LIST("a?b?", "x"));
}
