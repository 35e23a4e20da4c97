/* SPDX-License-Identifier: MIT */
/* The thing that a row of a table, or a node of a tree, stands for. */
#ifndef PROF_LIB_QUERY_KEYS_H
#define PROF_LIB_QUERY_KEYS_H

#include "lib/query/select.h"

enum query_by {
	QUERY_BY_FUNCTION, /* the name, with module and source file */
	QUERY_BY_MODULE,
	QUERY_BY_FILE, /* the module where no source file is known */
	QUERY_BY_LINE, /* of a function */
	QUERY_BY_PROCESS,
	QUERY_BY_THREAD,
	QUERY_BY_CATEGORY,
	QUERY_BY_ADDRESS, /* with each function that is inlined there */
	QUERY_BY_COUNT,
};

/* "function", … */
extern const char *const query_by_names[QUERY_BY_COUNT];

#define QUERY_NO_KEY UINT32_MAX

/* Texts are ids of struct query_keys' own table, in which no text is twice. NO_STRING: none. */
struct query_key {
	string_id function, module, file, category;
	string_id process, thread; /* names */
	uint32_t line; /* 0: unknown */
	uint32_t pid, incarnation, tid;
	uint64_t address; /* as modules are asked with: see modules.h */
};

struct query_keys {
	enum query_by by;
	struct strings texts;
	VEC(struct query_key) rows;
	struct index index;
	uint32_t *of_stacks; /* by stack_id, QUERY_NO_KEY for what is not shown; not of threads */
	uint32_t *of_threads; /* by thread_id; only of processes and threads */
};

/* Are there such keys of frames, so that trees can be made of them? */
bool query_by_has_stacks(enum query_by by);
void query_keys_make(struct query_keys *k, const struct query *q, enum query_by by);
void query_keys_release(struct query_keys *k);
/* The row with nothing in it, which stands for samples without a frame; added where it is new. */
uint32_t query_keys_nothing(struct query_keys *k);
/* "" for NO_STRING. */
const char *query_keys_text(const struct query_keys *k, string_id id);
/* By their texts, then lines and numbers: an order that does not depend on the file's. */
int query_keys_compare(const struct query_keys *k, uint32_t a, uint32_t b);

#endif
