/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/samples.h"

#include "lib/model/tables/sample_store.h"

/* Recordings contain millions of samples. */
_Static_assert(sizeof(struct sample) == 24, "grown");

/* Number of rows that stay open, for late rows, when earlier ones are closed. */
#define OPEN_ROWS 512u
/* Fewer rows take less memory unpacked. */
#define CLOSED_MIN 24u
/* Late rows that wait to be merged. A merge changes many chunks, so there are more if rows are. */
#define LATE_MIN 512u
#define LATE_MAX 65536u

struct sample_chunk {
	uint64_t first, last; /* times of the first and the last row */
	uint64_t last_tick; /* time of the last clock row; 0: none */
	uint32_t count;
	struct sample *rows; /* NULL: rows are packed */
	struct stored_bytes bytes;
};

struct late_row {
	struct sample sample;
	uint32_t number; /* its place among late rows of the same time */
};

struct sample_chunks {
	VEC(struct sample_chunk) list;
	VEC(struct late_row) late; /* belong before the end of a chunk; in any order */
	size_t count; /* number of rows, with late ones */
};

static size_t chunk_count(const struct samples *s)
{
	return s->closed ? s->closed->list.count : 0;
}

static void drop_rows(struct sample_chunk *chunk)
{
	if (chunk->rows)
		sample_store_give_room(chunk->count * sizeof(*chunk->rows));
	else
		sample_store_drop(&chunk->bytes);
	free(chunk->rows);
	chunk->rows = NULL;
}

void samples_release(struct samples *s)
{
	vec_release(&s->open);
	if (!s->closed)
		return;
	vec_for_each(&s->closed->list, struct sample_chunk *, chunk)
		drop_rows(chunk);
	vec_release(&s->closed->list);
	vec_release(&s->closed->late);
	free(s->closed);
	s->closed = NULL;
}

size_t samples_count(const struct samples *s)
{
	return s->open.count + (s->closed ? s->closed->count : 0);
}

uint64_t samples_last_time(const struct samples *s)
{
	if (s->open.count)
		return vec_last(&s->open).time;
	return chunk_count(s) ? vec_last(&s->closed->list).last : 0;
}

static void pack(struct sample_chunk *chunk, const struct sample *rows, uint32_t count)
{
	unsigned char *bytes = xmalloc(SAMPLE_PACK_MAX(count));
	size_t size = sample_pack(rows, count, bytes);

	sample_store_put(&chunk->bytes, bytes, (uint32_t)size);
	free(bytes);
}

/* Replaces the rows of the chunk by a copy of these; packed if there is no room. */
static void put_rows(struct sample_chunk *chunk, const struct sample *rows, uint32_t count)
{
	if (chunk->rows)
		drop_rows(chunk);
	if (sample_store_take_room(count * sizeof(*rows))) {
		sample_store_drop(&chunk->bytes);
		chunk->rows = xmemdup(rows, count * sizeof(*rows));
	} else {
		pack(chunk, rows, count);
	}
	chunk->count = count;
	chunk->first = rows[0].time;
	chunk->last = rows[count - 1].time;
	chunk->last_tick = 0;
	for (uint32_t i = count; i-- > 0 && !chunk->last_tick;)
		chunk->last_tick = rows[i].event ? 0 : rows[i].time;
}

static void unpack(const struct sample_chunk *chunk, struct sample *rows)
{
	unsigned char *buffer = chunk->bytes.bytes ? NULL : xmalloc(chunk->bytes.size);
	const unsigned char *bytes = sample_store_get(&chunk->bytes, buffer);

	if (!sample_unpack(bytes, chunk->bytes.size, rows, chunk->count))
		memset(rows, 0, chunk->count * sizeof(*rows));
	free(buffer);
}

static void get_rows(const struct sample_chunk *chunk, struct sample *rows)
{
	if (chunk->rows)
		memcpy(rows, chunk->rows, chunk->count * sizeof(*rows));
	else
		unpack(chunk, rows);
}

static void close_rows(struct samples *s, uint32_t count)
{
	struct sample_chunk chunk = {0};

	if (!s->closed)
		s->closed = xcalloc(1, sizeof(*s->closed));
	put_rows(&chunk, s->open.items, count);
	vec_push(&s->closed->list, chunk);
	s->closed->count += count;
	s->open.count -= count;
	memmove(s->open.items, s->open.items + count, s->open.count * sizeof(*s->open.items));
}

ORDER(compare_late, struct late_row,
      COMPARE(a->sample.time, b->sample.time) ?: COMPARE(a->number, b->number))

