/* SPDX-License-Identifier: MIT */
/*
 * empty_recorder: opens the perf events of a recording of the whole machine on each CPU, a clock
 * and a ring of mappings, and reads nothing of them; prints "ready" and closes them when its input
 * ends (root). A floor for what does more with them.
 */
#include <linux/perf_event.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RING_BYTES (512u << 10)
#define SKIP_MS 100

static int open_event(struct perf_event_attr *attr, int cpu)
{
	attr->size = sizeof(*attr);
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	return (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_clock(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = 999,
		.exclude_idle = 1,
	};

	return open_event(&attr, cpu);
}

static struct perf_event_mmap_page *open_ring(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.build_id = 1,
		.watermark = 1,
		.wakeup_watermark = RING_BYTES / 8,
	};
	int fd = open_event(&attr, cpu);
	void *ring;

	if (fd < 0)
		return NULL;
	ring = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES, PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	return ring == MAP_FAILED ? NULL : ring;
}

/* Makes room: a record that finds none is cheaper. */
static void skip_all(struct perf_event_mmap_page *const *rings, long cpus)
{
	for (long cpu = 0; cpu < cpus; cpu++) {
		uint64_t head = __atomic_load_n(&rings[cpu]->data_head, __ATOMIC_ACQUIRE);

		__atomic_store_n(&rings[cpu]->data_tail, head, __ATOMIC_RELEASE);
	}
}

int main(void)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct perf_event_mmap_page **rings = calloc((size_t)cpus, sizeof(*rings));

	for (long cpu = 0; cpu < cpus; cpu++) {
		rings[cpu] = open_ring((int)cpu);
		if (!rings[cpu] || open_clock((int)cpu) < 0) {
			perror("empty_recorder");
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	while (poll(&input, 1, SKIP_MS) == 0)
		skip_all(rings, cpus);
	free(rings);
	return 0;
}
