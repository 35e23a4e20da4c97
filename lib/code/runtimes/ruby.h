/* SPDX-License-Identifier: MIT */
/*
 * CRuby on x86-64. It does not describe its structures: offsets come from a table by version, and
 * addresses of its variables from the code of exported functions.
 */
#pragma once

#include "lib/code/runtimes/runtime.h"

/* Returns the offsets of a version. False: not supported. */
bool ruby_layout_of_version(uint16_t version, struct ruby_layout *layout);

/* The memory of a process, and the layout of its interpreter. */
struct ruby_memory {
	const struct ruby_layout *layout;
	runtime_read_fn *read;
	void *ctx;
};

bool ruby_read_words(const struct ruby_memory *m, uint64_t addr, uint64_t *words, size_t count);
/* Appends the text of a String. False: unreadable, or not a String. */
bool ruby_read_string(const struct ruby_memory *m, uint64_t addr, struct strbuf *text);
/* Appends the name of a symbol; `symbols`: address of the names of all symbols. */
bool ruby_read_symbol(const struct ruby_memory *m, uint64_t symbols, uint64_t id,
		      struct strbuf *text);
/*
 * Appends the name of a class and the separator before its methods: "Foo#"; for singleton methods
 * "Foo.".
 */
bool ruby_read_class(const struct ruby_memory *m, uint64_t symbols, uint64_t class,
		     struct strbuf *text);
