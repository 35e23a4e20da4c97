/* SPDX-License-Identifier: MIT */
/*
 * Functions that the page's script calls. Numbers go in and out as 32-bit integers, wider ones as
 * doubles; texts are terminated and in memory that the script reads. What a function returns a
 * pointer to is valid until the next call of the same function.
 */
#ifndef PROF_LIB_FORMAT_PAGE_ENGINE_ENGINE_H
#define PROF_LIB_FORMAT_PAGE_ENGINE_ENGINE_H

#include "lib/query/table.h"
#include "lib/query/tree.h"

#define EXPORT(name) __attribute__((export_name(#name), used)) name

/* All that the page has of its profile; the query is the present selection. */
struct engine {
	struct profile *profile;
	struct query_filter filter; /* its texts are owned */
	bool *threads; /* by thread_id: those of the filter */
	struct query query;
	bool is_selected; /* the query was made */
	uint32_t shape; /* another number wherever other frames are shown */
	struct query_keys *keys[QUERY_BY_COUNT]; /* made when first asked for */
	struct error err;
};

extern struct engine engine;

struct query_keys *engine_keys(enum query_by by);
/* Returns a text that is safe to show, in a buffer of that number. */
const char *engine_shown(const char *text, unsigned int buffer);
#define ENGINE_BUFFERS 8

#endif
