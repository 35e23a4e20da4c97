/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/row_merging.h"

/* Ticks of a window that are looked through. */
#define WINDOW_ROWS 512u

struct merging {
	const struct profile *profile;
	struct samples out;
	bool has_readings;
	uint64_t gone;
	uint64_t used_ns; /* CPU time of rows that have gone, for the next one */
	VEC(struct sample) rows; /* of the present wait, or window */
};

static uint32_t saturated(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* Rows of other events have no CPU time. */
static void keep(struct merging *m, struct sample row)
{
	if (!row.event && !m->has_readings) {
		row.cpu_delta = saturated(row.cpu_delta + m->used_ns);
		m->used_ns = 0;
	}
	samples_add(&m->out, &row);
}

static void leave_out(struct merging *m, const struct sample *row)
{
	m->used_ns += row->cpu_delta;
	m->gone++;
}

/* Replaces the rows by those that are left. */
static uint64_t finish(struct merging *m, struct samples *samples)
{
	vec_release(&m->rows);
	samples_release(samples);
	*samples = m->out;
	return m->gone;
}

/* Writes the first row of the waits, and the last one with the weight of all others. */
static void end_waits(struct merging *m)
{
	size_t count = m->rows.count;
	uint64_t weight = 0;

	for (size_t i = 0; i < count; i++) {
		struct sample row = m->rows.items[i];

		if (i)
			weight += row.weight;
		if (i && i + 1 < count) {
			leave_out(m, &row);
			continue;
		}
		if (i)
			row.weight = saturated(weight);
		keep(m, row);
	}
	vec_clear(&m->rows);
}

uint64_t row_merging_waits(const struct profile *p, struct samples *samples, bool has_readings)
{
	struct merging m = {.profile = p, .has_readings = has_readings};

	samples_for_each(samples, row) {
		bool is_wait = row->weight && profile_is_wait(p, row);

		if (m.rows.count && (!is_wait || vec_last(&m.rows).stack != row->stack))
			end_waits(&m);
		if (is_wait)
			vec_push(&m.rows, *row);
		else
			keep(&m, *row);
	}
	end_waits(&m);
	return finish(&m, samples);
}

/* Gives the weight of a tick to the last one of the window with its stack. */
static bool hand_on(struct merging *m, size_t tick)
{
	const struct sample *row = &m->rows.items[tick];

	if (row->event || !row->weight)
		return false;
	for (size_t i = m->rows.count; i-- > tick + 1;) {
		struct sample *later = &m->rows.items[i];

		if (later->stack != row->stack || later->event || !later->weight ||
		    later->cpu != row->cpu)
			continue;
		later->weight = saturated((uint64_t)later->weight + row->weight);
		return true;
	}
	return false;
}

static void end_window(struct merging *m)
{
	for (size_t i = 0; i < m->rows.count; i++) {
		if (hand_on(m, i))
			leave_out(m, &m->rows.items[i]);
		else
			keep(m, m->rows.items[i]);
	}
	vec_clear(&m->rows);
}

uint64_t row_merging_ticks(const struct profile *p, struct samples *samples, uint64_t window,
			   bool has_readings)
{
	struct merging m = {.profile = p, .has_readings = has_readings};

	samples_for_each(samples, row) {
		bool is_wait = profile_is_wait(p, row);

		if (m.rows.count && (is_wait || m.rows.count == WINDOW_ROWS ||
				     row->time - m.rows.items[0].time >= window))
			end_window(&m);
		if (is_wait)
			keep(&m, *row);
		else
			vec_push(&m.rows, *row);
	}
	end_window(&m);
	return finish(&m, samples);
}
