/* SPDX-License-Identifier: MIT */
/*
 * The columns of the shared tables that describe frames, as range-checked numbers. All versions of
 * the format look alike here.
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_READ_CELLS_H
#define PROF_LIB_FORMAT_FIREFOX_READ_CELLS_H

#include "lib/format/firefox/read/layout.h"

struct cells {
	int64_t *frame_func, *frame_lib, *frame_address, *frame_depth;
	int64_t *func_name, *func_resource, *func_source;
	int64_t *symbol_name, *symbol_lib, *symbol_address;
	int64_t *source_name, *source_map;
	int64_t *resource_name, *resource_host;
	int64_t *stack_frame, *stack_parent; /* parent: a row or CELL_NULL */
	int64_t *resource_lib; /* up to version 69, else NULL */
};

/*
 * Fills a zeroed struct. Returns -EBADMSG if a column is invalid or a required one is missing.
 * Unless `needed`, missing columns get neutral values. Release it even after a failure.
 */
int cells_read(struct cells *c, const struct layout *l, bool needed, struct error *err);
void cells_release(struct cells *c);

/* Tells whether the name stands for an unknown function: 0x<hex> or fun_<hex>. */
bool cells_is_synthetic(const char *name);

#endif
