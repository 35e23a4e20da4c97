/* SPDX-License-Identifier: MIT */
/*
 * two_pythons LIBRARY HOME LIBRARY HOME: two versions of CPython in one process, a thread each.
 * Prints which part of the CPU time of both each took, as together.py does.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

#define HOME_MAX 500

static const double seconds[] = {1.5, 0.5};
static const char program[] = "import time\n"
			      "def leaf_%d(rounds):\n"
			      "    total = 0\n"
			      "    for i in range(rounds):\n"
			      "        total = (total * 31 + i) & 0xffffff\n"
			      "    return total\n"
			      "def part_%d():\n"
			      "    end = time.thread_time() + %f\n"
			      "    while time.thread_time() < end:\n"
			      "        leaf_%d(20000)\n"
			      "part_%d()\n";

struct python {
	const char *library, *home;
	int number;
};

static void *find(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return found;
}

static void *run(void *ctx)
{
	const struct python *python = ctx;
	void *library = dlopen(python->library, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	wchar_t *home = calloc(HOME_MAX, sizeof(*home));
	char text[1000];
	int n = python->number;

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	mbstowcs(home, python->home, HOME_MAX - 1);
	((void (*)(const wchar_t *))find(library, "Py_SetPythonHome"))(home);
	((void (*)(int))find(library, "Py_InitializeEx"))(0);
	snprintf(text, sizeof(text), program, n, n, seconds[n], n, n);
	if (((int (*)(const char *))find(library, "PyRun_SimpleString"))(text))
		exit(1);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 5)
		return 2;
	for (int n = 0; n < 2; n++) {
		struct python python = {argv[1 + 2 * n], argv[2 + 2 * n], n};

		pthread_create(&thread, NULL, run, &python);
		pthread_join(thread, NULL);
	}
	for (int n = 0; n < 2; n++)
		printf("python_%d %f\n", n, 100 * seconds[n] / (seconds[0] + seconds[1]));
	fflush(stdout);
	_Exit(0);
}
