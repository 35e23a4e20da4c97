/* SPDX-License-Identifier: MIT */
/* Parts of V8's layout. */
#pragma once

#include "bpf/runtime_layout.h"

/* Layout that reads sources of scripts. */
static const struct runtime_layout script_layout = {
	.kind = RUNTIME_V8,
	.v8 = {.map_type = 12,
	       .string_end = 128,
	       .types = {[V8_SCRIPT] = 167},
	       .script_source = 8,
	       .script_id = 64},
};

/* Fields of a layout that reads compiled code. */
#define V8_COMPILED_LAYOUT \
	.map_type = 12, .string_end = 128, \
	.types = {[V8_SCRIPT] = 167, \
		  [V8_SHARED] = 282, \
		  [V8_SCOPE] = 270, \
		  [V8_CODE] = 187, \
		  [V8_POSITIONS] = 196}, \
	.shared_name = 24, .shared_script = 40, .shared_literal = 60, .script_source = 8, \
	.script_name = 16, .script_id = 64, .scope_flags = 8, .scope_locals = 24, \
	.scope_names = 48, .scope_start = 32, .scope_module = 5, .array_length = 8, \
	.array_data = 16, .code_start = 40, .code_size = 56, .code_flags = 52, .code_deopt = 8, \
	.code_positions = 16, .deopt_literals = 3, .deopt_inlined = 8
