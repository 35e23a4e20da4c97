/* SPDX-License-Identifier: MIT */
/*
 * dlopen keep|close MS LIBRARY...: loads libraries one after the other, copies of library.so, and
 * lets each use MS of CPU time at once. With "close", unloads each before the next, which then
 * takes its place.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/workloads/burn.h"

typedef void work_fn(double ms);

static NOINLINE int run_library(const char *path, double ms, int close)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	work_fn *work = library ? (work_fn *)dlsym(library, "library_work") : NULL;

	if (!work) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	work(ms);
	return close ? dlclose(library) : 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	if (argc < 4)
		return 2;
	for (int i = 3; i < argc; i++)
		failed |= run_library(argv[i], strtod(argv[2], NULL), !strcmp(argv[1], "close"));
	return failed;
}
