/* SPDX-License-Identifier: MIT */
/*
 * two_pythons LIBRARY HOME LIBRARY HOME [asleep]: two versions of CPython in one process, a thread
 * each. Prints which part of the CPU time of both each took, as together.py does; with "asleep", a
 * line for each thread before it sleeps.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
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

static const char sleeper[] = "import time\n"
			      "def nap_%d():\n"
			      "    print('asleep', flush=True)\n"
			      "    time.sleep(1000)\n"
			      "nap_%d()\n";

struct python {
	const char *library, *home;
	int number;
	bool is_asleep;
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
	if (python->is_asleep)
		snprintf(text, sizeof(text), sleeper, n, n);
	else
		snprintf(text, sizeof(text), program, n, n, seconds[n], n, n);
	if (((int (*)(const char *))find(library, "PyRun_SimpleString"))(text))
		exit(1);
	return NULL;
}

int main(int argc, char **argv)
{
	bool is_asleep = argc == 6;
	struct python pythons[2];
	pthread_t threads[2];

	if (argc != 5 && !is_asleep)
		return 2;
	for (int n = 0; n < 2; n++) {
		pythons[n] = (struct python){argv[1 + 2 * n], argv[2 + 2 * n], n, is_asleep};
		pthread_create(&threads[n], NULL, run, &pythons[n]);
		if (!is_asleep)
			pthread_join(threads[n], NULL);
	}
	if (is_asleep)
		pthread_join(threads[1], NULL);
	for (int n = 0; n < 2; n++)
		printf("python_%d %f\n", n, 100 * seconds[n] / (seconds[0] + seconds[1]));
	fflush(stdout);
	_Exit(0);
}
