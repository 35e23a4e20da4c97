/* SPDX-License-Identifier: MIT */
#include "lib/live/proc_walk.h"

#include <errno.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/vec.h"
#include "lib/live/process/exec_arguments.h"
#include "lib/live/process/running_name.h"
#include "lib/stream/record/record.h"

struct found {
	struct rec_name name; /* of its first thread */
	uint64_t since; /* time from which its events are in the rings */
};

struct run {
	const struct proc_walk *scan;
	uint64_t time; /* of all records made here; before everything in the rings */
	VEC(struct found) processes;
	unsigned int refused; /* processes that this process may not inspect */
};

/* Processes that can never match the filter are not followed. */
static bool is_followed(const struct filter *filter, const struct rec *rec)
{
	return !(rec->flags & REC_OUTSIDE) || filter->criteria & ~FILTER_PID;
}

static void on_found(void *ctx, const void *data, size_t size)
{
	struct run *run = ctx;
	struct rec_name name;
	uint64_t since;

	if (size != sizeof(name) || !record_is_valid(data, size))
		return;
	memcpy(&name, data, sizeof(name));
	if (!is_followed(run->scan->filter, &name.rec))
		return;
	since = name.rec.time;
	name.rec.time = run->time;
	/* Kernel threads have no mappings and no container. */
	if (name.rec.pid == name.rec.tid && !(name.rec.flags & NAME_KERNEL_THREAD))
		vec_push(&run->processes, (struct found){name, since});
	run->scan->sink(run->scan->ctx, &name.rec);
}

/* Ignores processes that have ended, and those that may be sampled but not inspected. */
static int add_process(struct run *run, const struct found *process, struct error *err)
{
	uint32_t pid = process->name.rec.pid;
	int code = tracker_add(run->scan->tracker, pid, process->since, run->time, err);

	running_name_send(&process->name, run->scan->sink, run->scan->ctx);
	if (!run->scan->no_arguments)
		exec_arguments_send_running(pid, run->time, run->scan->sink, run->scan->ctx);
	if (code == -EACCES || code == -EPERM)
		run->refused++;
	else if (code != -ENOENT && code != -ESRCH)
		return code;
	return 0;
}

int proc_walk_run(const struct proc_walk *scan, struct error *err)
{
	struct run run = {.scan = scan, .time = clock_monotonic_ns()};
	int code = programs_scan(scan->programs, on_found, &run, err);

	vec_for_each(&run.processes, const struct found *, process)
		code = code ? code : add_process(&run, process, err);
	if (run.refused)
		log_warn("the mappings of %u of %zu processes may not be read: their code stays "
			 "without names; see 'prof check'",
			 run.refused, run.processes.count);
	tracker_added(scan->tracker);
	vec_release(&run.processes);
	return code;
}
