/* SPDX-License-Identifier: MIT */
#include "lib/format/scope_rows.h"

static void add_row(struct scope_rows *rows, struct scope_row row)
{
	rows->sum += row.weight;
	vec_push(&rows->list, row);
}

/* A difference of one tick is within the error of the clock. */
static void add_gap(struct scope_rows *rows, uint64_t until)
{
	if (until > rows->sum + 1)
		add_row(rows, (struct scope_row){NO_STACK, true, until - rows->sum});
}

void scope_rows_collect(struct scope_rows *rows, const struct profile *p,
			const struct profile_thread *thread, uint8_t event, bool has_times)
{
	uint64_t interval = p->meta.interval_ns;

	samples_for_each(&thread->samples, sample) {
		uint64_t before = p->meta.sample_ticks ? 0 : sample->weight - 1u, tick;

		if (sample->event != event || !sample->weight)
			continue;
		tick = has_times ? profile_since_start(p, sample->time) / interval : 0;
		if (tick > before)
			add_gap(rows, tick - before);
		add_row(rows, (struct scope_row){sample->stack, false, sample->weight});
	}
	if (has_times && p->meta.end_ns > p->meta.start_ns)
		add_gap(rows, (p->meta.end_ns - p->meta.start_ns) / interval);
}
