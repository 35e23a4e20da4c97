/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_convert.h"

#include <linux/perf_event.h>

#define HEAD_SIZE sizeof(struct perf_event_header)

/* A sample that waits for its chain. */
struct waiting {
	uint32_t row;
	uint64_t cookie;
	uint32_t next; /* older one of the same thread; INDEX_NONE: none */
};

struct thread {
	uint32_t tid;
	uint32_t newest; /* INDEX_NONE: none is waiting */
};

struct matching {
	const struct perf_file *file;
	struct perf_deferred *found;
	VEC(struct thread) threads;
	struct index by_tid;
	VEC(struct waiting) waiting;
};

INDEX_HAS(thread_equal, struct matching, threads, tid)

static struct thread *thread_of(struct matching *m, uint32_t tid)
{
	uint32_t row = index_intern(&m->by_tid, hash_u64(tid), thread_equal, m, &tid,
				    m->threads.count);

	if (row == m->threads.count)
		vec_push(&m->threads, (struct thread){tid, INDEX_NONE});
	return &m->threads.items[row];
}

static void add_sample(struct matching *m, uint32_t row, const struct perf_attr *attr,
		       const uint8_t *record, const struct perf_head *head)
{
	struct waiting waiting = {.row = row};
	struct perf_sample sample;
	struct thread *thread;

	if (!perf_sample_read(&sample, attr, record + HEAD_SIZE, head->size - HEAD_SIZE,
			      m->file->is_swapped) ||
	    sample.chain_count < 2 ||
	    ordered_word(sample.chain, sample.chain_count - 2, sample.is_swapped) !=
		    PERF_CONTEXT_USER_DEFERRED)
		return;
	waiting.cookie = ordered_word(sample.chain, sample.chain_count - 1, sample.is_swapped);
	thread = thread_of(m, sample.tid);
	waiting.next = thread->newest;
	thread->newest = (uint32_t)m->waiting.count;
	vec_push(&m->waiting, waiting);
}

/*
 * A record ends the wait of all samples of its thread, as in perf: those with another cookie have
 * lost theirs.
 */
static void add_record(struct matching *m, uint32_t row, const struct perf_attr *attr,
		       const uint8_t *record)
{
	size_t words = perf_file_words(m->file, record);
	struct ordered_bytes b = ordered_bytes_of(record + HEAD_SIZE, words * 8,
						  m->file->is_swapped);
	uint64_t cookie = ordered_u64(&b);
	struct thread *thread;

	if (!attr->has_trailer || !(attr->sample_type & PERF_SAMPLE_TID) ||
	    words < 2u + attr->trailer_words)
		return;
	b = ordered_bytes_of(record + HEAD_SIZE + (words - attr->trailer_words) * 8, 8,
			     m->file->is_swapped);
	ordered_u32(&b); /* skip the pid */
	thread = thread_of(m, ordered_u32(&b));
	for (uint32_t at = thread->newest; at != INDEX_NONE; at = m->waiting.items[at].next) {
		if (m->waiting.items[at].cookie == cookie)
			vec_push(&m->found->rows,
				 (struct perf_deferred_row){m->waiting.items[at].row, row});
	}
	thread->newest = INDEX_NONE;
}

ORDER(compare_samples, struct perf_deferred_row, COMPARE(a->sample, b->sample))

void perf_deferred_find(struct perf_deferred *d, const struct perf_file *file)
{
	struct matching m = {.file = file, .found = d};

	for (size_t i = 0; file->deferred && i < file->store.order.count; i++) {
		const uint8_t *record = perf_store_get(&file->store, i);
		struct perf_head head = perf_file_head(file, record);
		uint32_t attr = perf_file_attr(file, record);

		if (attr >= file->attrs.rows.count)
			continue;
		if (head.type == PERF_RECORD_SAMPLE)
			add_sample(&m, (uint32_t)i, &file->attrs.rows.items[attr], record, &head);
		else if (head.type == PERF_RECORD_CALLCHAIN_DEFERRED)
			add_record(&m, (uint32_t)i, &file->attrs.rows.items[attr], record);
	}
	vec_sort(&d->rows, compare_samples);
	vec_release(&m.threads);
	index_release(&m.by_tid);
	vec_release(&m.waiting);
}

void perf_deferred_set(const struct perf_deferred *d, const struct perf_file *file, size_t row,
		       struct perf_sample *sample)
{
	size_t at = vec_count_front(&d->rows, it, it->sample < row);
	struct ordered_bytes b;
	const uint8_t *record;
	size_t words;

	if (at == d->rows.count || d->rows.items[at].sample != row)
		return;
	record = perf_store_get(&file->store, d->rows.items[at].record);
	words = perf_file_words(file, record);
	b = ordered_bytes_of(record + HEAD_SIZE, words * 8, file->is_swapped);
	ordered_u64(&b); /* skip the cookie */
	sample->deferred_count = ordered_u64(&b);
	if (b.bytes.failed || sample->deferred_count > bytes_left(&b.bytes) / 8)
		sample->deferred_count = 0;
	sample->deferred = b.bytes.at;
}
