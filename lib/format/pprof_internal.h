/* SPDX-License-Identifier: MIT */
/* Shared by pprof_read.c and pprof.c only. */
#pragma once

#include "lib/format/foreign.h"
#include "lib/format/pprof_fields.h"
#include "lib/format/protobuf.h"

#define TYPES_MAX 64

/*
 * Rows of the info panel for values that a profile cannot hold otherwise; PPROF_COMMENT for all
 * comments but the first.
 */
#define PPROF_SECTION "pprof"
#define PPROF_COMMENT "comment"
#define PPROF_DEFAULT_TYPE "default_sample_type"
#define PPROF_DOC_URL "doc_url"
#define PPROF_DROP_FRAMES "drop_frames"
#define PPROF_DURATION "duration_nanos"
#define PPROF_KEEP_FRAMES "keep_frames"
#define PPROF_PERIOD "period"
#define PPROF_PERIOD_TYPE "period_type" /* "space/bytes" */
#define PPROF_CLOCK_TYPES "sample_types" /* of the clock: "samples/count cpu/nanoseconds" */

struct pprof_type {
	uint64_t type, unit; /* string indexes */
	uint8_t event;
	bool is_dropped; /* the values are equivalent to those of another type */
};

/* Messages of the file, by their ids. */
struct pprof_row {
	uint64_t id;
	struct protobuf_cursor bytes;
	uint32_t first, count; /* for a location: range of its frames, outermost first */
	uint32_t kept; /* for a location: frames before the first one to drop, or `count` */
	module_id module; /* for a mapping: its module */
};

struct pprof_rows {
	VEC(struct pprof_row) list;
	struct index index;
};

struct pprof_reader {
	struct foreign f;
	struct pprof_rows mappings, locations, functions;
	VEC(struct protobuf_cursor) strings, samples;
	VEC(frame_id) frames; /* frames of locations */
	VEC(uint64_t) path, values; /* stack and values of the current sample */
	struct pprof_type types[TYPES_MAX];
	size_t type_count;
	VEC(uint64_t) comments;
	struct pprof_type period_type;
	uint64_t period, default_type, time_ns, duration_ns, drop_frames, keep_frames, doc_url;
	double pace; /* time that passes per time of a sample, if threads ran in parallel; or 0 */
	double passed_ns;
	int clock; /* index of the type that counts clock samples; -1: none */
};

struct pprof_mapping {
	uint64_t start, offset, filename, build_id;
};

/* Returns a string by number, up to its first NUL; free it. */
char *pprof_string(const struct pprof_reader *r, uint64_t number);
/* Returns NULL for 0 and for an unknown id. */
struct pprof_row *pprof_find(struct pprof_rows *rows, uint64_t id);
struct pprof_mapping pprof_mapping(const struct pprof_row *row);
/* Adds the frames of a location, outermost function first. */
void pprof_add_location(struct pprof_reader *r, struct pprof_row *row);
