/* SPDX-License-Identifier: MIT */
/* Converts files mapped by recorded processes, and the kernel's code, to modules and mappings. */
#ifndef PROF_LIB_RECORDING_PERF_DATA_PERF_MODULES_H
#define PROF_LIB_RECORDING_PERF_DATA_PERF_MODULES_H

#include <sys/types.h>

#include "lib/code/files/file_set.h"
#include "lib/recording/perf_data/perf_file.h"
#include "lib/recording/perf_data/perf_out.h"

/* A mapped file as identified by the recording. */
struct perf_mapped {
	const char *path;
	uint8_t build_id[REC_BUILD_ID_MAX];
	uint8_t build_id_size; /* 0: not recorded */
	dev_t device;
	uint64_t inode; /* 0: not recorded */
};

struct perf_module_row {
	char *path; /* owned */
	uint8_t build_id[REC_BUILD_ID_MAX];
	uint8_t build_id_size;
	uint64_t inode;
	dev_t device;
};

struct perf_modules {
	const struct perf_features *features; /* borrowed */
	struct perf_out *out; /* borrowed */
	/* Opens the mapped file; negative: not available. */
	int (*open_file)(void *ctx, const struct perf_mapped *file);
	void *ctx;
	/* Called for each new module; may be NULL. */
	void (*on_module)(void *listener, const struct rec_module *rec);
	void *listener;
	struct file_set *files; /* keeps files open, by module id; NULL: they are closed at once */
	VEC(struct perf_module_row) rows; /* the number is the module id */
	struct index by_file;
	uint32_t missing; /* files not found on this machine */
};

void perf_modules_init(struct perf_modules *m, const struct perf_features *features,
		       struct perf_out *out);
void perf_modules_release(struct perf_modules *m);

/* A mapping event. */
struct perf_map {
	uint64_t time, start, size, offset;
	uint32_t pid, tid;
	bool is_kernel;
	bool is_generated; /* by the kernel at run time; the path is the function's name */
	struct perf_mapped file;
};

/*
 * Sends the mapping, preceded by its module if that is new. Returns the module's id, NO_REC_MODULE
 * for memory without a file.
 */
uint32_t perf_modules_map(struct perf_modules *m, const struct perf_map *map);
/*
 * Sends a function that the kernel generated, of BPF or a trampoline, as a module of its own, so
 * that it keeps its name if another one takes its place.
 */
void perf_modules_kernel_symbol(struct perf_modules *m, uint64_t time, uint64_t start,
				uint32_t size, const char *name);

#endif
