/* SPDX-License-Identifier: MIT */
/* The perf.data files that tests/fuzz/make-perf-seeds wrote, read into records. */
#pragma once

#include "lib/recording/perf_data/perf_source.h"

#define START_NS 5000000000ull
#define IMAGE 0xffffffff81000000ull
#define TEXT 0x400000ull

struct perf_fixture {
	VEC(uint64_t) words; /* the records, one after the other */
	struct perf_source *source;
};

/* Returns the bytes of a file; the caller frees. */
char *perf_fixture_load(const char *name, size_t *size);
/* Returns a descriptor of a file with these bytes. */
int perf_fixture_open(const void *bytes, size_t size);
/* Reads such a file. Returns what perf_source_open() does. */
int perf_fixture_read_bytes(struct perf_fixture *r, const void *bytes, size_t size,
			    struct error *err);
void perf_fixture_read(struct perf_fixture *r, const char *name);
void perf_fixture_release(struct perf_fixture *r);
/* Returns record `number` of that kind; NULL: there are not so many. */
const void *perf_fixture_find(const struct perf_fixture *r, unsigned int kind, unsigned int number);
void perf_fixture_set_word(char *bytes, size_t at, uint64_t value);
