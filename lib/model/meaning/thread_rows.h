/* SPDX-License-Identifier: MIT */
/*
 * Rows of a display of threads: threads, merged rows of short-lived threads, and views of threads'
 * samples. Displays assume that a row's samples are of one kind, so a thread has another row for
 * each of its events.
 */
#pragma once

#include "lib/model/tables/profile.h"

/* Set in the incarnation of merged rows, which represent no real process. */
#define MERGED_INCARNATION (1u << 31)

enum row_kind {
	ROW_THREAD,
	ROW_MERGED, /* several short-lived threads */
	ROW_EVENT, /* samples of an event other than the clock */
	ROW_CPU, /* clock samples of a CPU, which the threads' rows also contain */
	ROW_DIFFERENCE, /* difference between the samples of two threads */
};

struct thread_row {
	enum row_kind kind;
	uint8_t event; /* event of the samples; 0: the clock */
	bool is_main; /* main thread of the process; the process of all CPUs has none */
	bool has_run; /* has clock samples that are not waits */
	bool is_kernel; /* no thread of the process was ever in user code */
	bool is_merged; /* row shared by short-lived threads; also set for their event rows */
	uint32_t pid, tid, incarnation; /* for ROW_CPU, tid is the CPU number */
	string_id name, process_name, process_label, arguments; /* ids in the rows' strings */
	string_id title, process_title; /* as displayed; set by thread_rows_title() */
	uint64_t start, end; /* as in struct profile_thread */
	uint64_t process_start, process_end;
	uint64_t cpu_ns, process_cpu_ns; /* sum of the deltas, of the row and of its process */
	uint64_t blocked; /* weight of the waits, except idle and runnable ones */
	uint64_t events; /* bit n: the threads have samples of event n */
	size_t first, count; /* range in `members`; for ROW_CPU in `cpu_samples`; otherwise empty */
};

/* A sample of the clock on a CPU. */
struct cpu_sample {
	uint64_t time;
	thread_id thread;
	uint32_t weight;
	stack_id stack; /* stack of the thread */
};

struct thread_rows {
	const struct profile *profile;
	/* Strings of the profile, with names and titles of rows added. */
	struct string_overlay *strings;
	VEC(struct thread_row) list; /* in display order */
	VEC(thread_id) members;
	VEC(struct cpu_sample) cpu_samples;
	bool is_machine; /* all processes of the machine were recorded */
};

/*
 * Makes a row for each thread. The first process with pid meta.root_pid comes first, then processes
 * by start; those that existed when recording began by CPU time, largest first. For the whole
 * machine, all processes are sorted by CPU time, the kernel's last. In each process, the main
 * thread comes first, then threads by start. The profile must not change until the release.
 */
void thread_rows_init(struct thread_rows *r, const struct profile *p,
		      struct string_overlay *strings);
void thread_rows_release(struct thread_rows *r);

struct merge_limits {
	size_t rows;
	size_t processes; /* short-lived processes of one program */
};

struct merge_counts {
	size_t threads; /* threads without a row of their own */
	size_t rows; /* rows that these threads share */
};

/*
 * Merges rows beyond the limits: threads that began and ended during the recording share one row
 * per program ("cc1 × 312"). So do the threads of each program with many short-lived processes.
 *
 * These keep a row of their own: threads that existed when recording began or ended, the main
 * thread of the root process, and the main thread of each process that has another thread with a
 * row; of programs with few processes, the busiest threads up to the number.
 */
struct merge_counts thread_rows_merge(struct thread_rows *r, const struct merge_limits *limits);
/* Sets the titles of rows of threads, see titles.h. Call before views are added. */
void thread_rows_title(struct thread_rows *r);

/*
 * Inserts a row for each event of a row, except the clock, and one after the first row for each
 * derived event. Requires the titles of rows.
 */
void thread_rows_add_events(struct thread_rows *r);
/* Appends a row for each CPU with clock samples, ordered by number. */
void thread_rows_add_cpus(struct thread_rows *r);
/* Appends the row of a difference, which has no samples in this profile. */
void thread_rows_add_difference(struct thread_rows *r);

/*
 * Finds the `max` rows with the most CPU time, busiest first, then those blocked longest. Ignores
 * views and rows without samples. Returns their number.
 */
size_t thread_rows_busiest(const struct thread_rows *r, uint32_t *positions, size_t max);
/*
 * Chooses the rows that a display shows at first. Sets is_visible[i], initially false, for the
 * busiest rows and their main threads; without samples, for the first rows. Sets is_selected[i] for
 * the rows whose samples are shown together: with several processes all rows with CPU time,
 * otherwise the busiest row. Requires at least one row.
 */
void thread_rows_show_first(const struct thread_rows *r, bool *is_visible, bool *is_selected);

/*
 * Returns the samples of a row; skip those of other events among them. `own` is a buffer, zeroed at
 * first: the samples are valid until it is used again or released.
 */
const struct samples *thread_row_samples(const struct thread_rows *r, const struct thread_row *row,
					 struct samples *own);

/*
 * Counters and the rows that show them. A row shows the counters of its process, or the sums over
 * all processes that share the row. In order of announcement, the machine's last.
 */

struct row_counter {
	size_t row; /* index into the list of rows */
	struct counter counter; /* its samples are owned by the profile or by the list below */
	uint64_t end; /* end of the process or of the recording */
	size_t number; /* number of the counter, or of the first counter in a sum */
	bool is_machine, is_sum;
};

struct row_counters {
	VEC(struct row_counter) list;
};

/*
 * Omits counters without values, and counters of processes without a row. A zeroed struct is empty.
 */
void row_counters_find(struct row_counters *c, const struct thread_rows *rows);
void row_counters_release(struct row_counters *c);
