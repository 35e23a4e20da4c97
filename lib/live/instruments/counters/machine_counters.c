/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/counters/machine_counters.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/identity.h"
#include "lib/base/text.h"
#include "lib/live/process/cpu_limits.h"

/* A line of /proc/net/dev has some 130 bytes: room for 500 interfaces. */
#define TEXT_MAX 65536
#define PACKAGES_MAX 16
#define PICOWATTHOURS_PER_MICROJOULE (1e6 / 3600)

enum file {
	FILE_CPU,
	FILE_MEMORY,
	FILE_NETWORK,
	FILE_GROUP,
	FILE_COUNT,
};

/* By kind, beginning with the first of the machine. */
#define KIND_COUNT (COUNTER_KIND_COUNT - COUNTERS_OF_PROCESS)
#define KIND(id) (COUNTER_MACHINE_##id - COUNTERS_OF_PROCESS)

struct package {
	int fd;
	uint64_t last, range; /* in µJ; it wraps at the range */
	bool is_known;
};

struct machine_counters {
	int files[FILE_COUNT]; /* -1 if none */
	bool group_has_ns; /* in ns, of version 1 */
	struct package packages[PACKAGES_MAX];
	size_t package_count;
	double energy; /* in µJ, since the first reading */
	struct sent_counter counters[KIND_COUNT];
	char text[TEXT_MAX];
};

static int open_file(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void open_group(struct machine_counters *m)
{
	_cleanup_free_ char *text = text_read_file("/proc/self/cgroup", TEXT_MAX, NULL);
	_cleanup_free_ char *path = NULL, *file = NULL;
	struct cpu_hierarchy hierarchy;

	cpu_hierarchy_find(&hierarchy);
	path = text ? cpu_hierarchy_path(&hierarchy, text) : NULL;
	if (path) {
		m->group_has_ns = hierarchy.is_version_1;
		file = xasprintf("%s%s/cpu.stat", hierarchy.mount, path);
		m->files[FILE_GROUP] = open_file(file);
	}
	cpu_hierarchy_release(&hierarchy);
}

static bool read_number(int fd, uint64_t *value)
{
	char text[32];
	ssize_t size = pread(fd, text, sizeof(text) - 1, 0);

	if (size <= 0)
		return false;
	text[size] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return text_to_u64(text, 10, value);
}

static void open_packages(struct machine_counters *m)
{
	for (unsigned int i = 0; i < PACKAGES_MAX; i++) {
		_cleanup_free_ char *energy =
			xasprintf("/sys/class/powercap/intel-rapl:%u/energy_uj", i);
		_cleanup_free_ char *range =
			xasprintf("/sys/class/powercap/intel-rapl:%u/max_energy_range_uj", i);
		struct package package = {.fd = open_file(energy)};
		_cleanup_close_ int range_fd = open_file(range);

		if (package.fd < 0)
			return;
		if (range_fd >= 0)
			read_number(range_fd, &package.range);
		m->packages[m->package_count++] = package;
	}
}

struct machine_counters *machine_counters_open(void)
{
	struct machine_counters *m = xcalloc(1, sizeof(*m));
	/* Energy reveals what programs of others compute, so it is for root alone. */
	struct identity invoker = identity_of_invoker();
	struct identity before = identity_assume_files(&invoker);

	m->files[FILE_CPU] = open_file("/proc/stat");
	m->files[FILE_MEMORY] = open_file("/proc/meminfo");
	m->files[FILE_NETWORK] = open_file("/proc/net/dev");
	m->files[FILE_GROUP] = -1;
	open_group(m);
	if (!before.failure)
		open_packages(m);
	identity_restore_files(&before);
	return m;
}

void machine_counters_free(struct machine_counters *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < FILE_COUNT; i++) {
		if (m->files[i] >= 0)
			close(m->files[i]);
	}
	for (size_t i = 0; i < m->package_count; i++)
		close(m->packages[i].fd);
	free(m);
}

/* Reads the file, or the beginning of it, into m->text. */
static bool read_file(struct machine_counters *m, enum file file)
{
	size_t filled = 0, most = file == FILE_CPU ? 512 : TEXT_MAX - 1;
	ssize_t size = 1;

	if (m->files[file] < 0)
		return false;
	while (size > 0 && filled < most) {
		size = pread(m->files[file], m->text + filled, most - filled, (off_t)filled);
		filled += size > 0 ? (size_t)size : 0;
	}
	m->text[filled] = '\0';
	return filled;
}

