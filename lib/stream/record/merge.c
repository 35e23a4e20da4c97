/* SPDX-License-Identifier: MIT */
#include "lib/stream/record/merge.h"

#include "lib/stream/record/records.h"

/* Any record fits: REC_MAX_WORDS * 8 is just below it. */
#define CHUNK_SIZE (512 * 1024)
/* Empty chunks kept for the next round, so that a steady stream allocates nothing. */
#define SPARE_CHUNKS 4
/* Records are due at this many bytes, or this long after records were last due. */
#define DUE_BYTES (128u << 10)
#define DUE_NS 100000000ull

struct chunk {
	uint8_t *data; /* NULL: the chunk number is free */
	uint32_t used;
	uint32_t live; /* live records not yet returned */
};

/* Position of a record in the order: sorting moves entries and never the records. */
struct entry {
	uint64_t time;
	uint32_t chunk, offset;
};

/* A named VEC, so that two of them can be exchanged. */
struct entries {
	struct entry *items;
	size_t count, capacity;
};

struct merge {
	VEC(struct chunk) chunks;
	VEC(uint8_t *) spare;
	uint32_t current; /* chunk to fill; UINT32_MAX: none */
	struct entries sorted; /* waiting records from `head` on, ascending */
	size_t head;
	struct entries incoming; /* records in the order of merge_add() */
	struct entries scratch;
	uint64_t clock; /* clock of the current round */
	uint64_t limit; /* clock of the previous round; older records are due */
	uint64_t begun; /* clock of the current round, complete or not */
	uint64_t due; /* clock of the last round with due records */
	uint64_t last_time; /* time of the latest record returned */
	uint64_t given; /* all older records have been returned */
	uint64_t late_count;
	uint64_t size, peak; /* bytes of live records, now and at most */
	bool finished;
};

struct merge *merge_new(void)
{
	struct merge *m = xcalloc(1, sizeof(*m));

	m->current = UINT32_MAX;
	return m;
}

void merge_free(struct merge *m)
{
	if (!m)
		return;
	if (m->late_count)
		log_debug("%" PRIu64 " records arrived after later ones had been passed on",
			  m->late_count);
	vec_for_each(&m->chunks, struct chunk *, chunk)
		free(chunk->data);
	vec_for_each(&m->spare, uint8_t **, data)
		free(*data);
	vec_release(&m->chunks);
	vec_release(&m->spare);
	vec_release(&m->sorted);
	vec_release(&m->incoming);
	vec_release(&m->scratch);
	free(m);
}

static void recycle_chunks(struct merge *m)
{
	for (uint32_t i = 0; i < m->chunks.count; i++) {
		struct chunk *chunk = &m->chunks.items[i];

		if (!chunk->data || chunk->live)
			continue;
		if (i == m->current) {
			chunk->used = 0;
		} else if (m->spare.count < SPARE_CHUNKS) {
			vec_push(&m->spare, chunk->data);
			chunk->data = NULL;
		} else {
			free(chunk->data);
			chunk->data = NULL;
		}
	}
}

void merge_begin_round(struct merge *m, uint64_t clock_ns)
{
	m->limit = m->clock;
	m->clock = m->begun = clock_ns;
	recycle_chunks(m);
}

void merge_hold_watermark(struct merge *m)
{
	m->clock = m->limit;
}

void merge_finish(struct merge *m)
{
	m->finished = true;
}

static void open_chunk(struct merge *m)
{
	struct chunk chunk = {0};
	uint32_t number = 0;

	if (m->spare.count)
		chunk.data = m->spare.items[--m->spare.count];
	else
		chunk.data = xmalloc(CHUNK_SIZE);
	while (number < m->chunks.count && m->chunks.items[number].data)
		number++;
	if (number == m->chunks.count)
		vec_push(&m->chunks, chunk);
	else
		m->chunks.items[number] = chunk;
	m->current = number;
}

