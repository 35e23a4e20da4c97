/* SPDX-License-Identifier: MIT */
/* Compressed records: one stream of zstd in pieces, which holds records. */
#ifndef PROF_LIB_RECORDING_PERF_DATA_PERF_UNPACKER_H
#define PROF_LIB_RECORDING_PERF_DATA_PERF_UNPACKER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/error.h"

struct perf_file;
struct perf_unpacker;

struct perf_unpacker *perf_unpacker_new(struct perf_file *file);
/* NULL is fine. */
void perf_unpacker_free(struct perf_unpacker *u);
/* As perf_feed_bytes(), for the next piece. */
int perf_unpacker_take(struct perf_unpacker *u, const void *piece, size_t size, struct error *err);
/* Did what was unpacked end between two records? True for NULL. */
bool perf_unpacker_is_whole(const struct perf_unpacker *u);

#endif
