/* SPDX-License-Identifier: MIT */
#include "lib/base/program.h"

#include <signal.h>
#include <sys/prctl.h>

static bool is_there(int length, const char *file)
{
	return length < PATH_MAX && access(file, F_OK) == 0;
}

bool search_path_find(const char *name, char file[PATH_MAX])
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return is_there(snprintf(file, PATH_MAX, "%s", name), file);
	while (path) {
		size_t size = strcspn(path, ":");
		int length;

		/* An empty component is the working directory. */
		if (size)
			length = snprintf(file, PATH_MAX, "%.*s/%s", (int)size, path, name);
		else
			length = snprintf(file, PATH_MAX, "./%s", name);
		if (is_there(length, file))
			return true;
		path = path[size] ? path + size + 1 : NULL;
	}
	return false;
}

char *companion_path(const char *name)
{
	_cleanup_free_ char *path = program_path();
	char *slash, *beside, *installed;

	slash = path ? strrchr(path, '/') : NULL;
	if (!slash)
		return NULL;
	*slash = '\0';
	beside = xasprintf("%s/%s", path, name);
	installed = xasprintf("%s/../lib/prof/%s", path, name);
	if (access(beside, F_OK) == 0 || access(installed, F_OK) != 0) {
		free(installed);
		return beside;
	}
	free(beside);
	return installed;
}

void signal_name(int number, char to[SIGNAL_NAME_SIZE])
{
	const char *name = sigabbrev_np(number);

	if (name)
		snprintf(to, SIGNAL_NAME_SIZE, "SIG%s", name);
	else if (number < SIGRTMIN)
		snprintf(to, SIGNAL_NAME_SIZE, "signal %d", number);
	else
		snprintf(to, SIGNAL_NAME_SIZE, "SIGRTMIN+%d", number - SIGRTMIN);
}

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
	/* Otherwise tools show the loader's name. */
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
