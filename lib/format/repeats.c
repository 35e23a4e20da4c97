/* SPDX-License-Identifier: MIT */
#include "lib/format/repeats.h"

/* Maximum of rows that are repetitions: about 150 MB. */
#define ROWS_MAX (1u << 22)

/* Returns the number of bits of a count. */
static unsigned size_of(uint64_t count)
{
	return count ? 64 - (unsigned)__builtin_clzll(count) : 0;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
	uint64_t all;

	return __builtin_add_overflow(a, b, &all) ? UINT64_MAX : all;
}

void repeats_add(struct repeats *r, uint64_t count)
{
	unsigned size = size_of(count);

	r->samples[size]++;
	/* Samples are written once in any case. */
	r->rows[size] = sum(r->rows[size], count ? count - 1 : 0);
}

void repeats_limit(struct repeats *r)
{
	uint64_t smaller = 0, larger = 0;

	r->max = 1;
	for (size_t i = 0; i <= 64; i++)
		larger += r->samples[i];
	for (unsigned size = 0; size < 64; size++) {
		uint64_t rows, max = 1ull << size;

		smaller = sum(smaller, r->rows[size]);
		larger -= r->samples[size];
		if (__builtin_mul_overflow(larger, max - 1, &rows) || sum(smaller, rows) > ROWS_MAX)
			return;
		r->max = larger ? max : UINT64_MAX;
	}
}

uint64_t repeats_of(struct repeats *r, uint64_t count)
{
	uint64_t kept = count < r->max ? count : r->max;

	r->lost = sum(r->lost, count - kept);
	return kept ? kept : 1;
}

void repeats_tell(const struct repeats *r, const char *format)
{
	if (r->lost)
		log_warn("%s has no weights: %" PRIu64 " repetitions of samples are left out",
			 format, r->lost);
}

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
