/* SPDX-License-Identifier: MIT */
/*
 * Rows of samples of one thread, in order of time. The latest rows are open; older ones are closed
 * in chunks: unpacked while there is room, then packed to a few bytes each, and beyond a limit in a
 * file (sample_store.h). Rows are therefore read and changed from one end to the other, not by
 * number:
 *
 *	samples_for_each(&thread->samples, sample) sum += sample->weight;
 *	samples_change_each(&thread->samples, sample) sample->stack = map[sample->stack];
 *
 * A loop may be left at any time. A zeroed struct is empty.
 */
#pragma once

#include "lib/model/tables/ids.h"

#define NO_CPU UINT16_MAX

struct sample {
	uint64_t time; /* CLOCK_MONOTONIC ns */
	stack_id stack; /* NO_STACK: unknown */
	/*
	 * Ticks of the clock, or occurrences of the event; for a wait, its length in ticks. 0: the
	 * row only has CPU time, and no stack.
	 */
	uint32_t weight;
	/* CPU time since the thread's previous row, ns, saturated; 0 for other events. */
	uint32_t cpu_delta;
	uint16_t cpu; /* NO_CPU: unknown */
	uint8_t event; /* 0: the clock; otherwise index into struct event_counts */
};

/* Rows of a chunk when it is closed; late rows may double the number. */
#define CHUNK_ROWS 4096u

struct sample_chunks; /* closed chunks */

struct samples {
	VEC(struct sample) open; /* the latest rows, not closed yet */
	struct sample_chunks *closed; /* NULL: none */
};

void samples_release(struct samples *s);
/* Returns the number of rows. */
size_t samples_count(const struct samples *s);
/*
 * Return the time of the first row, UINT64_MAX if there are no rows; and of the last row, 0 if
 * there are none.
 */
uint64_t samples_first_time(const struct samples *s);
uint64_t samples_last_time(const struct samples *s);
/* Inserts after all rows that are not later, mostly at the end. */
void samples_add(struct samples *s, const struct sample *sample);
/*
 * Takes ownership of `count` rows in order of time, from malloc(). They replace the present rows.
 */
void samples_take(struct samples *s, struct sample *rows, size_t count);
/* Closes all rows: no more are expected. */
void samples_close(struct samples *s);
/*
 * Moves all rows of `from` to `into`, in order of time; with equal times, rows of `into` come
 * first.
 */
void samples_merge(struct samples *into, struct samples *from);

struct sample_iterator {
	struct samples *of;
	struct sample *rows; /* rows of the current part */
	size_t at, count; /* rows [at, count) come next; rows [0, at) when going back */
	struct sample *buffer; /* unpacked rows of a chunk, owned; NULL: none */
	size_t room; /* capacity of the buffer, in rows */
	size_t part; /* current part: closed chunks first, then the open rows */
	bool changes, frees;
};

/* Begins before the first row, or after all rows that are not later than `time`. */
struct sample_iterator samples_begin(const struct samples *s);
struct sample_iterator samples_after(const struct samples *s, uint64_t time);
/* Begins after the last row. */
struct sample_iterator samples_end(const struct samples *s);
/* Begins like the functions above; rows may be changed, except for their times. */
struct sample_iterator samples_begin_change(struct samples *s);
/* Begins before the first row. Frees rows that were passed; release the samples afterwards. */
struct sample_iterator samples_begin_free(struct samples *s);
/* Stores the changes. */
void sample_iterator_release(struct sample_iterator *it);
/* Moves to the next part, or the previous one; false at the end. Its rows are [0, count). */
bool sample_iterator_next_part(struct sample_iterator *it);
bool sample_iterator_part_before(struct sample_iterator *it);

/* Return NULL at the end. A row is valid until the next call. */
static inline struct sample *sample_iterator_next(struct sample_iterator *it)
{
	while (it->at == it->count) {
		if (!sample_iterator_next_part(it))
			return NULL;
	}
	return &it->rows[it->at++];
}

static inline struct sample *sample_iterator_before(struct sample_iterator *it)
{
	while (!it->at) {
		if (!sample_iterator_part_before(it))
			return NULL;
	}
	return &it->rows[--it->at];
}

static inline void sample_iterator_release_cleanup(struct sample_iterator *it)
{
	sample_iterator_release(it);
}

/* The outer loop runs once, so that `break` leaves both. */
#define SAMPLES_LOOP(type, it, begin, step) \
	for (struct sample_iterator iterator_##it _cleanup_(sample_iterator_release) = (begin), \
						  *once_##it = &iterator_##it; \
	     once_##it; once_##it = NULL) \
		for (type it; (it = step(&iterator_##it));)

#define samples_for_each(s, it) \
	SAMPLES_LOOP(const struct sample *, it, samples_begin(s), sample_iterator_next)
#define samples_for_each_back(s, it) \
	SAMPLES_LOOP(const struct sample *, it, samples_end(s), sample_iterator_before)
#define samples_change_each(s, it) \
	SAMPLES_LOOP(struct sample *, it, samples_begin_change(s), sample_iterator_next)

/*
 * Moves CPU time that a thread cannot have used since its previous tick to earlier ticks. The
 * kernel updates a thread's CPU time only now and then, so a reading may be old but never too new.
 * Working from the last tick to the first gives the smallest values consistent with the readings,
 * never more than the elapsed time. Samples of other events are not changed.
 */
void samples_settle_cpu_deltas(struct samples *s);
/*
 * Does the same for an array. `before`: time of the previous tick, 0: none; *excess: CPU time
 * carried over from later ticks.
 */
void sample_rows_settle(struct sample *rows, size_t count, uint64_t before, uint64_t *excess);
