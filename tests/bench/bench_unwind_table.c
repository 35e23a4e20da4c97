/* SPDX-License-Identifier: MIT */
/*
 * Measures the CPU time of compiling unwind tables.
 *
 *	bench_unwind_table [FILE…]
 *
 * Prints "metric value unit" lines for each file, then for all of them together: the best of
 * several warm runs, as whatever else the machine does can only add to it, and the median, which
 * says how much it added. All files and runs share the rules, and memory, as in a recording.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/cleanup.h"
#include "lib/code/unwind/unwind_table.h"

#define RUNS 21

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

struct totals {
	double best_ms, median_ms;
	uint64_t rows, table_bytes;
};

static int compare(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static void print_rows(const char *name, double best_ms, double median_ms, uint64_t rows,
		       const char *target)
{
	printf("unwind_row_%s %.1f ns%s\n", name, best_ms * 1e6 / (double)(rows + !rows), target);
	printf("unwind_row_median_%s %.1f ns\n", name, median_ms * 1e6 / (double)(rows + !rows));
}

static void print_table(const char *name, double *ms, uint64_t rows)
{
	bool has_target = strncmp(name, "libLLVM-14.", 11) == 0;

	qsort(ms, RUNS, sizeof(*ms), compare);
	printf("unwind_table_%s %.3f ms%s\n", name, ms[0],
	       has_target ? " (target: at most 25)" : "");
	printf("unwind_table_median_%s %.3f ms\n", name, ms[RUNS / 2]);
	print_rows(name, ms[0], ms[RUNS / 2], rows, "");
}

static int measure(const char *path, struct unwind_rules *rules, struct unwind_scratch *scratch,
		   struct totals *totals)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *copy = strdup(path), *name = basename(copy);
	double ms[RUNS];
	uint64_t rows = 0, bytes = 0;
	int ret = fd < 0 ? -errno : 0;

	for (int i = 0; i < RUNS && ret == 0; i++) {
		struct unwind_table table;
		double start = cpu_ms();

		ret = unwind_table_compile(fd, rules, scratch, &table, NULL);
		ms[i] = cpu_ms() - start;
		rows = table.rows.count;
		bytes = rows * sizeof(*table.rows.items) +
			table.index.count * sizeof(*table.index.items);
		unwind_table_release(&table);
	}
	if (ret == 0) {
		print_table(name, ms, rows);
		totals->best_ms += ms[0];
		totals->median_ms += ms[RUNS / 2];
		totals->rows += rows;
		totals->table_bytes += bytes;
	}
	free(copy);
	return ret;
}

int main(int argc, char **argv)
{
	static const char *const defaults[] = {
		"/proc/self/exe",
		"/usr/bin/python3",
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/usr/lib/aarch64-linux-gnu/libc.so.6",
		"/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/lib/aarch64-linux-gnu/libcrypto.so.3",
		"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
	};
	struct unwind_scratch *scratch = unwind_scratch_new();
	struct unwind_rules rules;
	struct totals totals = {0};

	unwind_rules_init(&rules);
	for (int i = 1; i < argc; i++)
		measure(argv[i], &rules, scratch, &totals);
	for (size_t i = 0; argc < 2 && i < sizeof(defaults) / sizeof(defaults[0]); i++)
		measure(defaults[i], &rules, scratch, &totals);
	printf("unwind_table_all %.3f ms\n", totals.best_ms);
	printf("unwind_rows_all %llu rows\n", (unsigned long long)totals.rows);
	print_rows("all", totals.best_ms, totals.median_ms, totals.rows, " (target: at most 25)");
	printf("unwind_memory_all %llu bytes\n", (unsigned long long)totals.table_bytes);
	printf("unwind_rules_all %zu rules\n", rules.rows.count);
	unwind_scratch_free(scratch);
	unwind_rules_release(&rules);
	return totals.rows ? 0 : 1;
}
