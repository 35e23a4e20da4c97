/* SPDX-License-Identifier: MIT */
/* Out of memory, observed from the outside in a child. */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "tests/unit/test.h"

/* Returns the child's wait status and its stderr. */
static int run_out_of_memory(char *text, size_t size)
{
	size_t used = 0;
	ssize_t got;
	int fds[2], status;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0});
		signal(SIGABRT, SIG_DFL);
		dup2(fds[1], STDERR_FILENO);
		xreallocarray(NULL, SIZE_MAX / 2, 3);
		_exit(0);
	}
	close(fds[1]);
	while (used < size - 1 && (got = read(fds[0], text + used, size - 1 - used)) > 0)
		used += (size_t)got;
	text[used] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

TEST(test_overflow_ends)
{
	char text[256];
	int status = run_out_of_memory(text, sizeof(text));

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 125);
	assert_non_null(strstr(text, "prof: out of memory (18446744073709551615 bytes more): "));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

TEST(test_nothing_is_not_null)
{
	void *p = xmalloc(0), *q = xcalloc(0, 8), *r = xmemdup(NULL, 0);

	assert_non_null(p);
	assert_non_null(q);
	assert_non_null(r);
	p = xrealloc(p, 0);
	assert_non_null(p);
	free(p);
	free(q);
	free(r);
}

TEST(test_copies)
{
	char *part = xstrndup("abcdef", 3), *whole = xstrndup("abc", 30);
	char *printed = xasprintf("%s-%d", "x", 7);

	assert_string_equal(part, "abc");
	assert_string_equal(whole, "abc");
	assert_string_equal(printed, "x-7");
	free(part);
	free(whole);
	free(printed);
}
