/* SPDX-License-Identifier: MIT */
/* Error texts, and the lines that the log writes. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/base.h"
#include "tests/unit/test.h"

TEST(test_set_adds_the_reason)
{
	struct error err = {0};

	error_hint(&err, "of an earlier failure");
	assert_int_equal(error_set(&err, -ENOENT, "open %s", "x"), -ENOENT);
	assert_int_equal(err.code, -ENOENT);
	assert_string_equal(err.text, "open x: No such file or directory");
	assert_string_equal(err.hint, "");
	assert_int_equal(error_set(&err, 0, "nothing"), 0);
	assert_string_equal(err.text, "nothing");
}

TEST(test_text_is_as_given)
{
	struct error err = {0};

	assert_int_equal(error_text(&err, -EINVAL, "%d is odd", 3), -EINVAL);
	assert_string_equal(err.text, "3 is odd");
}

TEST(test_wrap_goes_in_front)
{
	struct error err = {0};

	error_set(&err, -EACCES, "open f");
	error_hint(&err, "run: %s", "chmod");
	assert_int_equal(error_wrap(&err, "record %d", 7), -EACCES);
	assert_string_equal(err.text, "record 7: open f: Permission denied");
	assert_string_equal(err.hint, "run: chmod");
	/* The error's own text as an argument. */
	assert_int_equal(error_text(&err, -EIO, "again: %s", err.text), -EIO);
	assert_string_equal(err.text, "again: record 7: open f: Permission denied");
}

TEST(test_reason_survives_a_long_name)
{
	static const char reason[] = ": No such file or directory";
	char name[2000];
	struct error err = {0};

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	error_set(&err, -ENOENT, "open %s", name);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_string_equal(err.text + strlen(err.text) - strlen(reason), reason);
	error_wrap(&err, "%s", name);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

TEST(test_one_line)
{
	struct error err = {0};

	error_set(&err, -EPERM, "open %s", "a\nb\033[2Jc\x7f");
	assert_string_equal(err.text, "open a?b?[2Jc?: Operation not permitted");
}

TEST(test_nobody_wants_to_know)
{
	assert_int_equal(error_set(NULL, -EIO, "x"), -EIO);
	assert_int_equal(error_text(NULL, -EIO, "x"), -EIO);
	error_wrap(NULL, "x");
	error_hint(NULL, "x");
}

/* Captures what the log writes to stderr while say() runs. */
static void capture(void (*say)(void), char *text, size_t size)
{
	int fds[2], saved = dup(STDERR_FILENO);
	ssize_t got;

	assert_true(saved >= 0);
	assert_int_equal(pipe(fds), 0);
	dup2(fds[1], STDERR_FILENO);
	close(fds[1]);
	say();
	dup2(saved, STDERR_FILENO);
	close(saved);
	got = read(fds[0], text, size - 1);
	close(fds[0]);
	assert_true(got >= 0);
	text[got] = '\0';
}

static void say_all(void)
{
	errno = ENODEV;
	log_warn("lost %d", 3);
	log_info("name\n%s", "forged");
	log_debug("detail");
}

static void say_much(void)
{
	log_warn("%5000s", "x");
}

TEST(test_levels)
{
	char text[256];

	capture(say_all, text, sizeof(text));
	assert_string_equal(text, "prof: warning: lost 3\n");
	assert_int_equal(errno, ENODEV);
	log_set_level(LOG_INFO);
	assert_true(log_enabled(LOG_INFO));
	assert_false(log_enabled(LOG_DEBUG));
	capture(say_all, text, sizeof(text));
	assert_string_equal(text, "prof: warning: lost 3\nprof: name?forged\n");
	log_set_level(LOG_DEBUG);
	capture(say_all, text, sizeof(text));
	assert_string_equal(text,
			    "prof: warning: lost 3\nprof: name?forged\nprof: debug: detail\n");
	log_set_level(LOG_WARN);
}

TEST(test_errno_survives_a_closed_stderr)
{
	int saved = dup(STDERR_FILENO);

	assert_true(saved >= 0);
	close(STDERR_FILENO);
	errno = ENODEV;
	log_warn("unheard");
	assert_int_equal(errno, ENODEV);
	dup2(saved, STDERR_FILENO);
	close(saved);
}

TEST(test_long_line_ends)
{
	char text[8000];

	capture(say_much, text, sizeof(text));
	assert_in_range(strlen(text), 1000, 1024);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}
