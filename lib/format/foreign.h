/* SPDX-License-Identifier: MIT */
/*
 * Builds a profile from another tool's recording, whose tables differ from a profile's. Threads,
 * events and modules are found by name.
 */
#pragma once

#include "lib/base/infile.h"
#include "lib/base/json/cursor.h"
#include "lib/format/format.h"
#include "lib/model/tables/profile.h"

/* Members of a JSON object, by name. */

/* True if the object has one of these members before any of the others. */
bool json_members_begin(const char *text, size_t size, const char *const *wanted,
			const char *const *others);
/* Reads any number as a double. Reads other values as 0. */
double json_members_number(struct json_cursor *s);
/* Returns the number in a span of `whole`, 0 for an empty span. */
double json_members_number_at(const struct json_cursor *whole, struct span span);
/* Returns the text in a span of `whole`, "" for an empty span; free it. */
char *json_members_text_at(const struct json_cursor *whole, struct span span);

struct foreign_thread {
	uint32_t pid, tid;
	string_id name; /* distinguishes threads with the same id; NO_STRING: any name */
	thread_id id;
	uint32_t votes; /* calls with the row's name, less those with others since it has it */
};

struct foreign_module {
	string_id path, build_id;
	module_id id;
};

struct foreign {
	struct profile *profile;
	struct import_counts *counts, own; /* the caller's, or the own ones */
	VEC(struct foreign_thread) threads;
	VEC(struct foreign_module) modules;
	struct index thread_index, module_index, counter_index;
	uint64_t now; /* time of the next sample if the file has no timestamps */
	double pace, passed, duration; /* of foreign_run_parallel(); pace 0: none */
	struct time_range stated; /* start and end of the file; 0: not stated */
	uint64_t split_rows; /* rows added because a weight exceeded the limit of a row */
};

/* A code location. Strings are NULL or "" if unknown; they are copied. */
struct foreign_frame {
	const char *name; /* NULL: unknown; the address is used instead */
	const char *file;
	uint32_t line; /* line of the location; 0: unknown */
	/* Position of the function definition in a script; 0: unknown. */
	uint32_t func_line, func_column;
	module_id module;
	uint64_t address; /* address in the module, or a plain address without a module */
	uint16_t inline_depth;
	bool is_kernel, is_js;
};

/* `counts` is cleared; it may be NULL. */
void foreign_init(struct foreign *f, struct import_counts *counts);
/* Frees everything but the profile, which becomes *out; on failure (`ret` != 0) that as well. */
void foreign_end(struct foreign *f, int ret, struct profile **out);
/* Begins a JSON document, if all of it is valid. `ends` as in struct json_cursor; NULL: none. */
int foreign_json(struct json_cursor *s, const char *text, size_t size, struct json_ends *ends,
		 struct error *err);

/* Returns a module by path and build id (hexadecimal, or ""); NO_MODULE for anonymous memory. */
module_id foreign_module(struct foreign *f, const char *path, const char *build_id);
/*
 * Keeps a mapping of [start, limit) as a segment of its module, for writers; nothing for NO_MODULE.
 * `offset` is that of its first byte in the file.
 */
void foreign_segment(struct foreign *f, module_id id, uint64_t start, uint64_t limit,
		     uint64_t offset);
frame_id foreign_frame(struct foreign *f, const struct foreign_frame *frame);
/* Name of the only thread of files without threads. */
#define FOREIGN_ALL "all"

/*
 * Returns the thread, existing or new. The first one of a pid is its main thread. Unless threads
 * differ by name, it gets the name that most calls give it: that of most of its samples.
 */
thread_id foreign_thread(struct foreign *f, uint32_t pid, uint32_t tid, const char *process,
			 const char *name, bool by_name);
/* Names processes that have no name after their main threads, or else each row after itself. */
void foreign_name_processes(struct foreign *f);
/* async-profiler's names. */
/* Returns the name in "[name tid=1]" and sets *tid, or returns NULL. Cuts the text. */
const char *foreign_thread_of(char *text, uint32_t *tid);
/* Returns the mark of "name_[k]", or '\0'. 0 and 1 are compiler tiers. */
char foreign_mark(const char *text, size_t size);
/* Returns an event's number; 0 if there are too many, which counts as unread. */
uint8_t foreign_event(struct foreign *f, const char *name);
/*
 * The same for an event with a unit, and a period as in struct event_count. The name becomes
 * "name/unit" if another unit already has it.
 */
uint8_t foreign_measure(struct foreign *f, const char *name, const char *unit, uint64_t period);
/* Adds a sample with the CPU and event of `like`, whose weight is ignored. */
void foreign_add(struct foreign *f, thread_id thread, const struct sample *like, uint64_t weight);
/* Adds nothing for a weight of 0. Times are ns since the profile's start, or CLOCK_NO_TIME. */
void foreign_sample(struct foreign *f, thread_id thread, uint8_t event, uint64_t time,
		    stack_id stack, uint64_t weight);
/*
 * Sets a counter of a process to a level. Times may come in any order, as ns since the profile's
 * start; too many values are thinned out.
 */
void foreign_level(struct foreign *f, uint32_t pid, const char *name, const char *unit,
		   bool is_memory, uint64_t time, int64_t level);
/* Lengths of samples to look at, ns. */
#define FOREIGN_LENGTHS_MAX (1u << 16)
/*
 * Returns the longest part of the shortest length, but `least` or longer, of which all lengths are
 * nearly multiples. All are ns.
 */
double foreign_interval(const double *lengths, size_t count, double shortest, double least);
/*
 * Sets the profile's interval to the median distance between the samples of the clock in a thread,
 * in whole microseconds. Keeps it if there are few samples.
 */
void foreign_guess_interval(struct foreign *f);
/*
 * Tells that samples of `length` ns were taken in `duration` ns, 0: unknown. If threads ran in
 * parallel, samples are closer together.
 */
void foreign_run_parallel(struct foreign *f, double length, uint64_t duration);
/* Advances `now` by a number of intervals, within limits. */
void foreign_pass(struct foreign *f, uint64_t ticks);
/* Returns the number of a line or column; 0 if it is unknown or cannot be one. */
uint32_t foreign_place(uint64_t number);
/*
 * Call once at the end. Without timestamps, samples follow one another, each as long as its weight,
 * and a note in the profile says so, and whether the file states a duration.
 */
int foreign_finish(struct foreign *f, bool has_times, struct error *err);

/* Iterates over lines of untrusted text without a terminating NUL. */

struct text_lines {
	const char *at, *end;
	size_t number; /* number of the last line, counted from 1 */
};

struct text_line {
	const char *text, *end; /* line without its newline and carriage return */
};

static inline struct text_lines text_lines_of(const char *text, size_t size)
{
	return (struct text_lines){.at = text, .end = text + size};
}

static inline bool text_lines_next(struct text_lines *s, struct text_line *line)
{
	const char *newline;

	if (s->at == s->end)
		return false;
	newline = memchr(s->at, '\n', (size_t)(s->end - s->at));
	line->text = s->at;
	line->end = newline ? newline : s->end;
	s->at = newline ? newline + 1 : s->end;
	if (line->end > line->text && line->end[-1] == '\r')
		line->end--;
	if (++s->number % 1024 == 0)
		infile_pass(s->at);
	return true;
}
