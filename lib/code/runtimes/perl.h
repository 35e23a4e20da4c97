/* SPDX-License-Identifier: MIT */
/*
 * Perl 5. Its interpreter has no description of its structures: offsets come from a table by
 * version, and variables are exported.
 */
#pragma once

#include "lib/code/runtimes/runtime.h"

extern const struct runtime runtime_perl;

#define PERL_VERSION(major, minor) (uint16_t)((major) << 8 | (minor))

/* See struct runtime. */
int perl_probe(const struct binary *b, struct runtime_layout *layout, struct error *err);
void perl_decode(const struct runtime_layout *layout, const struct rec_function *function,
		 struct managed_code *code);