/* Appends the chunk with late rows, in parts of the usual size. */
static void add_merged(struct sample_chunks *to, struct sample_chunk *chunk,
		       const struct late_row *late, uint32_t count)
{
	uint32_t total = chunk->count + count, at = total, left = chunk->count;
	uint32_t parts = total < 2 * CHUNK_ROWS ? 1 : total / CHUNK_ROWS;
	struct sample *rows = xreallocarray(NULL, total, sizeof(*rows));

	get_rows(chunk, rows);
	while (count) {
		bool is_late = !left || rows[left - 1].time <= late[count - 1].sample.time;

		rows[--at] = is_late ? late[--count].sample : rows[--left];
	}
	for (uint32_t part = 0; part < parts; part++) {
		uint32_t begin = (uint32_t)((uint64_t)total * part / parts);
		uint32_t end = (uint32_t)((uint64_t)total * (part + 1) / parts);

		put_rows(chunk, rows + begin, end - begin);
		vec_push(&to->list, *chunk);
		*chunk = (struct sample_chunk){0};
	}
	free(rows);
}

/* Merges late rows into the chunks. */
static void settle(const struct samples *s)
{
	struct sample_chunks *closed = s->closed;
	struct sample_chunks merged = {0};
	size_t at = 0;

	if (!closed || !closed->late.count)
		return;
	merged.count = closed->count;
	vec_sort(&closed->late, compare_late);
	vec_for_each(&closed->list, struct sample_chunk *, chunk) {
		const struct late_row *late = closed->late.items + at;
		uint32_t count = 0;

		while (at < closed->late.count && closed->late.items[at].sample.time < chunk->last)
			at++, count++;
		if (count)
			add_merged(&merged, chunk, late, count);
		else
			vec_push(&merged.list, *chunk);
	}
	vec_release(&closed->list);
	vec_release(&closed->late);
	*closed = merged;
}

uint64_t samples_first_time(const struct samples *s)
{
	settle(s);
	if (chunk_count(s))
		return s->closed->list.items[0].first;
	return s->open.count ? s->open.items[0].time : UINT64_MAX;
}

static void add_late(struct samples *s, const struct sample *sample)
{
	struct sample_chunks *closed = s->closed;
	size_t limit = closed->count / 8;

	vec_push(&closed->late, (struct late_row){*sample, (uint32_t)closed->late.count});
	closed->count++;
	if (closed->late.count >= LATE_MAX ||
	    closed->late.count >= (limit > LATE_MIN ? limit : LATE_MIN))
		settle(s);
}

static size_t chunks_before(const struct samples *s, uint64_t time)
{
	return s->closed ? vec_count_front(&s->closed->list, it, it->last <= time) : 0;
}

void samples_add(struct samples *s, const struct sample *sample)
{
	size_t count = s->open.count, at = count;

	if (count && s->open.items[count - 1].time > sample->time)
		at = vec_count_front(&s->open, it, it->time <= sample->time);
	if (!at && chunks_before(s, sample->time) < chunk_count(s)) {
		add_late(s, sample);
		return;
	}
	vec_push(&s->open, *sample);
	if (at < count) {
		memmove(s->open.items + at + 1, s->open.items + at,
			(count - at) * sizeof(*s->open.items));
		s->open.items[at] = *sample;
	}
	if (s->open.count == CHUNK_ROWS + OPEN_ROWS)
		close_rows(s, CHUNK_ROWS);
}

void samples_take(struct samples *s, struct sample *rows, size_t count)
{
	samples_release(s);
	for (size_t i = 0; i < count && count >= CHUNK_ROWS + OPEN_ROWS; i++)
		samples_add(s, &rows[i]);
	if (count < CHUNK_ROWS + OPEN_ROWS) {
		s->open.items = rows;
		s->open.count = s->open.capacity = count;
	} else {
		free(rows);
	}
}

void samples_close(struct samples *s)
{
	settle(s);
	if (s->open.count < CLOSED_MIN) {
		vec_fit(&s->open);
		return;
	}
	close_rows(s, (uint32_t)s->open.count);
	vec_release(&s->open);
}

void samples_merge(struct samples *into, struct samples *from)
{
	struct samples all = {0}, empty = {0};
	struct sample_iterator left = samples_begin(into), right = samples_begin(from);
	const struct sample *a = sample_iterator_next(&left), *b = sample_iterator_next(&right);

	while (a || b) {
		if (a && (!b || a->time <= b->time)) {
			samples_add(&all, a);
			a = sample_iterator_next(&left);
		} else {
			samples_add(&all, b);
			b = sample_iterator_next(&right);
		}
	}
	sample_iterator_release(&left);
	sample_iterator_release(&right);
	samples_release(into);
	samples_release(from);
	vec_fit(&all.open);
	*into = all;
	*from = empty;
}

