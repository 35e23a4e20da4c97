/* SPDX-License-Identifier: MIT */
#include "lib/live/bpf/idle_time.h"

/* Maximum size; most of /proc/stat is interrupt counts. */
#define STAT_MAX (8u << 20)

struct cpu_units {
	uint64_t idle, steal;
};

static struct cpu_units sum_units(const char *text, const struct cpu_list *only)
{
	struct cpu_units sum = {0};

	/* The lines of CPUs come first. */
	for (const char *line = text; text_starts_with(line, "cpu"); line += *line == '\n') {
		uint64_t idle, waiting, steal = 0;
		uint32_t cpu;

		/*
		 * The line without a number is the sum. Time spent waiting for I/O counts as idle.
		 */
		if (line[3] != ' ' &&
		    sscanf(line,
			   "cpu%" SCNu32 " %*u %*u %*u %" SCNu64 " %" SCNu64 " %*u %*u %" SCNu64,
			   &cpu, &idle, &waiting, &steal) >= 3 &&
		    (!only->count || cpu_list_has(only, cpu))) {
			sum.idle += idle + waiting;
			sum.steal += steal;
		}
		line = strchrnul(line, '\n');
	}
	return sum;
}

uint64_t idle_time_parse(const char *text, const struct cpu_list *only, uint64_t unit_ns)
{
	return sum_units(text, only).idle * unit_ns;
}

uint64_t steal_time_parse(const char *text, const struct cpu_list *only, uint64_t unit_ns)
{
	return sum_units(text, only).steal * unit_ns;
}

typedef uint64_t time_parse_fn(const char *text, const struct cpu_list *only, uint64_t unit_ns);

static uint64_t read_time(const struct cpu_list *only, time_parse_fn *parse)
{
	_cleanup_free_ char *text = text_read_file("/proc/stat", STAT_MAX, NULL);
	long units = sysconf(_SC_CLK_TCK);

	return text && units > 0 ? parse(text, only, 1000000000ull / (uint64_t)units) : 0;
}

uint64_t idle_time_read(const struct cpu_list *only)
{
	return read_time(only, idle_time_parse);
}

uint64_t steal_time_read(const struct cpu_list *only)
{
	return read_time(only, steal_time_parse);
}
