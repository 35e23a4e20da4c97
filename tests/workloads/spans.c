/* SPDX-License-Identifier: MIT */
/*
 * Tells its phases in a marker file, if PROF_MARKERS names a folder for it; prints the file's path.
 * Other languages do the same in spans/.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ull

static FILE *markers; /* NULL: nobody listens */

static uint64_t time_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t now(void)
{
	return time_of(CLOCK_MONOTONIC);
}

/* The mapping, of a file that may be read, tells a recorder that it is there. */
static void markers_open(void)
{
	const char *folder = getenv("PROF_MARKERS");
	char path[4096];

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/marker-%d.txt", folder, getpid());
	markers = fopen(path, "w+");
	if (!markers)
		return;
	setvbuf(markers, NULL, _IOLBF, 0);
	mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(markers), 0);
	puts(path);
}

static uint64_t span_begin(void)
{
	return markers ? now() : 0;
}

static void span_end(uint64_t begin, const char *name)
{
	if (markers)
		fprintf(markers, "%llu %llu %s\n", (unsigned long long)begin,
			(unsigned long long)now(), name);
}

/* Takes that much CPU time, however busy the machine is. */
static void work(uint64_t ns)
{
	uint64_t end = time_of(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (time_of(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

int main(void)
{
	markers_open();
	for (int i = 0; i < 5; i++) {
		uint64_t request = span_begin(), phase;

		work(10 * MS);
		phase = span_begin();
		work(20 * MS);
		span_end(phase, "parse input");
		if (markers)
			fprintf(markers, "i %llu half way #phases step=%d\n",
				(unsigned long long)now(), i);
		work(10 * MS);
		span_end(request, "request");
		work(10 * MS);
	}
	return 0;
}