/* Stores the changes of the current part, or frees it. */
static void leave_part(struct sample_iterator *it)
{
	if (it->frees && it->part < chunk_count(it->of))
		drop_rows(&it->of->closed->list.items[it->part]);
	if (it->changes && it->rows && it->rows == it->buffer)
		put_rows(&it->of->closed->list.items[it->part], it->rows, (uint32_t)it->count);
}

static void enter_part(struct sample_iterator *it, size_t part)
{
	const struct sample_chunk *chunk;

	leave_part(it);
	it->part = part;
	if (part == chunk_count(it->of)) {
		it->rows = it->of->open.items;
		it->count = it->of->open.count;
		return;
	}
	chunk = &it->of->closed->list.items[part];
	it->count = chunk->count;
	it->rows = chunk->rows;
	if (chunk->rows)
		return;
	if (it->room < it->count) {
		free(it->buffer);
		it->buffer = xreallocarray(NULL, it->count, sizeof(*it->buffer));
		it->room = it->count;
	}
	unpack(chunk, it->buffer);
	it->rows = it->buffer;
}

static struct sample_iterator begin(const struct samples *s, size_t part)
{
	struct sample_iterator it = {.of = (struct samples *)s};

	enter_part(&it, part);
	return it;
}

struct sample_iterator samples_begin(const struct samples *s)
{
	settle(s);
	return begin(s, 0);
}

struct sample_iterator samples_after(const struct samples *s, uint64_t time)
{
	struct sample_iterator it;

	settle(s);
	it = begin(s, chunks_before(s, time));
	it.at = count_front(it.rows, it.count, row, row->time <= time);
	return it;
}

struct sample_iterator samples_end(const struct samples *s)
{
	struct sample_iterator it;

	settle(s);
	it = begin(s, chunk_count(s));
	it.at = it.count;
	return it;
}

struct sample_iterator samples_begin_change(struct samples *s)
{
	struct sample_iterator it = samples_begin(s);

	it.changes = true;
	return it;
}

static struct sample_iterator samples_end_change(struct samples *s)
{
	struct sample_iterator it = samples_end(s);

	it.changes = true;
	return it;
}

struct sample_iterator samples_begin_free(struct samples *s)
{
	struct sample_iterator it = samples_begin(s);

	it.frees = true;
	return it;
}

void sample_iterator_release(struct sample_iterator *it)
{
	leave_part(it);
	free(it->buffer);
	*it = (struct sample_iterator){0};
}

bool sample_iterator_next_part(struct sample_iterator *it)
{
	if (it->part == chunk_count(it->of))
		return false;
	enter_part(it, it->part + 1);
	it->at = 0;
	return true;
}

bool sample_iterator_part_before(struct sample_iterator *it)
{
	if (!it->part)
		return false;
	enter_part(it, it->part - 1);
	it->at = it->count;
	return true;
}

/*
 * Returns the time of the last clock row in the parts before the current one; 0 if there is none.
 */
static uint64_t sample_iterator_tick_before(const struct sample_iterator *it)
{
	for (size_t part = it->part; part-- > 0;) {
		if (it->of->closed->list.items[part].last_tick)
			return it->of->closed->list.items[part].last_tick;
	}
	return 0;
}

/* Returns the last tick before that row, or NULL. */
static struct sample *tick_before(struct sample *rows, size_t at)
{
	while (at-- > 0) {
		if (!rows[at].event)
			return &rows[at];
	}
	return NULL;
}

void sample_rows_settle(struct sample *rows, size_t count, uint64_t before, uint64_t *excess)
{
	struct sample *tick = tick_before(rows, count), *earlier;

	for (; tick; tick = earlier) {
		uint64_t used = tick->cpu_delta + *excess, passed;

		earlier = tick_before(rows, (size_t)(tick - rows));
		if (!earlier && !before)
			return;
		passed = tick->time - (earlier ? earlier->time : before);
		*excess = used > passed ? used - passed : 0;
		used -= *excess;
		tick->cpu_delta = used < UINT32_MAX ? (uint32_t)used : UINT32_MAX;
	}
}

void samples_settle_cpu_deltas(struct samples *s)
{
	_cleanup_(sample_iterator_release) struct sample_iterator it = samples_end_change(s);
	uint64_t excess = 0;

	do
		sample_rows_settle(it.rows, it.count, sample_iterator_tick_before(&it), &excess);
	while (sample_iterator_part_before(&it));
}
