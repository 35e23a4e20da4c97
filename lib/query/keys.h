/* SPDX-License-Identifier: MIT */
/* Keys: the identity of a table row or a tree node. */
#pragma once

#include "lib/model/tables/profile.h"
#include "lib/query/select.h"

/* Returns, by thread_id, the first row of each thread's process; the caller frees it. */
thread_id *query_process_firsts(const struct profile *p);
/* Returns the size of a process name without its container, which differs between runs. */
size_t program_name_bare_size(const char *name);

enum query_by {
	QUERY_BY_FUNCTION, /* name, module and source file */
	QUERY_BY_MODULE,
	QUERY_BY_FILE, /* source file, or the module if no source file is known */
	QUERY_BY_LINE, /* source line within a function */
	/*
	 * All processes of a program: "cc1" of "cc1 f1.c" and "cc1 f2.c", the common prefix of the
	 * titles that begin with the same word. Profiles read from a file only have titles.
	 */
	QUERY_BY_PROCESS,
	QUERY_BY_PID,
	QUERY_BY_THREAD,
	QUERY_BY_CATEGORY,
	QUERY_BY_ADDRESS, /* address, with a row for each function inlined there */
	QUERY_BY_COUNT,
};

/* "function", … */
#define QUERY_BY_NAMES \
	[QUERY_BY_FUNCTION] = "function", [QUERY_BY_MODULE] = "module", [QUERY_BY_FILE] = "file", \
	[QUERY_BY_LINE] = "line", [QUERY_BY_PROCESS] = "process", [QUERY_BY_PID] = "pid", \
	[QUERY_BY_THREAD] = "thread", [QUERY_BY_CATEGORY] = "category", \
	[QUERY_BY_ADDRESS] = "address"
extern const char *const query_by_names[QUERY_BY_COUNT + 1]; /* NULL-terminated */

/*
 * Strings are ids in the table of struct query_keys, which contains no duplicates. NO_STRING: none.
 */
struct query_key {
	string_id function, module, file, category;
	string_id process, thread; /* names */
	string_id process_title, thread_title; /* as displayed, see titles.h */
	uint32_t line; /* 0: unknown */
	uint32_t pid, incarnation, tid;
	uint64_t address; /* an RVA; see modules.h */
};

struct query_keys {
	enum query_by by;
	struct strings texts;
	string_id *of_strings; /* by string_id of the profile, only while keys are made */
	uint32_t *ranks; /* by string_id: rank in byte order */
	VEC(struct query_key) rows;
	struct index index;
	uint32_t *of_stacks; /* key by stack_id, also for hidden stacks; unused for threads */
	uint32_t *of_threads; /* key by thread_id; only for processes and threads */
	thread_id *firsts; /* see query_process_firsts(); only for processes */
	/*
	 * By key: number of the program's processes with weight in the latest query; only for
	 * processes.
	 */
	uint32_t *processes;
};

/* True for keys of frames, which can form trees. */
bool query_by_has_stacks(enum query_by by);
/* Makes the keys of all stacks or threads, which do not depend on the query. */
void query_keys_make(struct query_keys *k, const struct query *q, enum query_by by);
/* Counts the processes of programs that have weight in the query. */
void query_keys_count_processes(struct query_keys *k, const struct query *q);
void query_keys_release(struct query_keys *k);
/* Returns the empty key for samples without a frame. Adds it if missing. */
uint32_t query_keys_nothing(struct query_keys *k);
/* Returns "" for NO_STRING. */
const char *query_keys_text(const struct query_keys *k, string_id id);
/* Ranks the texts, so that comparing many rows is fast. Does nothing the second time. */
void query_keys_rank(struct query_keys *k);
/* Orders by text, then line and number, independent of the order in the file. */
int query_keys_compare(const struct query_keys *k, uint32_t a, uint32_t b);
