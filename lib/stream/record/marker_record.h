/* SPDX-License-Identifier: MIT */
/* Builds REC_MARKERs, for sources in user space. */
#pragma once

#include "bpf/record.h"
#include "lib/model/facts/facts.h"
#include "lib/stream/text/tracepoint_format.h"

/* Builds the REC_SCHEMA of a kind of markers, for sources whose schemas are fixed. */

/* The caller frees the record. Markers refer to it by `id`. */
struct rec_schema *schema_record_new(const struct marker_schema *from, __u32 id, __u64 time);
/* Returns the schema of a tracepoint's markers, with all its fields. Borrows name and format. */
struct marker_schema schema_of_tracepoint(const char *name, const struct tracepoint_format *format);

#define MARKER_RECORD_VALUES_MAX 16

/* Borrowed, not terminated; NULL: none. */
struct marker_text {
	const char *at;
	size_t size;
};

struct marker_record {
	__u32 schema; /* id of an earlier REC_SCHEMA */
	__u8 flags; /* MARKER_… */
	__u16 cpu; /* CPU at the end of the marker; 0: unknown */
	__u32 pid, tid; /* 0: a marker of the machine */
	__u64 start, end; /* CLOCK_MONOTONIC ns */
	struct marker_text name, category; /* truncated to 65,535 bytes */
	const struct rec_marker_stack *cause; /* borrowed; NULL: none */
	unsigned int value_count;
	/* By field of the schema; a field without a type has no value. */
	struct {
		enum field_type type;
		struct marker_text text; /* for string fields */
		__u64 number; /* for all other fields */
	} values[MARKER_RECORD_VALUES_MAX];
};

struct marker_text marker_text(const char *text);
/* Sets the value of a field. The text is borrowed. */
void marker_set_text(struct marker_record *marker, unsigned int field, struct marker_text text);
void marker_set_number(struct marker_record *marker, unsigned int field, enum field_type type,
		       __u64 number);
/* Sets the fields of such a schema that the recorded bytes contain, which are borrowed. */
void marker_set_tracepoint(struct marker_record *marker, const struct tracepoint_format *format,
			   const void *bytes, size_t size);
/* The caller frees the record. */
struct rec_marker *marker_record_new(const struct marker_record *from);
