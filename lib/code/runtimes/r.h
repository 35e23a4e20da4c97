/* SPDX-License-Identifier: MIT */
/*
 * R. Its interpreter exports variables, but not the functions that evaluate: these are found by
 * what they call. What contexts contain is checked as they are read.
 */
#pragma once

#include "lib/code/runtimes/runtime.h"

extern const struct runtime runtime_r;

#define R_VERSION(major, minor) (uint16_t)((major) << 8 | (minor))

/* See struct runtime. */
int r_probe(const struct binary *b, struct runtime_layout *layout, struct error *err);
void r_decode(const struct runtime_layout *layout, const struct rec_function *function,
	      struct managed_code *code);
