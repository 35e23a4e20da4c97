/* SPDX-License-Identifier: MIT */
/* Loads a library of Go, argument 1, and calls it for as many seconds as argument 2 says. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*work)(void) = library ? (int (*)(void))dlsym(library, "goWork") : NULL;
	double until;

	if (!work) {
		fprintf(stderr, "load: %s\n", argc > 2 ? dlerror() : "LIBRARY SECONDS");
		return 1;
	}
	until = now() + atof(argv[2]);
	while (now() < until)
		work();
	return 0;
}
