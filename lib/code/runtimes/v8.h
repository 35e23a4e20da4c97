/* SPDX-License-Identifier: MIT */
/*
 * V8 from 10 on, as in node 18 and newer. Its layout comes from constants that it exports for
 * debuggers, named v8dbg_…, and from rules for the rest.
 */
#pragma once

#include "lib/base/bytes.h"
#include "lib/code/runtimes/runtime.h"

/* Objects of V8's heap, read from the memory of a process, which may change at any time. */

struct v8_heap {
	const struct v8_layout *layout;
	runtime_read_fn *read;
	void *ctx;
	/*
	 * Compressed pointers: upper halves of references to most objects, and to code and its
	 * data. Else 0.
	 */
	uint64_t cage, own_cage;
};

/* Returns the heap with that script and, unless it is 0, that code; both are references. */
struct v8_heap v8_heap_of(const struct v8_layout *layout, uint64_t script, uint64_t code,
			  runtime_read_fn *read, void *ctx);
/*
 * Offsets are those in uncompressed objects. Readers return false for an invalid reference or
 * unreadable memory.
 */
bool v8_heap_read(const struct v8_heap *h, uint64_t reference, uint64_t offset, void *to,
		  size_t size);
/* Reads references and small integers. */
bool v8_heap_words(const struct v8_heap *h, uint64_t reference, uint64_t offset, uint64_t *words,
		   size_t count);
/* Reads an object that begins with such words and has numbers from the offset `numbers` on. */
bool v8_heap_object(const struct v8_heap *h, uint64_t reference, uint64_t numbers, uint64_t *words,
		    size_t count);
/* Completes a reference between code and its data, which have their own cage. */
uint64_t v8_heap_own(const struct v8_heap *h, uint64_t reference);
/* Returns true if the object has that type. */
bool v8_heap_is(const struct v8_heap *h, uint64_t reference, enum v8_type type);

/* Returns the length of a string in characters; 0: unknown. */
uint32_t v8_heap_length(const struct v8_heap *h, uint64_t string);

/* Receives a piece of a text, `width` bytes per character. */
typedef void v8_take_text_fn(void *ctx, unsigned int width, const void *text, size_t size);

/*
 * Reads a string of any kind, at most `max` bytes. Returns false if it is longer, or not a string.
 */
bool v8_heap_string(const struct v8_heap *h, uint64_t reference, uint64_t max,
		    v8_take_text_fn *take, void *ctx);

#define V8_OLDEST 10

/* See struct runtime. */
int v8_probe(const struct binary *b, struct runtime_layout *layout, struct error *err);
bool v8_read_source(const struct runtime_layout *layout, const struct managed_source *source,
		    runtime_read_fn *read, void *ctx, struct line_starts *lines);
bool v8_read_inlined(const struct runtime_layout *layout, const struct rec_function *function,
		     struct known_functions *known, runtime_read_fn *read, void *ctx,
		     struct managed_code *code);
bool v8_find_regexp(const struct runtime_layout *layout, uint64_t addr, runtime_read_fn *read,
		    void *ctx, struct sampled_code *code);
bool v8_name_regexp(const struct runtime_layout *layout, uint64_t place, runtime_read_fn *read,
		    void *ctx, struct sampled_code *code);

/* Returns true if all offsets lie within what the BPF program reads. */
bool v8_layout_is_sane(const struct v8_layout *layout);

/* Appends the text of a string, `width` bytes per character: 1 (Latin-1) or 2 (UTF-16). */
void v8_text(unsigned int width, const void *data, size_t size, struct strbuf *text);
/* Names a function that has no name. */
void v8_set_anonymous(struct strbuf *name);
/* Strips the scheme from a file: URL, leaving the path. */
void v8_cut_scheme(struct strbuf *file);

/* An entry of a table of source positions. */
struct v8_position {
	int64_t unit;
	int64_t place; /* bit 0: another text; 30 bits: characters plus 1; an inlined call */
};

/* Position of a table's start, before the code: the call itself. */
#define V8_POSITION_BEGIN (-1)

/* Advances to the next entry; from V8_POSITION_BEGIN to the first. Returns false after the last. */
bool v8_next_position(const struct v8_layout *layout, struct bytes *table,
		      struct v8_position *position);
/* Adds the positions in a function's source, from its table of `size` bytes. */
void v8_places(const struct v8_layout *layout, const void *table, size_t size, uint32_t units,
	       struct managed_code *code);
