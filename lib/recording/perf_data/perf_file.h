/* SPDX-License-Identifier: MIT */
/*
 * A perf.data file, read as a whole: as `perf record` writes it to a file, to a pipe, or to a
 * folder
 * (--threads), compressed or not, by a machine of either byte order. The format is described in the
 * kernel's tools/perf/Documentation/perf.data-file-format.txt.
 */
#ifndef PROF_LIB_RECORDING_PERF_DATA_PERF_FILE_H
#define PROF_LIB_RECORDING_PERF_DATA_PERF_FILE_H

#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/recording/perf_data/perf_attrs.h"
#include "lib/recording/perf_data/perf_features.h"
#include "lib/recording/perf_data/perf_store.h"

/* The head of a record. */
struct perf_head {
	uint32_t type;
	uint16_t misc, size;
};

/* Kinds of records that are counted and left out. */
enum perf_left_out {
	PERF_LEFT_AUX, /* traces of the hardware: Intel PT, Arm SPE and CoreSight */
	PERF_LEFT_TEXT_POKES, /* changes of the kernel's code */
	PERF_LEFT_STATS, /* counts of perf stat */
	PERF_LEFT_GUEST, /* samples of virtual machines */
	PERF_LEFT_EVENTS, /* samples of events without a number: there are too many, or unknown */
	PERF_LEFT_OTHER, /* of an unknown kind */
	PERF_LEFT_COUNT,
};

struct perf_file {
	bool is_swapped;
	struct perf_attrs attrs;
	struct perf_features features;
	struct perf_store store;
	uint64_t start_ns, end_ns; /* times of the first and the last record that has one */
	uint64_t left_out[PERF_LEFT_COUNT];
	uint64_t samples;
	uint64_t damaged_bytes;
	bool is_cut; /* perf did not end by itself, or the file was cut */
	bool has_times;
};

void perf_file_release(struct perf_file *f);
/* Is it a perf.data file, or a folder with one? */
bool perf_file_is_one(int fd);
/* Reads and sorts everything; fd is borrowed. *f must be zeroed. */
int perf_file_read(struct perf_file *f, int fd, struct error *err);
/*
 * Returns the words of a record's body. Where several events listen for the functions of BPF
 * programs, the kernel adds the size of the trailer to such a record once for each: what follows
 * the first is not part of it, and left from other records.
 */
size_t perf_file_words(const struct perf_file *f, const void *record);
/* Returns the attribute of a record: its number; UINT32_MAX: unknown. */
uint32_t perf_file_attr(const struct perf_file *f, const void *record);
struct perf_head perf_file_head(const struct perf_file *f, const void *record);
/* Appends "12 AUX records, 3 samples of virtual machines"; nothing if nothing was left out. */
void perf_file_say_left_out(const struct perf_file *f, struct strbuf *out);

#endif
