/* SPDX-License-Identifier: MIT */
/* BTF made by hand: one at a time, from type_bytes_begin() to type_bytes_end(). */
#pragma once

#include <linux/btf.h>
#include <stdint.h>

#include "lib/live/bpf/kernel_types.h"

void type_bytes_begin(void);
void type_bytes_end(void);
/* Returns the BTF so far; the header may be changed. */
struct types_header *type_bytes_finish(struct strbuf *whole);

void add_u32(uint32_t value);
/* Returns the string's offset; 0 for an empty one. */
uint32_t add_text(const char *name);
/*
 * Returns the type's number. `info` is all but the kind; `last` is the size, or the type referred
 * to.
 */
uint32_t add_type(const char *name, uint32_t kind, uint32_t info, uint32_t last);
uint32_t add_int(const char *name, uint32_t size);
uint32_t add_array(uint32_t type, uint32_t index_type, uint32_t count);
/* Adds a struct; add its members next. */
uint32_t add_struct(const char *name, uint32_t count, uint32_t size);
void add_member(const char *name, uint32_t type, uint32_t bit_offset);
