/* SPDX-License-Identifier: MIT */
/*
 * What compiling unwind tables costs, in CPU time.
 *
 *	bench_unwind_table [FILE…]
 *
 * Prints "metric value unit" lines: the best of several warm runs for each file, as whatever else
 * the machine does can only add to it, then all of them together. The rules are shared by all files
 * and runs, as in a recording.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/cleanup.h"
#include "lib/unwind/table.h"

#define RUNS 15

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

struct totals {
	double ms;
	uint64_t rows, table_bytes;
};

static int measure(const char *path, struct unwind_rules *rules, struct totals *totals)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *copy = strdup(path), *name = basename(copy);
	double best = 0;
	uint64_t rows = 0, bytes = 0;
	int ret = fd < 0 ? -errno : 0;

	for (int i = 0; i < RUNS && ret == 0; i++) {
		struct unwind_table table;
		double start = cpu_ms(), ms;

		ret = unwind_table_compile(fd, rules, &table, NULL);
		ms = cpu_ms() - start;
		best = i == 0 || ms < best ? ms : best;
		rows = table.rows.count;
		bytes = rows * sizeof(*table.rows.items) +
			table.index.count * sizeof(*table.index.items);
		unwind_table_release(&table);
	}
	if (ret == 0) {
		printf("unwind_table_%s %.3f ms%s\n", name, best,
		       strncmp(name, "libLLVM-14.", 11) ? "" : " (target: at most 25)");
		if (rows)
			printf("unwind_row_%s %.1f ns\n", name, best * 1e6 / (double)rows);
		totals->ms += best;
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
	struct unwind_rules rules;
	struct totals totals = {0};

	unwind_rules_init(&rules);
	for (int i = 1; i < argc; i++)
		measure(argv[i], &rules, &totals);
	for (size_t i = 0; argc < 2 && i < sizeof(defaults) / sizeof(defaults[0]); i++)
		measure(defaults[i], &rules, &totals);
	printf("unwind_table_all %.3f ms\n", totals.ms);
	printf("unwind_rows_all %llu rows\n", (unsigned long long)totals.rows);
	printf("unwind_row_all %.1f ns (target: at most 25)\n",
	       totals.ms * 1e6 / (double)(totals.rows + !totals.rows));
	printf("unwind_memory_all %llu bytes\n", (unsigned long long)totals.table_bytes);
	printf("unwind_rules_all %zu rules\n", rules.rows.count);
	unwind_rules_release(&rules);
	return totals.rows ? 0 : 1;
}
