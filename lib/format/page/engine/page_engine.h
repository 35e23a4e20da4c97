/* SPDX-License-Identifier: MIT */
/*
 * Functions called by the page's script. Numbers are 32-bit integers, or doubles if wider; texts
 * are NUL-terminated in memory that the script reads. A returned pointer is valid until the next
 * call of the same function.
 */
#pragma once

#include "lib/model/meaning/titles.h"
#include "lib/query/keys.h"

#define EXPORT(name) __attribute__((export_name(#name), used)) name

/* All data of the page's profile. The query is the current selection. */
struct engine {
	struct profile *profile;
	struct query_filter filter; /* its strings are owned */
	struct thread_titles titles;
	bool *threads; /* threads of the filter, by thread_id */
	struct query query;
	bool is_selected; /* the query is valid */
	struct query_keys *keys[QUERY_BY_COUNT]; /* created on demand */
	struct error err;
};

extern struct engine engine;

#define ENGINE_BUFFERS 8

/* Returns the keys of the profile, made when they are first needed. */
struct query_keys *engine_keys(enum query_by by);
/* Returns an escaped copy of a text in the given buffer. */
const char *engine_shown(const char *text, unsigned int buffer);
/* Converts a time of the profile for the script. */
double since_start(uint64_t time);
