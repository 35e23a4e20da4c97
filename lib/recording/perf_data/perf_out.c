/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_out.h"

#include "lib/stream/record/records.h"

void *perf_out_add(struct perf_out *o, unsigned int kind, size_t size, uint64_t time, uint32_t pid,
		   uint32_t tid)
{
	struct rec *rec;

	if (o->at == o->words.count) {
		vec_clear(&o->words);
		o->at = 0;
	}
	size = (size + 7) & ~(size_t)7;
	rec = (struct rec *)vec_add_zeroed(&o->words, size / 8);
	record_init(rec, kind, size, time, pid, tid);
	return rec;
}

void perf_out_copy(struct perf_out *o, const struct rec *rec)
{
	void *copy = perf_out_add(o, rec->kind, record_size(rec), rec->time, rec->pid, rec->tid);

	memcpy(copy, rec, record_size(rec));
}

const struct rec *perf_out_next(struct perf_out *o)
{
	const struct rec *rec;

	if (o->at == o->words.count)
		return NULL;
	rec = (const struct rec *)(o->words.items + o->at);
	o->at += rec->words;
	return rec;
}
