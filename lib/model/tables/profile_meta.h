/* SPDX-License-Identifier: MIT */
/* Meta data: what a profile says of the recording as a whole. */
#ifndef PROF_LIB_MODEL_TABLES_PROFILE_META_H
#define PROF_LIB_MODEL_TABLES_PROFILE_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/model/facts/facts.h"

/* An entry of "Show more" in the front-end's info panel. */
struct profile_extra {
	char *section, *label, *value; /* owned */
	const char *format; /* a marker format: "string", "integer", "bytes", "percentage"… */
	enum fact_id fact; /* FACT_NONE: of another program */
	const char *of; /* subject that "*" stands for, within the label; NULL without one */
};

/* Feature of a recording of the whole machine. */
#define FEATURE_ALL_PROCESSES "all-processes"

/* Texts; owned, NULL where unknown. */
#define META_TEXTS \
	META_TEXT(product) /* title: the command's name */ \
	META_TEXT(command_line) \
	META_TEXT(os) /* "Linux 6.1.0 x86_64" */ \
	META_TEXT(distribution) /* "Debian GNU/Linux 12 (bookworm)" */ \
	META_TEXT(abi) /* "x86_64-linux" */ \
	META_TEXT(cpu_name) \
	META_TEXT(imported_from) /* program that another one converted from: "perf" */

struct profile_meta {
#define META_TEXT(member) char *member;
	META_TEXTS
#undef META_TEXT
	uint32_t root_pid; /* of the command, or of the process attached to, 0 if none */
	uint32_t physical_cpus, logical_cpus; /* 0: unknown */
	uint64_t memory_bytes;
	uint64_t start_ns; /* CLOCK_MONOTONIC when sampling was armed; time 0 of the file */
	uint64_t start_realtime_ns; /* the same moment since the Unix epoch */
	uint64_t end_ns; /* CLOCK_MONOTONIC when sampling ended */
	uint64_t interval_ns; /* nominal time between samples */
	uint64_t duration_limit_ns; /* -d, 0: none */
	uint64_t buffer_bytes; /* sum over all rings */
	bool symbolicated;
	VEC(char *) features; /* "stackwalk", "cpu-clock", FEATURE_ALL_PROCESSES … */
	VEC(char *) filters; /* the front-end's thread filters; holds the command */
	VEC(struct profile_extra) extra;
};

void profile_meta_release(struct profile_meta *meta);

/* Returns an owned copy of the text of that member (its offset), or NULL to leave it out. */
typedef char *meta_text_fn(void *ctx, size_t member, const char *text);

/*
 * Copies everything but `extra`, whose rows belong to facts. `into` is overwritten. NULL as
 * copy_text: texts stay as they are.
 */
void profile_meta_copy(struct profile_meta *into, const struct profile_meta *from,
		       meta_text_fn *copy_text, void *ctx);

#endif
