/* SPDX-License-Identifier: MIT */
/* The part of V8's layout by which sources of scripts are read. */
#ifndef PROF_TESTS_UNIT_SCRIPT_LAYOUT_H
#define PROF_TESTS_UNIT_SCRIPT_LAYOUT_H

#include "bpf/runtime_layout.h"

static const struct runtime_layout script_layout = {
	.kind = RUNTIME_V8,
	.v8 = {.map_type = 12,
	       .string_end = 128,
	       .types = {[V8_SCRIPT] = 167},
	       .script_source = 8,
	       .script_id = 64},
};

#endif
