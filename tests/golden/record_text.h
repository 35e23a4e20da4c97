/* SPDX-License-Identifier: MIT */
/*
 * Converts records to text and back, by their fields in bpf/record.def. One description serves both
 * directions: each call takes a field from the line into the record, or prints it.
 */
#pragma once

#include "bpf/record.h"
#include "lib/base/base.h"
#include "tests/golden/event_line.h"

#define RECORD_TEXT_SIZE_MAX 8192

struct record_text {
	struct event_line *line; /* line to read; NULL: print the record */
	struct strbuf out; /* printed text */
	uint8_t *record; /* record to fill: RECORD_TEXT_SIZE_MAX zeroed bytes */
	size_t size; /* bytes of the record so far */
};

/* Returns REC_NONE for an unknown kind. */
unsigned int record_text_kind(const char *name);
/* Reads the line's fields into t->record. Reports problems in the line. */
void record_text_read(struct record_text *t, unsigned int kind);
/* Prints a valid record, without a newline. */
void record_text_print(struct strbuf *out, const struct rec *rec);

/* Parts of the forms of single kinds: one field each. */
void text_flags(struct record_text *t, const struct event_word *words);
void text_number(struct record_text *t, const char *key, void *member, size_t size,
		 uint64_t otherwise);
void text_signed(struct record_text *t, const char *key, int64_t *member);
void text_word(struct record_text *t, const char *key, void *member, size_t size,
	       const struct event_word *words, uint32_t otherwise);
/* Time in ns after `base`. */
void text_time(struct record_text *t, const char *key, uint64_t base, uint64_t *member);
/* cpu-time=1ms: the wire has the low half of 16 ns units. */
void text_cpu_time(struct record_text *t, const char *key, uint32_t *member);
void text_name(struct record_text *t, const char *key, char *name, size_t size);
/* A text at the end of the record; `member` is its size. */
void text_tail(struct record_text *t, const char *key, void *member, size_t size);
/* Appends these bytes, or skips as many. Returns them; NULL if there are too many. */
void *text_add(struct record_text *t, const void *bytes, size_t size);
/* Escapes separators of items and fields. */
void text_print_item(struct record_text *t, const char *before, const char *bytes, size_t size);
/* Prints " key=bytes", escaped in the same way. */
void text_print_bytes(struct record_text *t, const char *key, const char *bytes, size_t size);
void text_print(struct record_text *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Forms of single kinds. */
void text_frames(struct record_text *t, struct rec_stack *rec);
void text_mapped_module(struct record_text *t, struct rec_map *rec);
void text_build_id(struct record_text *t, struct rec_module *rec);
void text_segments(struct record_text *t, struct rec_module *rec);
void text_code(struct record_text *t, struct rec_code *rec);
void text_schema(struct record_text *t, struct rec_schema *rec);
void text_marker(struct record_text *t, struct rec_marker *rec);
void text_counter_info(struct record_text *t, struct rec_counter_info *rec);
void text_arguments(struct record_text *t, struct rec_arguments *rec);
void text_labels(struct record_text *t, struct rec_labels *rec);
void text_wait_start(struct record_text *t, struct rec_wait *rec);
void text_wait_reason(struct record_text *t, struct rec_wait *rec);
void text_resumed_start(struct record_text *t, struct rec_resumed *rec);
void text_resumed_reason(struct record_text *t, struct rec_resumed *rec);
void text_resumed_waker(struct record_text *t, struct rec_resumed *rec);
