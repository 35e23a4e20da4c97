/* SPDX-License-Identifier: MIT */
/*
 * Builds a profile of what another tool recorded, whose files have other tables than a profile.
 * Threads, events and modules are found again by what they are called.
 */
#ifndef PROF_LIB_FORMAT_FOREIGN_H
#define PROF_LIB_FORMAT_FOREIGN_H

#include "lib/base/index.h"
#include "lib/base/json/cursor.h"
#include "lib/format/format.h"

/* Members of a JSON object, by name. */

/*
 * Finds the values of members of the object at the cursor; spans of those that are missing stay as
 * they are. False if it is no object, or damaged.
 */
bool json_members_find(struct json_cursor s, const char *const *names, struct span *spans);
/* Tells whether the object has one of these members before any of the other ones. */
bool json_members_begin(const char *text, size_t size, const char *const *wanted,
			const char *const *others);
/* Reads any number as a double; 0, consuming the value, for others. */
double json_members_number(struct json_cursor *s);
/* Returns the number in a span of `whole`; 0 if the span is empty. */
double json_members_number_at(const struct json_cursor *whole, struct span span);
/* Returns the text in a span of `whole`, the caller's to free; "" if the span is empty. */
char *json_members_text_at(const struct json_cursor *whole, struct span span);

struct foreign_thread {
	uint32_t pid, tid;
	string_id name; /* of threads with equal ids that are not the same; NO_STRING: any */
	thread_id id;
};

struct foreign_module {
	string_id path, build_id;
	module_id id;
};

struct foreign {
	struct profile *profile;
	struct import_counts *counts;
	VEC(struct foreign_thread) threads;
	VEC(struct foreign_module) modules;
	struct index thread_index, module_index;
	uint64_t now; /* time of the next sample in a profile without times */
	uint64_t split_rows; /* added because a weight was too large for one row */
};

/* A place in code. Strings are NULL or "" if unknown; they are copied. */
struct foreign_frame {
	const char *name; /* NULL: an address */
	const char *file;
	uint32_t line; /* of the place; 0: unknown */
	uint32_t func_line, func_column; /* of the function's definition in a script; 0: unknown */
	module_id module;
	uint64_t address; /* in the module; without one, a plain address */
	uint16_t inline_depth;
	bool is_kernel, is_js;
};

/* `counts` is cleared; it may be NULL if `own` is given instead. */
void foreign_init(struct foreign *f, struct import_counts *counts, struct import_counts *own);
/* Frees everything but the profile, which is the caller's; on failure, that too (`ret` != 0). */
void foreign_release(struct foreign *f, int ret);

/*
 * Returns a module by path and build id (hexadecimal, or ""); NO_MODULE for memory without a file.
 */
module_id foreign_module(struct foreign *f, const char *path, const char *build_id);
frame_id foreign_frame(struct foreign *f, const struct foreign_frame *frame);
/* Returns the thread, new or found. The first one of a pid is its main thread. */
thread_id foreign_thread(struct foreign *f, uint32_t pid, uint32_t tid, const char *process,
			 const char *name, bool by_name);
/* Returns the number of an event; 0, and counted as unread: there are too many. */
uint8_t foreign_event(struct foreign *f, const char *name);
/* The same of a sample with CPU and event; its weight is not used. */
void foreign_add(struct foreign *f, thread_id thread, const struct sample *like, uint64_t weight);
/* Weights of 0 add nothing. Times are since the start of the profile, ns, or CLOCK_NO_TIME. */
void foreign_sample(struct foreign *f, thread_id thread, uint8_t event, uint64_t time,
		    stack_id stack, uint64_t weight);
/* Moves `now` on by so many intervals, within reason. */
void foreign_pass(struct foreign *f, uint64_t ticks);
/*
 * Call it once at the end. Without times, samples stand one after another, each for as long as it
 * weighs, and the profile says so.
 */
int foreign_finish(struct foreign *f, bool has_times, struct error *err);

#endif
