/* SPDX-License-Identifier: MIT */
/*
 * Records as text and back, by the fields that bpf/record.def gives them. One description serves
 * both ways: each call takes a field from the line into the record, or prints it.
 */
#ifndef PROF_TESTS_GOLDEN_RECORD_TEXT_H
#define PROF_TESTS_GOLDEN_RECORD_TEXT_H

#include "bpf/record.h"
#include "lib/base/strbuf.h"
#include "tests/golden/event_line.h"

#define RECORD_TEXT_SIZE_MAX 8192

struct record_text {
	struct event_line *line; /* what is read; NULL: the record is printed */
	struct strbuf out; /* what was printed */
	uint8_t *record; /* read into: zeros, RECORD_TEXT_SIZE_MAX bytes */
	size_t size; /* of what there is of it so far */
};

/* REC_NONE: there is no such kind. */
unsigned int record_text_kind(const char *name);
/* Reads the line's fields into t->record. Problems are the line's. */
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
/* Nanoseconds after `base`. */
void text_time(struct record_text *t, const char *key, uint64_t base, uint64_t *member);
/* cpu-time=1ms: the wire has the low half of 16 ns units. */
void text_cpu_time(struct record_text *t, const char *key, uint32_t *member);
void text_name(struct record_text *t, const char *key, char *name, size_t size);
/* A text at the end; `member` is its size. */
void text_tail(struct record_text *t, const char *key, void *member, size_t size);
/* Bytes at the end: adds these, or skips as many. Returns them, or NULL where they are too many. */
void *text_add(struct record_text *t, const void *bytes, size_t size);
/* Escapes what separates items and fields. */
void text_print_item(struct record_text *t, const char *before, const char *bytes, size_t size);
/* " key=bytes", likewise. */
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
void text_wait_start(struct record_text *t, struct rec_wait *rec);
void text_wait_reason(struct record_text *t, struct rec_wait *rec);
void text_resumed_start(struct record_text *t, struct rec_resumed *rec);
void text_resumed_reason(struct record_text *t, struct rec_resumed *rec);

#endif
