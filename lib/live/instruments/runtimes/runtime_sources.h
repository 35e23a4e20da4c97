/* SPDX-License-Identifier: MIT */
/* Line tables of scripts, kept for further functions of the same script. */
#pragma once

#include "lib/code/runtimes/runtime.h"

struct runtime_source {
	pid_t pid;
	struct managed_source source;
	char *file; /* its name; NULL: none */
	struct line_starts lines;
	bool is_known; /* false: it could not be read yet */
	unsigned int tries;
	bool is_file_tried; /* `file` was tried instead of the script */
	struct source_map *map; /* of the script; NULL: none */
};

/* A zeroed struct is empty. */
struct runtime_sources {
	VEC(struct runtime_source) rows;
	size_t next; /* next row to replace when full */
	size_t lines; /* of all rows; each segment of a map counts as several */
	size_t files; /* bytes read from files of scripts and maps */
};

void runtime_sources_release(struct runtime_sources *s);
/*
 * Sets the lines of a function whose runtime provides source positions. If its script has a source
 * map, lines, name and file are those of the original.
 */
void runtime_sources_set_lines(struct runtime_sources *s, const struct runtime_layout *layout,
			       pid_t pid, runtime_read_fn *read, void *ctx,
			       struct managed_code *code);
