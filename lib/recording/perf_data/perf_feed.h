/* SPDX-License-Identifier: MIT */
/*
 * Splits the bytes of a perf.data file, in pieces of any size, into records for the file's tables.
 */
#pragma once

#include "lib/recording/perf_data/perf_file.h"

struct perf_unpacker;

struct perf_feed {
	struct perf_file *file;
	/* Unpacker of compressed records; NULL until the first one. */
	struct perf_unpacker *unpacker;
	bool is_unpacked; /* the current bytes were compressed */
	uint8_t *carried; /* beginning of an incomplete record; owned */
	size_t carried_size;
	uint64_t to_skip; /* bytes to skip after a record */
	/* The formats of tracepoints among the skipped bytes. */
	uint8_t *tracing;
	size_t tracing_wanted, tracing_size;
};

/* Zeroed except for `file`, it is ready for use. */
void perf_feed_release(struct perf_feed *f);
/* Returns -EBADMSG with the first damaged record in err; earlier records are in the file. */
int perf_feed_bytes(struct perf_feed *f, const void *bytes, size_t size, struct error *err);
/* True if the bytes so far end between two records. */
bool perf_feed_is_whole(const struct perf_feed *f);
