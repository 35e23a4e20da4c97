/* SPDX-License-Identifier: MIT */
/* Objects of V8's heap, read from the memory of a process, which may change all the time. */
#ifndef PROF_LIB_CODE_RUNTIMES_V8_HEAP_H
#define PROF_LIB_CODE_RUNTIMES_V8_HEAP_H

#include "lib/code/runtimes/runtime.h"

struct v8_heap {
	const struct v8_layout *layout;
	runtime_read_fn *read;
	void *ctx;
};

/* All return false for an invalid reference or unreadable memory. */
bool v8_heap_read(const struct v8_heap *h, uint64_t reference, uint64_t offset, void *to,
		  size_t size);
bool v8_heap_words(const struct v8_heap *h, uint64_t reference, uint64_t offset, uint64_t *words,
		   size_t count);
bool v8_heap_type(const struct v8_heap *h, uint64_t reference, uint16_t *type);
/* Is the object of that type? */
bool v8_heap_is(const struct v8_heap *h, uint64_t reference, enum v8_type type);

/* Takes a piece of a text, `width` bytes a character. */
typedef void v8_take_text_fn(void *ctx, unsigned int width, const void *text, size_t size);

/* Reads a string of any kind, at most `max` bytes of it. False: another object, or longer. */
bool v8_heap_string(const struct v8_heap *h, uint64_t reference, uint64_t max,
		    v8_take_text_fn *take, void *ctx);

#endif
