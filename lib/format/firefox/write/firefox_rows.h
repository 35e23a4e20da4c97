/* SPDX-License-Identifier: MIT */
/*
 * What stands under "threads" in a file, here called rows: threads, groups of short-lived ones,
 * and views, which are made of the samples of threads. Front-ends draw the samples of one row as
 * being of one kind, so a thread has a row of its own for each event that it has samples of.
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_FIREFOX_ROWS_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_FIREFOX_ROWS_H

#include "lib/base/radix.h"
#include "lib/format/firefox/write/file_strings.h"
#include "lib/profile/profile.h"

/* Set in the incarnation of folded rows: their process is none that others belong to. */
#define FOLDED_INCARNATION (1u << 31)

enum row_kind {
	ROW_THREAD,
	ROW_FOLDED, /* several short-lived threads; see fold.h */
	ROW_EVENT, /* samples of another event than the clock */
	ROW_CPU, /* the clock's samples on a CPU, which threads have, too */
};

struct firefox_row {
	enum row_kind kind;
	uint8_t event; /* whose samples it has; 0: the clock */
	bool is_main; /* of its process; the process of all CPUs has none */
	bool is_folded; /* also of events: short-lived threads share it */
	uint32_t pid, tid, incarnation; /* tid: of ROW_CPU its number */
	string_id name, process_name, process_label, arguments; /* of the profile, or of the file */
	string_id title, process_title; /* as the file shows them; set by titles.h */
	uint64_t start, end; /* as in struct profile_thread */
	uint64_t process_start, process_end;
	uint64_t cpu_ns, process_cpu_ns; /* sum of the deltas, and that over all of its process */
	uint64_t events; /* bit n: its threads have samples of event n */
	size_t first, count; /* in members, of ROW_CPU in cpu_samples */
};

struct sample_ref {
	thread_id thread;
	uint32_t sample;
};

struct firefox_rows {
	const struct profile *profile;
	VEC(struct firefox_row) list; /* in the order of the file */
	VEC(thread_id) members;
	VEC(struct sample_ref) cpu_samples;
};

/* One for each thread. The profile must stay as it is until the release. */
void firefox_rows_init(struct firefox_rows *r, const struct profile *p);
void firefox_rows_release(struct firefox_rows *r);
/*
 * Sorts rows of threads: the first process with pid meta.root_pid (0: none), then processes by
 * start, in each the main thread first, then by start; of those that were all there when recording
 * began, the ones with the most CPU time first.
 */
void firefox_rows_sort(struct firefox_rows *r);
/* Behind each row, one for each event besides the clock; its title must be known. */
void firefox_rows_add_events(struct firefox_rows *r, struct file_strings *strings);
/* At the end, by number, a row for each CPU with samples of the clock. */
void firefox_rows_add_cpus(struct firefox_rows *r, struct file_strings *strings);
/*
 * Positions of the `max` rows with the most CPU time, busiest first, those without samples and
 * views left out; returns how many.
 */
size_t firefox_rows_busiest(const struct firefox_rows *r, uint32_t *positions, size_t max);

/* Has the row samples of the clock, or of its own event? */
static inline bool firefox_row_has_samples(const struct firefox_row *row)
{
	return row->events >> row->event & 1;
}

/* Samples being put together; a zeroed one is empty. */
struct sample_buffer {
	VEC(struct sample) samples;
	VEC(struct radix_row) times;
};

struct sample_run {
	const struct sample *items; /* ascending times */
	size_t count;
};

void sample_buffer_release(struct sample_buffer *b);
/* Those of a row; valid until the next call with that buffer. */
struct sample_run firefox_row_samples(const struct firefox_rows *r, const struct firefox_row *row,
				      struct sample_buffer *buffer);

#endif
