/* SPDX-License-Identifier: MIT */
/* Files that a command will map, told before it is executed. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <sys/stat.h>

#include "lib/base/cleanup.h"
#include "lib/live/process/command_files.h"
#include "tests/unit/scratch.h"
#include "tests/unit/test.h"

static int setup(void **state)
{
	static struct scratch s;

	scratch_init(&s);
	scratch_run(
		&s,
		"mkdir bin lib && echo 'int f(void){return 1;}' > f.c && "
		"echo 'int f(void);int main(void){return f();}' > main.c && "
		"gcc -shared -o lib/libf.so f.c && "
		"gcc -o bin/run main.c -Llib -lf '-Wl,-rpath,/nowhere:$ORIGIN/../lib' && "
		"printf '#!%%s/bin/run -x\\n' $PWD > bin/script && "
		"printf '#! /usr/bin/env -S run -x\\n' > bin/by_name && "
		"printf '#!/bin/sh\\nset -e\\nexec run x\\n' > bin/starts && "
		"printf '#!/usr/bin/env sed\\nrun\\n' > bin/edits && "
		"printf '#!%%s/bin/loop\\n' $PWD > bin/loop && printf '#!' > bin/none && "
		"mkfifo bin/pipe && mkdir bin/folder && echo text > bin/text && chmod +x bin/* && "
		"cp bin/run bin/data && chmod a-x bin/data");
	*state = &s;
	return 0;
}

struct seen {
	const struct scratch *scratch;
	size_t count;
	size_t programs; /* calls with the program */
	int program, library; /* numbers of the calls with these files, from 1 on; 0: none */
};

static bool is_same(const struct seen *seen, int fd, const char *name)
{
	_cleanup_free_ char *path = scratch_path(seen->scratch, name);
	struct stat a, b;

	assert_int_equal(fstat(fd, &a), 0);
	assert_int_equal(stat(path, &b), 0);
	return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void take(void *ctx, int fd)
{
	struct seen *seen = ctx;

	seen->count++;
	if (is_same(seen, fd, "bin/run")) {
		seen->program = (int)seen->count;
		seen->programs++;
	}
	if (is_same(seen, fd, "lib/libf.so"))
		seen->library = (int)seen->count;
}

/* Adds the folder with the programs to PATH. */
static void set_path(const struct scratch *s)
{
	_cleanup_free_ char *folder = scratch_path(s, "bin"), *path = NULL;

	path = xasprintf("%s:%s", folder, getenv("PATH"));
	setenv("PATH", path, 1);
}

static struct seen find_with(const struct scratch *s, const char *command, const char *argument)
{
	struct seen seen = {.scratch = s};
	char *argv[] = {(char *)command, (char *)argument, NULL};

	command_files_find(argv, take, &seen);
	return seen;
}

static struct seen find(const struct scratch *s, const char *command)
{
	return find_with(s, command, NULL);
}

static struct seen find_file(const struct scratch *s, const char *name)
{
	_cleanup_free_ char *path = scratch_path(s, name);

	return find(s, path);
}

static void check_program(const struct seen *seen)
{
	assert_int_equal(seen->program, 1);
	assert_in_range(seen->library, 2, seen->count);
}

TEST(programs_and_their_libraries)
{
	struct seen seen = find_file(*state, "bin/run");

	check_program(&seen);
}

TEST(scripts_have_interpreters)
{
	struct seen seen = find_file(*state, "bin/script");

	check_program(&seen);
	set_path(*state);
	seen = find_file(*state, "bin/by_name");
	check_program(&seen);
}

TEST(names_are_looked_up)
{
	struct seen seen;

	set_path(*state);
	seen = find(*state, "run");
	check_program(&seen);
	assert_int_equal(find(*state, "walks").count, 0);
}

TEST(programs_named_in_arguments_are_found_once)
{
	static const char *const arguments[] = {
		"run",
		"cd x && run file | run",
		"X=$(run) true;run",
		"if ! 'run' -x>log; then exit; fi",
		"starts",
	};
	_cleanup_free_ char *text = xmalloc(100000);
	struct seen seen;
	size_t count;

	set_path(*state);
	for (size_t i = 0; i < sizeof(arguments) / sizeof(*arguments); i++) {
		seen = find_with(*state, "env", arguments[i]);
		assert_int_equal(seen.programs, 1);
		assert_in_range(seen.library, 2, seen.count);
	}
	assert_int_equal(find_with(*state, "env", "-run runs x/run").programs, 0);
	count = find_with(*state, "env", "true").count;
	assert_int_equal(find_with(*state, "env", "true; data <data").count, count);
	/* A long argument costs no more than a limited number of words. */
	memset(text, 'x', 99999);
	for (size_t i = 1; i < 99999; i += 2)
		text[i] = ' ';
	memcpy(text + 99995, " run", 5);
	assert_int_equal(find_with(*state, "env", text).programs, 0);
}

TEST(programs_started_by_a_script_of_a_shell_are_found)
{
	struct seen seen;

	set_path(*state);
	seen = find(*state, "starts");
	assert_int_equal(seen.programs, 1);
	assert_in_range(seen.library, 2, seen.count);
	assert_int_equal(find(*state, "edits").programs, 0);
}

/* None of these may keep the recording from beginning. */
TEST(others_have_none)
{
	assert_int_equal(find_file(*state, "bin/missing").count, 0);
	assert_int_equal(find_file(*state, "bin/loop").count, 0);
	assert_int_equal(find_file(*state, "bin/pipe").count, 0);
	assert_int_equal(find_file(*state, "bin/folder").count, 0);
	assert_int_equal(find_file(*state, "bin/text").count, 1);
	assert_int_equal(find_file(*state, "bin/none").count, 1);
	assert_int_equal(find(*state, "").count, 0);
}

TEST_GROUP(setup, scratch_teardown);
