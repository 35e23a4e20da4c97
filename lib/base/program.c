/* SPDX-License-Identifier: MIT */
#include "lib/base/program.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "lib/base/alloc.h"

#define RUNNING "/proc/self/exe"

static const char loader[] = "/" PROGRAM_LOADED PROGRAM_LOADER;

char program_again[PATH_MAX] = RUNNING;

bool program_is_launched(void)
{
	return strcmp(program_again, RUNNING) != 0;
}

size_t program_first_word(void)
{
	return program_is_launched() ? PROGRAM_LOADER_WORDS : 0;
}

static void show_variables(char **environment)
{
	static const char *const names[] = PROGRAM_LOADER_VARIABLES;

	for (; *environment; environment++) {
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			if (**environment == PROGRAM_HIDDEN &&
			    strncmp(*environment + 1, names[i] + 1, strlen(names[i]) - 1) == 0)
				**environment = *names[i];
		}
	}
}

void program_begin(const char *place, char **environment)
{
	const char *name = strrchr(place, '/') + 1;
	char path[PATH_MAX];
	ssize_t size = readlink(RUNNING, path, sizeof(path));
	size_t tail = strlen(loader), folder;
	int length;

	if (size < (ssize_t)tail || size == (ssize_t)sizeof(path) ||
	    memcmp(path + (size_t)size - tail, loader, tail) != 0)
		return;
	folder = (size_t)size - tail;
	length = snprintf(program_again, PATH_MAX, "%.*s/%s", (int)folder, path, place);
	if (length >= PATH_MAX)
		strcpy(program_again, RUNNING);
	/* Tools show the loader's name otherwise. */
	prctl(PR_SET_NAME, name, 0, 0, 0);
	show_variables(environment);
}

char *program_path(void)
{
	char path[PATH_MAX];
	ssize_t size;

	if (program_is_launched())
		return xstrdup(program_again);
	size = readlink(RUNNING, path, sizeof(path) - 1);
	if (size < 0)
		return NULL;
	path[size] = '\0';
	return xstrdup(path);
}
