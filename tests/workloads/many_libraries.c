/* SPDX-License-Identifier: MIT */
/*
 * many_libraries FILE...: loads all of them, copies of library.so, prints "ready", then lets one
 * after the other use 1 ms of CPU time in library_work(), again and again.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/workloads/burn.h"

typedef void work_fn(double ms);

static NOINLINE void work_all(work_fn **work, int count)
{
	for (int i = 0; i < count; i++)
		work[i](1);
}

int main(int argc, char **argv)
{
	int count = argc - 1;
	work_fn **work = calloc((size_t)argc, sizeof(*work));

	if (!work)
		return 1;
	for (int i = 0; i < count; i++) {
		void *library = dlopen(argv[i + 1], RTLD_NOW | RTLD_LOCAL);

		work[i] = library ? (work_fn *)dlsym(library, "library_work") : NULL;
		if (!work[i]) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
	}
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	for (;;)
		work_all(work, count);
}
