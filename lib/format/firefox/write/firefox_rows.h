/* SPDX-License-Identifier: MIT */
/*
 * Rows: the entries of "threads" in a file. They are threads, groups of short-lived threads, and
 * views of threads' samples. Front-ends assume samples of one kind in a row, so a thread has
 * another row for each of its events.
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_FIREFOX_ROWS_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_FIREFOX_ROWS_H

#include "lib/base/radix.h"
#include "lib/format/firefox/write/write_tables.h"
#include "lib/model/tables/profile.h"

/* Set in the incarnation of merged rows, whose process is not real. */
#define FOLDED_INCARNATION (1u << 31)

enum row_kind {
	ROW_THREAD,
	ROW_FOLDED, /* several short-lived threads; see fold.h */
	ROW_EVENT, /* samples of an event other than the clock */
	ROW_CPU, /* clock samples of a CPU, which are also in the rows of threads */
	ROW_DIFFERENCE, /* samples of two threads, one subtracted from the other */
};

struct firefox_row {
	enum row_kind kind;
	uint8_t event; /* event of its samples; 0: the clock */
	bool is_main; /* main thread of its process; the process of all CPUs has none */
	bool has_run; /* has clock samples that are not waits */
	bool is_kernel; /* no thread of the process was ever in user code */
	bool is_folded; /* shared by short-lived threads; also set in their rows of events */
	uint32_t pid, tid, incarnation; /* tid of ROW_CPU: the CPU's number */
	string_id name, process_name, process_label, arguments; /* of the profile, or of the file */
	string_id title, process_title; /* as displayed in the file; set by titles.h */
	uint64_t start, end; /* as in struct profile_thread */
	uint64_t process_start, process_end;
	uint64_t cpu_ns, process_cpu_ns; /* sum of the deltas, of the row and of its process */
	uint64_t blocked; /* weight of its waits, except idle and runnable ones */
	uint64_t events; /* bit n: its threads have samples of event n */
	size_t first, count; /* range in members; of ROW_CPU in cpu_samples; others have none */
};

/* A sample of the clock on a CPU. */
struct cpu_sample {
	uint64_t time;
	thread_id thread;
	uint32_t weight;
	stack_id stack; /* below a frame of the program: see write_samples.h */
};

struct firefox_rows {
	const struct profile *profile;
	VEC(struct firefox_row) list; /* in order of the file */
	VEC(thread_id) members;
	VEC(struct cpu_sample) cpu_samples;
	bool is_machine; /* all processes of the machine were recorded */
};

/* Makes a row for each thread. The profile must not change until the release. */
void firefox_rows_init(struct firefox_rows *r, const struct profile *p);
void firefox_rows_release(struct firefox_rows *r);
/*
 * Sorts rows of threads. The first process with pid meta.root_pid comes first, then processes by
 * start; those that existed when recording began by CPU time, largest first. For the whole machine,
 * all processes are sorted by CPU time, the kernel's last. In each process, the main thread comes
 * first, then threads by start.
 */
void firefox_rows_sort(struct firefox_rows *r);
/* Inserts after each row one for each of its events but the clock. Needs the row's title. */
void firefox_rows_add_events(struct firefox_rows *r, struct file_strings *strings);
/* Appends a row for each CPU with clock samples, by number. */
void firefox_rows_add_cpus(struct firefox_rows *r, struct file_strings *strings);
/* Appends the row of a difference. write_meta.c writes its samples. */
void firefox_rows_add_difference(struct firefox_rows *r, struct file_strings *strings);
/*
 * Finds the `max` rows with the most CPU time, busiest first, then those blocked longest. Ignores
 * views and rows without samples. Returns their number.
 */
size_t firefox_rows_busiest(const struct firefox_rows *r, uint32_t *positions, size_t max);

/* True if the row has samples of the clock or of its own event. */
static inline bool firefox_row_has_samples(const struct firefox_row *row)
{
	return row->events >> row->event & 1;
}

/* Buffer for the samples of a row. Zeroed is empty. */
struct sample_buffer {
	VEC(struct sample) samples;
	VEC(struct radix_row) times;
};

struct sample_run {
	const struct sample *items; /* ascending times */
	size_t count;
};

void sample_buffer_release(struct sample_buffer *b);
/* Returns the samples of a row. Valid until the next call with that buffer. */
struct sample_run firefox_row_samples(const struct firefox_rows *r, const struct firefox_row *row,
				      struct sample_buffer *buffer);

#endif
