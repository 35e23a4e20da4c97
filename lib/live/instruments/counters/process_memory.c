/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/counters/process_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/text.h"

struct process_memory {
	struct live_processes *processes;
	struct counter_values *values;
	struct process_state state; /* a struct memory_row */
	uint32_t open; /* descriptors */
	int64_t page;
};

struct memory_row {
	bool is_open, is_refused;
	int fd; /* of /proc/PID/statm, if is_open */
	struct sent_counter counter;
};

static struct memory_row *row_of(const struct process_memory *m, struct live_process *process)
{
	return live_process_state(process, m->state);
}

static void release(void *ctx, struct live_process *process)
{
	struct process_memory *m = ctx;
	struct memory_row *row = row_of(m, process);

	if (!row->is_open)
		return;
	close(row->fd);
	row->is_open = false;
	m->open--;
}

struct process_memory *process_memory_new(struct live_processes *processes,
					  struct counter_values *values)
{
	static const struct process_listener listener = {
		.stage = LISTENER_HOLDS,
		.state_size = sizeof(struct memory_row),
		.release = release,
	};
	struct process_memory *m = xcalloc(1, sizeof(*m));

	m->processes = processes;
	m->values = values;
	m->page = sysconf(_SC_PAGESIZE);
	m->state = live_processes_listen(processes, &listener, m);
	return m;
}

void process_memory_free(struct process_memory *m)
{
	free(m);
}

static void open_row(struct process_memory *m, struct memory_row *row, uint32_t pid)
{
	char path[40];

	if (row->is_open || row->is_refused || m->open == PROCESS_MEMORY_MAX)
		return;
	snprintf(path, sizeof(path), "/proc/%u/statm", pid);
	row->fd = open(path, O_RDONLY | O_CLOEXEC);
	row->is_open = row->fd >= 0;
	row->is_refused = !row->is_open;
	m->open += row->is_open;
}

/* Reads "SIZE RESIDENT …", in pages. A process that has ended has none. */
static bool read_pages(int fd, uint64_t *pages)
{
	char text[128];
	ssize_t size = pread(fd, text, sizeof(text) - 1, 0);
	const char *at = text, *end = text + (size > 0 ? size : 0);
	uint64_t all;

	return text_scan_decimal(&at, end, &all) && at < end && *at++ == ' ' &&
	       text_scan_decimal(&at, end, pages) && *pages && *pages < (uint64_t)1 << 40;
}

void process_memory_read(struct process_memory *m, uint64_t now)
{
	struct live_process *process;
	uint32_t at = 0;

	while ((process = live_processes_next(m->processes, &at))) {
		struct memory_row *row = row_of(m, process);
		uint64_t pages;

		if (process->exit_round)
			continue;
		open_row(m, row, process->pid);
		if (row->is_open && read_pages(row->fd, &pages))
			counter_values_send(m->values, &row->counter,
					    counter_schema(COUNTER_MEMORY), process->pid,
					    (int64_t)pages * m->page, now);
	}
}
