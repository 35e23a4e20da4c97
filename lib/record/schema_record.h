/* SPDX-License-Identifier: MIT */
/* Builds the REC_SCHEMA of a kind of markers, for sources whose schemas are fixed. */
#ifndef PROF_LIB_RECORD_SCHEMA_RECORD_H
#define PROF_LIB_RECORD_SCHEMA_RECORD_H

#include "bpf/record.h"

#define SCHEMA_RECORD_FIELDS_MAX 16

/* Borrows texts; NULL: none. Chart, table and tooltip use the label. */
struct schema_record {
	const char *name, *label;
	__u32 shown; /* REC_SHOWN_… */
	struct {
		enum rec_field_type type;
		const char *key, *label;
	} fields[SCHEMA_RECORD_FIELDS_MAX]; /* up to one without a type */
};

/* The caller frees the record. Markers refer to it by `id`. */
struct rec_schema *schema_record_new(const struct schema_record *from, __u32 id, __u64 time);

#endif