/* Returns the number after `key` at the beginning of a line, or `otherwise`. */
static uint64_t number_of(const char *text, const char *key, uint64_t otherwise)
{
	const char *at = text;

	while (at) {
		if (text_starts_with(at, key))
			return strtoull(at + strlen(key), NULL, 10);
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	return otherwise;
}

static void read_cpu(struct machine_counters *m, int64_t *values, bool *has)
{
	/* user nice system idle iowait irq softirq steal, in ticks of USER_HZ */
	unsigned long long t[8] = {0};
	long long unit = 1000000 / sysconf(_SC_CLK_TCK);

	if (!read_file(m, FILE_CPU) ||
	    sscanf(m->text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2],
		   &t[3], &t[4], &t[5], &t[6], &t[7]) != 8)
		return;
	values[KIND(USER)] = (int64_t)(t[0] + t[1]) * unit;
	values[KIND(SYSTEM)] = (int64_t)t[2] * unit;
	values[KIND(INTERRUPTS)] = (int64_t)(t[5] + t[6]) * unit;
	values[KIND(STEAL)] = (int64_t)t[7] * unit;
	has[KIND(USER)] = has[KIND(SYSTEM)] = has[KIND(INTERRUPTS)] = has[KIND(STEAL)] = true;
}

static void read_memory(struct machine_counters *m, int64_t *values, bool *has)
{
	uint64_t all, left;

	if (!read_file(m, FILE_MEMORY))
		return;
	all = number_of(m->text, "MemTotal:", 0);
	left = number_of(m->text, "MemAvailable:", UINT64_MAX);
	has[KIND(MEMORY)] = left <= all;
	values[KIND(MEMORY)] = (int64_t)(all - left) * 1024;
}

static void read_network(struct machine_counters *m, int64_t *values, bool *has)
{
	char *save = NULL;

	if (!read_file(m, FILE_NETWORK))
		return;
	for (char *line = strtok_r(m->text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *colon = strchr(line, ':');
		unsigned long long in, out;

		line += strspn(line, " ");
		if (!colon || text_starts_with(line, "lo:") ||
		    sscanf(colon + 1, "%llu %*u %*u %*u %*u %*u %*u %*u %llu", &in, &out) != 2)
			continue;
		values[KIND(RECEIVED)] += (int64_t)in;
		values[KIND(SENT)] += (int64_t)out;
		has[KIND(RECEIVED)] = has[KIND(SENT)] = true;
	}
}

static void read_group(struct machine_counters *m, int64_t *values, bool *has)
{
	const char *key = m->group_has_ns ? "throttled_time " : "throttled_usec ";
	uint64_t time;

	if (!read_file(m, FILE_GROUP))
		return;
	time = number_of(m->text, key, UINT64_MAX);
	has[KIND(THROTTLED)] = time != UINT64_MAX;
	values[KIND(THROTTLED)] = (int64_t)(m->group_has_ns ? time / 1000 : time);
}

static void read_energy(struct machine_counters *m, int64_t *values, bool *has)
{
	for (size_t i = 0; i < m->package_count; i++) {
		struct package *package = &m->packages[i];
		uint64_t last = package->last;

		if (!read_number(package->fd, &package->last))
			continue;
		if (package->is_known && package->last >= last)
			m->energy += (double)(package->last - last);
		else if (package->is_known && package->range > last)
			m->energy += (double)(package->range - last + package->last);
		package->is_known = true;
		has[KIND(ENERGY)] = true;
	}
	values[KIND(ENERGY)] = (int64_t)(m->energy * PICOWATTHOURS_PER_MICROJOULE);
}

void machine_counters_read(struct machine_counters *m, struct counter_values *t, uint64_t now)
{
	int64_t values[KIND_COUNT] = {0};
	bool has[KIND_COUNT] = {0};

	read_cpu(m, values, has);
	read_memory(m, values, has);
	read_network(m, values, has);
	read_group(m, values, has);
	read_energy(m, values, has);
	for (size_t kind = 0; kind < KIND_COUNT; kind++) {
		if (has[kind])
			counter_values_send(t, &m->counters[kind],
					    counter_schema(COUNTERS_OF_PROCESS + kind), 0,
					    values[kind], now);
	}
}
