/* SPDX-License-Identifier: MIT */
#include "lib/live/process_scan.h"

#include <errno.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/vec.h"
#include "lib/stream/record.h"

struct found {
	uint32_t pid;
	uint64_t since; /* from then on its events are in the rings */
};

struct run {
	const struct process_scan *scan;
	uint64_t time; /* of all records about it: before anything that the rings tell */
	VEC(struct found) processes;
};

/* What cannot become wanted later need not be known. */
static bool is_followed(const struct filter *filter, const struct rec *rec)
{
	return !(rec->flags & REC_OUTSIDE) || filter->criteria & ~FILTER_PID;
}

static void on_found(void *ctx, const void *data, size_t size)
{
	struct run *run = ctx;
	struct rec_name name;

	if (size != sizeof(name) || !record_is_valid(data, size))
		return;
	memcpy(&name, data, sizeof(name));
	if (!is_followed(run->scan->filter, &name.rec))
		return;
	/* Those of the kernel have nothing mapped, and live nowhere. */
	if (name.rec.pid == name.rec.tid && !(name.rec.flags & NAME_KERNEL_THREAD))
		vec_push(&run->processes, (struct found){name.rec.pid, name.rec.time});
	name.rec.time = run->time;
	run->scan->sink(run->scan->ctx, &name.rec);
}

/* A process may be gone by now, which is no failure. */
int process_scan_run(const struct process_scan *scan, struct error *err)
{
	struct run run = {.scan = scan, .time = clock_monotonic_ns()};
	int code = programs_scan(scan->programs, on_found, &run, err);

	vec_for_each(&run.processes, const struct found *, process) {
		if (!code)
			code = tracker_add(scan->tracker, process->pid, process->since, run.time,
					   err);
		if (code == -ENOENT || code == -ESRCH)
			code = 0;
	}
	tracker_added(scan->tracker);
	vec_release(&run.processes);
	return code;
}
