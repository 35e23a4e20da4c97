/* SPDX-License-Identifier: MIT */
/*
 * Writes the row of a difference: the samples of two threads by time, those of the base with
 * negative weights. Sums over functions are then what the other thread has more of.
 */
#include "lib/format/firefox/write/internal.h"

struct difference_row {
	uint64_t time; /* since the start of the file */
	int64_t weight; /* ns, or occurrences of the event */
	stack_id stack;
};

struct difference_rows {
	VEC(struct difference_row) list;
};

/* Both threads have samples of the same event. */
static bool is_of_clock(const struct firefox *f)
{
	const struct export_difference *of = f->difference;
	const struct profile_thread *threads = f->profile->threads.rows.items;

	samples_for_each(&threads[of->base].samples, sample)
		return !sample->event;
	samples_for_each(&threads[of->thread].samples, sample)
		return !sample->event;
	return true;
}

static void add_sample(const struct firefox *f, struct difference_rows *rows,
		       const struct sample *sample, int64_t weight)
{
	if (!sample->event)
		weight *= (int64_t)firefox_interval(f);
	if (sample->weight)
		vec_push(&rows->list, (struct difference_row){
					      .time = firefox_time(f, sample->time),
					      .weight = weight * sample->weight,
					      .stack = sample->stack,
				      });
}

static void merge(const struct firefox *f, struct difference_rows *rows)
{
	const struct export_difference *of = f->difference;
	const struct profile_thread *threads = f->profile->threads.rows.items;
	_cleanup_(sample_iterator_release) struct sample_iterator left =
		samples_begin(&threads[of->base].samples);
	_cleanup_(sample_iterator_release) struct sample_iterator right =
		samples_begin(&threads[of->thread].samples);
	const struct sample *base = sample_iterator_next(&left);
	const struct sample *other = sample_iterator_next(&right);

	while (base || other) {
		if (!other || (base && base->time < other->time)) {
			add_sample(f, rows, base, -(int64_t)of->base_weight);
			base = sample_iterator_next(&left);
		} else {
			add_sample(f, rows, other, of->weight);
			other = sample_iterator_next(&right);
		}
	}
}

static void write_times(struct jsonw *w, const struct difference_rows *rows)
{
	uint64_t before = 0;
	char *at = jsonw_column_begin(w, "timeDeltas");

	vec_for_each(&rows->list, const struct difference_row *, row) {
		at = jsonw_column_room(w, at);
		at = jsonw_column_next(jsonw_format_ms(at, row->time - before));
		before = row->time;
	}
	jsonw_column_end(w, at);
}

static char *format_ms(char *at, int64_t ns)
{
	*at = '-';
	at += ns < 0;
	return jsonw_format_ms(at, ns < 0 ? -(uint64_t)ns : (uint64_t)ns);
}

static void write_weights(struct jsonw *w, const struct difference_rows *rows, bool are_times)
{
	FIREFOX_COLUMN(w, "weight", &rows->list, struct difference_row, row, at,
		       are_times ? format_ms(at, row->weight) : jsonw_format_i64(at, row->weight));
	jsonw_key(w, "weightType");
	jsonw_cstring(w, are_times ? WEIGHTS_ARE_TIMES : WEIGHTS_ARE_COUNTS);
}

void firefox_write_difference(const struct firefox *f, struct jsonw *w)
{
	struct difference_rows rows = {0};

	merge(f, &rows);
	jsonw_key(w, "samples");
	jsonw_object_begin(w);
	FIREFOX_COLUMN(w, "stack", &rows.list, struct difference_row, row, at,
		       firefox_format_position(at, row->stack));
	write_times(w, &rows);
	write_weights(w, &rows, is_of_clock(f));
	jsonw_key(w, "length");
	jsonw_u64(w, rows.list.count);
	jsonw_object_end(w);
	vec_release(&rows.list);
}