bool merge_add(struct merge *m, const struct rec *rec)
{
	size_t size = record_size(rec);

	if (rec->kind >= REC_KIND_COUNT)
		return false;
	if (m->current == UINT32_MAX || m->chunks.items[m->current].used + size > CHUNK_SIZE)
		open_chunk(m);

	struct chunk *chunk = &m->chunks.items[m->current];
	struct entry entry = {.time = rec->time, .chunk = m->current, .offset = chunk->used};

	memcpy(chunk->data + chunk->used, rec, size);
	chunk->used += (uint32_t)size;
	chunk->live++;
	m->size += size;
	m->peak = MAX(m->peak, m->size);
	vec_push(&m->incoming, entry);
	if (rec->time < m->last_time)
		m->late_count++;
	return true;
}

static void exchange(struct entries *a, struct entries *b)
{
	struct entries kept = *a;

	*a = *b;
	*b = kept;
}

/* Stable: of equal times, entries of `a` come first. */
static void merge_two(struct entry *out, const struct entry *a, size_t a_count,
		      const struct entry *b, size_t b_count)
{
	while (a_count && b_count) {
		if (b->time < a->time) {
			*out++ = *b++;
			b_count--;
		} else {
			*out++ = *a++;
			a_count--;
		}
	}
	if (a_count)
		memcpy(out, a, a_count * sizeof(*a));
	if (b_count)
		memcpy(out, b, b_count * sizeof(*b));
}

/* Returns the length of the ascending run at the start. */
static size_t run_length(const struct entry *items, size_t count)
{
	size_t length = count ? 1 : 0;

	while (length < count && items[length - 1].time <= items[length].time)
		length++;
	return length;
}

/*
 * Every ring is nearly sorted, so `incoming` consists of a few long ascending runs. Merging
 * adjacent runs until one is left costs count * log(rings).
 */
static void sort_incoming(struct merge *m)
{
	size_t count = m->incoming.count;

	while (run_length(m->incoming.items, count) < count) {
		vec_clear(&m->scratch);
		vec_reserve(&m->scratch, count);
		m->scratch.count = count;
		for (size_t at = 0; at < count;) {
			const struct entry *run = m->incoming.items + at;
			size_t first = run_length(run, count - at);
			size_t second = run_length(run + first, count - at - first);

			merge_two(m->scratch.items + at, run, first, run + first, second);
			at += first + second;
		}
		exchange(&m->incoming, &m->scratch);
	}
}

static void take_incoming(struct merge *m)
{
	size_t waiting = m->sorted.count - m->head;

	sort_incoming(m);
	if (!waiting) {
		exchange(&m->sorted, &m->incoming);
		m->head = 0;
		vec_clear(&m->incoming);
		return;
	}
	vec_clear(&m->scratch);
	vec_reserve(&m->scratch, waiting + m->incoming.count);
	m->scratch.count = waiting + m->incoming.count;
	merge_two(m->scratch.items, m->sorted.items + m->head, waiting, m->incoming.items,
		  m->incoming.count);
	exchange(&m->sorted, &m->scratch);
	m->head = 0;
	vec_clear(&m->incoming);
}

const struct rec *merge_next(struct merge *m)
{
	if (m->incoming.count)
		take_incoming(m);
	if (m->head == m->sorted.count ||
	    (!m->finished && m->sorted.items[m->head].time >= m->limit)) {
		m->given = m->limit;
		return NULL;
	}

	struct entry entry = m->sorted.items[m->head];
	const struct rec *rec;

	rec = (const struct rec *)(m->chunks.items[entry.chunk].data + entry.offset);
	m->head++;
	m->chunks.items[entry.chunk].live--;
	m->size -= record_size(rec);
	m->last_time = MAX(m->last_time, entry.time);
	return rec;
}

bool merge_is_due(struct merge *m)
{
	if (!m->finished && m->size < DUE_BYTES && m->begun < m->due + DUE_NS)
		return false;
	m->due = m->begun;
	return true;
}

uint64_t merge_given_ns(const struct merge *m)
{
	return m->given;
}

uint64_t merge_size(const struct merge *m)
{
	return m->size;
}

uint64_t merge_peak(const struct merge *m)
{
	return m->peak;
}
