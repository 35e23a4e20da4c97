/* SPDX-License-Identifier: MIT */
#include "cmd/run/overhead.h"

#include <unistd.h>

#include "cmd/command.h"
#include "cmd/run/pipeline_internal.h"
#include "lib/base/clock.h"

#define WINDOW_NS 1000000000ull

/* Takes fewer samples, or pauses. */
static void relieve(struct pipeline *p, double share)
{
	const char *what = "half as many samples from now on, which weigh twice as much";

	if (!recorder_thin(p->recorder)) {
		what = "the recording pauses; 'prof resume' lets it go on";
		steering_pause(p, true);
	}
	progress_erase(&p->progress);
	command_say("recording took %.2g %% of the CPUs' time for a second: %s", share * 100, what);
}

void overhead_poll(struct pipeline *p)
{
	struct overhead *o = &p->overhead;
	double limit = p->options->live->max_overhead, share;
	uint64_t now, spent_ns, passed_ns;

	if (!(limit > 0) || p->steering.is_paused) {
		o->checked_ns = 0;
		return;
	}
	now = clock_monotonic_ns();
	passed_ns = now - o->checked_ns;
	if (o->checked_ns && passed_ns < WINDOW_NS)
		return;
	spent_ns = clock_process_cpu_ns() + recorder_kernel_ns(p->recorder);
	share = (double)(spent_ns - o->spent_ns) / (double)passed_ns /
		(double)sysconf(_SC_NPROCESSORS_ONLN);
	/* The first second is that of the tables of all programs. */
	if (o->checked_ns && o->has_begun && share > limit)
		relieve(p, share);
	o->has_begun |= o->checked_ns != 0;
	o->checked_ns = now;
	o->spent_ns = spent_ns;
}
