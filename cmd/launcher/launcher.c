/* SPDX-License-Identifier: MIT */
/*
 * Starts a program of a tarball with the loader and libraries of the tarball. Statically linked, so
 * that it runs on any distribution, whatever its libc.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "lib/base/program.h"

#define FAILED 125

static int fail(const char *text)
{
	fprintf(stderr, "prof: %s\n", text);
	return FAILED;
}

/* Strips this file's own path below the tarball. Returns the name of the program, or NULL. */
static const char *find_folder(char *path)
{
	static const char *const places[] = {"/" PROGRAM_PROF, "/" PROGRAM_VIEW,
					     "/" PROGRAM_BROWSE};
	ssize_t size = readlink("/proc/self/exe", path, PATH_MAX);

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		ssize_t tail = (ssize_t)strlen(places[i]);

		if (size < tail || size >= PATH_MAX ||
		    memcmp(path + size - tail, places[i], (size_t)tail) != 0)
			continue;
		path[size - tail] = '\0';
		return strrchr(places[i], '/') + 1;
	}
	return NULL;
}

static void hide_variables(char **environment)
{
	static const char *const names[] = PROGRAM_LOADER_VARIABLES;

	for (; *environment; environment++) {
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
			if (strncmp(*environment, names[i], strlen(names[i])) == 0)
				**environment = PROGRAM_HIDDEN;
		}
	}
}

int main(int argc, char **argv)
{
	char folder[PATH_MAX], library[PATH_MAX + 32], loader[PATH_MAX + 64],
		program[PATH_MAX + 64], error[PATH_MAX + 128];
	const char *name = find_folder(folder);
	char **words = calloc((size_t)argc + PROGRAM_LOADER_WORDS + 2, sizeof(*words));
	char *const first[] = {loader,	"--inhibit-cache", "--library-path",
			       library, "--argv0",	   argc ? argv[0] : program};

	/* The loader trusts the environment, which a caller with fewer rights may have set. */
	if (getauxval(AT_SECURE))
		return fail("file capabilities and set-user-ID do not work with a tarball: "
			    "use sudo, or a package");
	if (!name)
		return fail("this program is not " PROGRAM_PROF ", " PROGRAM_VIEW
			    " or " PROGRAM_BROWSE ", or /proc is missing");
	if (!words)
		return fail("out of memory");
	snprintf(library, sizeof(library), "%s/" PROGRAM_LOADED, folder);
	snprintf(loader, sizeof(loader), "%s" PROGRAM_LOADER, library);
	snprintf(program, sizeof(program), "%s%s", library, name);
	_Static_assert(sizeof(first) / sizeof(first[0]) == PROGRAM_LOADER_WORDS,
		       "as the header says");
	memcpy(words, first, sizeof(first));
	words[PROGRAM_LOADER_WORDS] = program;
	for (int i = 1; i < argc; i++)
		words[PROGRAM_LOADER_WORDS + i] = argv[i];
	hide_variables(environ);
	execv(loader, words);
	snprintf(error, sizeof(error), "cannot start %s: %m", loader);
	return fail(error);
}
