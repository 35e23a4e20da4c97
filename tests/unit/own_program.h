/* SPDX-License-Identifier: MIT */
/*
 * The test program as a module to symbolize. Its functions are inlined in one another at places and
 * lines that it knows itself.
 */
#pragma once

#include <stdint.h>

#include "lib/model/tables/modules.h"
#include "symbolize/symbolizer.h"

/* outer() calls middle() calls inner(), all inlined into own_outer(). */
extern const char own_mark_outer[], own_mark_middle[], own_mark_inner[];
enum own_line {
	LINE_OUTER, /* of the mark */
	LINE_OUTER_CALL, /* of the call of middle() */
	LINE_MIDDLE,
	LINE_MIDDLE_CALL,
	LINE_INNER,
	LINE_COUNT,
};
/* Filled in when own_outer() runs. */
extern int own_lines[LINE_COUNT];
#define OWN_FILE "tests/unit/own_program.c"

int own_outer(int n);
/* One function under names of different quality; own_best_name is the best. */
int own_best_name(int n);
int __own_best_name(int n);

/*
 * Returns a module without strings, with this program's build id and segments. Free its segments.
 */
struct module own_module(void);
/* Opens the program's file. Close the descriptor. */
int own_fd(void);
uint64_t own_rva(const void *addr);
uint64_t own_file_offset(const void *addr);

/* Returns one answer of a symbolizer that is opened for it and left in *s. */
struct answer ask_one(const struct symbolizer_ops *ops, const struct symbolizer_input *input,
		      uint64_t rva, struct symbolizer **s);
