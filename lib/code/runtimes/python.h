/* SPDX-License-Identifier: MIT */
/*
 * CPython 2.7 and 3.6 to 3.15: its structures (Include/cpython and Include/internal in its source),
 * from debug offsets in the file from 3.13 on, and before that from tables by version.
 */
#pragma once

#include "lib/code/runtimes/runtime.h"

/* Versions as in struct python_layout. */
#define PYTHON_VERSION(minor) (3 << 8 | (minor))
#define PYTHON_VERSION_2_7 (2 << 8 | 7)

/* See struct runtime's probe(). */
int python_probe(const struct binary *b, struct runtime_layout *layout, struct error *err);

/*
 * Fills in the offsets of a version from tables, without addresses. From 3.13 on, the tables
 * contain only values missing in debug offsets. Returns false for an unknown version.
 */
bool python_layout_of_version(uint16_t version, struct python_layout *layout);

/* Bytes to read of debug offsets. */
#define PYTHON_DEBUG_OFFSETS_SIZE 1024
/* Returns the version in debug offsets, as in Py_Version; 0 if they are something else. */
uint32_t python_debug_version(const void *data, size_t size);
/*
 * Fills in the offsets from the start of _PyRuntime of 3.13 and newer. Returns -ENOTSUP for a
 * free-threaded build or an unknown version, -EINVAL for invalid offsets.
 */
int python_layout_of_debug_offsets(const void *data, size_t size, struct python_layout *layout,
				   struct error *err);
/* Returns true if all members lie within what the BPF program reads. */
bool python_layout_is_sane(const struct python_layout *layout);

/*
 * Appends the text of a str, `width` bytes per character (1: Latin-1 or ASCII, 2 or 4). Characters
 * that cannot occur in UTF-8 or a terminated string become U+FFFD.
 */
void python_text(unsigned int width, const void *data, size_t size, struct strbuf *text);
/* Sets the lines of a function of this many units, from its line table. */
void python_lines(uint16_t version, const void *table, size_t size, uint32_t first_line,
		  uint32_t units, struct managed_code *code);

void python_threads(const struct runtime_layout *layout, uint64_t bias, uint64_t *list,
		    runtime_read_fn *read, void *read_ctx, runtime_thread_fn *fn, void *ctx);
