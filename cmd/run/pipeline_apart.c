/* SPDX-License-Identifier: MIT */
#include "cmd/run/pipeline_internal.h"

static void run(void *ctx, size_t job)
{
	struct pipeline *p = ctx;

	(void)job;
	p->part.run(p);
}

static void take(void *ctx, size_t job)
{
	(void)ctx;
	(void)job;
}

static enum workers_wish ask(void *ctx, size_t done)
{
	struct pipeline *p = ctx;
	const struct pipeline_part *part = &p->part;
	unsigned int signals;

	(void)done;
	steering_poll(p);
	progress_step(&p->progress, part->phase, 0, 0);
	signals = supervisor_finish_signals(&p->supervisor);
	if (part->is_last)
		return signals > part->signals ? WORKERS_END : WORKERS_GO_ON;
	if (signals <= 1)
		return WORKERS_GO_ON;
	__atomic_store_n(&p->is_cancelled, true, __ATOMIC_RELAXED);
	return WORKERS_HURRY;
}

bool pipeline_run_apart(struct pipeline *p, const struct pipeline_part *part, uint64_t stall_ns)
{
	const struct worker_jobs jobs = {
		.count = 1,
		.stall_ns = stall_ns,
		.run = run,
		.take = take,
		.ask = ask,
		.ctx = p,
	};

	p->part = *part;
	p->part.signals = supervisor_finish_signals(&p->supervisor);
	return workers_run(&jobs, 1);
}
