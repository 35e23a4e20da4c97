/* SPDX-License-Identifier: MIT */
#include "lib/session/cpu_rows.h"

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/session/thread.h"

void cpu_rows_init(struct cpu_rows *r, struct profile *profile)
{
	*r = (struct cpu_rows){.profile = profile};
}

void cpu_rows_release(struct cpu_rows *r)
{
	vec_for_each(&r->rows, struct profile_thread *, row)
		vec_release(&row->samples);
	vec_release(&r->rows);
}

/*
 * What a tick says of its CPU is that it was busy for as long as a tick stands for. The thread's
 * own delta also has what it used on other CPUs, and is 0 where a thread is new.
 */
static uint32_t busy_ns(const struct cpu_rows *r, const struct sample *sample)
{
	uint64_t interval = r->profile->meta.interval_ns;

	return interval < UINT32_MAX / sample->weight ? (uint32_t)(interval * sample->weight)
						      : UINT32_MAX;
}

void cpu_rows_add(struct cpu_rows *r, uint16_t cpu, const struct sample *sample)
{
	struct sample copy = *sample;

	if (!r->is_wanted)
		return;
	if (cpu >= r->rows.count)
		vec_add_zeroed(&r->rows, cpu + 1 - r->rows.count);
	copy.cpu_delta = busy_ns(r, sample);
	profile_thread_add_sample(&r->rows.items[cpu], &copy);
}

static void finish_row(struct cpu_rows *r, struct profile_thread *row, uint32_t cpu)
{
	struct strings *strings = &r->profile->strings;
	_cleanup_free_ char *name = xasprintf("CPU %u", cpu);

	row->tid = cpu;
	row->is_cpu = true;
	row->name = strings_intern(strings, name);
	row->process_name = strings_intern(strings, "CPUs");
	row->arguments = NO_STRING;
	row->process_label = NO_STRING;
	row->start = row->process_start = r->profile->meta.start_ns;
	thread_settle_cpu_deltas(row);
}

void cpu_rows_finish(struct cpu_rows *r)
{
	for (uint32_t cpu = 0; cpu < r->rows.count; cpu++) {
		struct profile_thread *row = &r->rows.items[cpu];

		if (!row->samples.count)
			continue;
		finish_row(r, row, cpu);
		threads_add(&r->profile->threads, row);
	}
	/* The profile owns their samples now. */
	r->rows.count = 0;
}
