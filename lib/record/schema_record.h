/* SPDX-License-Identifier: MIT */
/* Builds the REC_SCHEMA of a kind of markers, for sources whose schemas are fixed. */
#ifndef PROF_LIB_RECORD_SCHEMA_RECORD_H
#define PROF_LIB_RECORD_SCHEMA_RECORD_H

#include "bpf/record.h"

#define SCHEMA_RECORD_FIELDS_MAX 16

/* Texts are borrowed; NULL: none. The label is the one of chart, table and tooltip. */
struct schema_record {
	const char *name, *label;
	__u32 shown; /* REC_SHOWN_… */
	struct {
		enum rec_field_type type;
		const char *key, *label;
	} fields[SCHEMA_RECORD_FIELDS_MAX]; /* up to one without a type */
};

/* The caller frees it. `id` is what markers name it by. */
struct rec_schema *schema_record_new(const struct schema_record *from, __u32 id, __u64 time);

#endif
