/* SPDX-License-Identifier: MIT */
#include "tests/unit/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/binary.h"

void scratch_init(struct scratch *s)
{
	strcpy(s->dir, "/tmp/prof-test-XXXXXX");
	assert_non_null(mkdtemp(s->dir));
}

void scratch_run(const struct scratch *s, const char *fmt, ...)
{
	_cleanup_free_ char *source = getcwd(NULL, 0), *inner = NULL, *command = NULL;
	va_list args;

	va_start(args, fmt);
	inner = xvasprintf(fmt, args);
	va_end(args);
	command = xasprintf("SRC='%s' && cd '%s' && { %s; }", source, s->dir, inner);
	if (system(command) != 0)
		fail_msg("failed: %s", inner);
}

void scratch_release(struct scratch *s)
{
	_cleanup_free_ char *command = xasprintf("rm -rf '%s'", s->dir);

	assert_int_equal(system(command), 0);
}

int scratch_teardown(void **state)
{
	scratch_release(*state);
	return 0;
}

char *scratch_path(const struct scratch *s, const char *name)
{
	return xasprintf("%s/%s", s->dir, name);
}

int scratch_open(const struct scratch *s, const char *name)
{
	_cleanup_free_ char *path = scratch_path(s, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

uint64_t scratch_rva(const struct scratch *s, const char *name, const char *symbol)
{
	_cleanup_close_ int fd = scratch_open(s, name);
	struct binary_symbols symbols = {0};
	struct binary *b;
	uint64_t rva = 0;
	bool is_found = false;

	assert_int_equal(binary_open(&b, fd, NULL), 0);
	binary_add_symbols(b, NULL, &symbols);
	vec_for_each(&symbols.rows, const struct binary_symbol *, it) {
		if (strcmp(it->name, symbol) != 0)
			continue;
		rva = it->vaddr - binary_first_vaddr(b);
		is_found = true;
	}
	vec_release(&symbols.rows);
	binary_free(b);
	assert_true(is_found);
	return rva;
}
