/* SPDX-License-Identifier: MIT */
/*
 * PHP's engine. It has no description of its structures: offsets come from a table by version, and
 * are compared with the code of exported functions.
 */
#pragma once

#include "lib/code/runtimes/runtime.h"

extern const struct runtime runtime_php;

#define PHP_VERSION(major, minor) (uint16_t)((major) << 8 | (minor))

/* See struct runtime. */
int php_probe(const struct binary *b, struct runtime_layout *layout, struct error *err);
void php_decode(const struct runtime_layout *layout, const struct rec_function *function,
		struct managed_code *code);
bool php_late(const struct runtime_layout *layout, const struct rec_function *function,
	      runtime_read_fn *read, void *ctx, struct managed_code *code);

/* Offsets of a version. False: it is not supported. */
bool php_layout_of_version(uint16_t version, struct php_layout *layout);
