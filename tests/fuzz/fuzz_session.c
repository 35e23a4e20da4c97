/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a stream of records: through the merge into a session, then with invented answers
 * through the expansion. The result must be a profile that exporters can rely on.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "lib/base/cleanup.h"
#include "lib/model/tables/expand_inlines.h"
#include "lib/model/meaning/wait_frames.h"
#include "lib/stream/session/session.h"
#include "lib/stream/record/merge.h"
#include "lib/stream/record/records.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/profile_check.h"

/* Words that begin no record are skipped, which helps the fuzzer. */
static void add_records(struct merge *m, const uint64_t *words, size_t count)
{
	for (size_t at = 0; at < count;) {
		const struct rec *rec = (const struct rec *)(words + at);

		if (record_is_valid(rec, (count - at) * 8)) {
			merge_add(m, rec);
			at += rec->words;
		} else {
			at++;
		}
	}
}

static size_t feed_records(struct session *s, struct merge *m)
{
	const struct rec *rec;
	size_t count = 0;

	for (; (rec = merge_next(m)); count++)
		session_feed(s, rec);
	return count;
}

static void name_frames(struct profile *p)
{
	const struct frame_name chain[] = {
		{strings_intern(&p->strings, "a"), NO_STRING, 1, 1, true},
		{NO_STRING, strings_intern(&p->strings, "f"), 0, 0, false},
		{strings_intern(&p->strings, "b"), strings_intern(&p->strings, "f"), 2, 1, true},
	};
	struct expand_inlines *e = expand_inlines_new(p);

	for (size_t i = 0; i < p->frames.rows.count; i++)
		expand_inlines_answer(e, (frame_id)i, NO_SYMBOL, chain,
				      p->frames.rows.items[i].offset % 4);
	expand_inlines_apply(e);
	expand_inlines_free(e);
}

/* Each tick is in one class, and each in the profile; the same for counts of other events. */
static void check_ticks(const struct profile *p)
{
	const struct profile_stats *stats = &p->stats;
	uint64_t classes = stats->whole + stats->truncated + stats->broken + stats->unknown +
			   stats->kernel_only + stats->exiting;
	uint64_t weights[EVENT_COUNTS_MAX] = {0};

	vec_for_each(&p->threads.rows, const struct profile_thread *, row) {
		samples_for_each(&row->samples, sample)
			weights[sample->event] += profile_is_wait(p, sample) ? 0 : sample->weight;
	}
	require(classes == stats->cpu_samples && weights[0] == classes);
	for (size_t i = 1; i < EVENT_COUNTS_MAX; i++)
		require(weights[i] ==
			(i < p->events.rows.count ? p->events.rows.items[i].weight : 0));
	require(stats->guessed <= classes && stats->finished_later <= classes &&
		stats->unknown_kinds <= classes);
}

static void check_waits(const struct profile *p)
{
	const struct wait_stats *stats = &p->stats.waits;
	uint64_t stacks = stats->lost_stacks;

	for (size_t i = 0; i < STACK_CLASS_COUNT; i++)
		stacks += stats->classes[i];
	require(stacks == stats->sampled);
	require(stats->count >= 0 && stats->fitted_ns >= 0 && stats->estimated_ns >= 0);
}

static void check_threads(const struct profile *p)
{
	vec_for_each(&p->threads.rows, const struct profile_thread *, row) {
		require(row->name != NO_STRING && row->process_name != NO_STRING);
		require(row->is_main == (row->pid == row->tid));
		require(row->start >= p->meta.start_ns);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t count = size / 8, records;
	/* Aligned and of exact size, so that sanitizers see reads beyond it. */
	_cleanup_free_ uint64_t *words = xmalloc(count * 8 + !count);
	struct profile *p = profile_new();
	struct merge *m = merge_new();
	struct session *s;

	memcpy(words, data, count * 8);
	p->meta.start_ns = 5000000000;
	s = session_new(p);
	merge_begin_round(m, p->meta.start_ns);
	add_records(m, words, count / 2);
	merge_begin_round(m, p->meta.start_ns);
	records = feed_records(s, m);
	add_records(m, words + count / 2, count - count / 2);
	merge_finish(m);
	records += feed_records(s, m);
	session_finish(s, p->meta.start_ns);
	session_free(s);
	merge_free(m);
	/* A wait has up to two rows, and two of the time in which it was queued. */
	require(profile_sample_count(p) <= 4 * records);
	name_frames(p);
	wait_frames_refine(p);
	check_ticks(p);
	check_waits(p);
	check_threads(p);
	check_profile(p);
	profile_free(p);
	return 0;
}
