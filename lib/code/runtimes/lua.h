/* SPDX-License-Identifier: MIT */
/*
 * Lua 5.1 to 5.5. Its interpreter has no description of its structures: offsets come from a table
 * by version. Programs have it in themselves or in a library, and export its interface.
 */
#pragma once

#include "lib/code/runtimes/runtime.h"

extern const struct runtime runtime_lua;

#define LUA_VERSION(major, minor) (uint16_t)((major) << 8 | (minor))

/* See struct runtime. */
int lua_probe(const struct binary *b, struct runtime_layout *layout, struct error *err);
void lua_decode(const struct runtime_layout *layout, const struct rec_function *function,
		struct managed_code *code);
bool lua_late(const struct runtime_layout *layout, const struct rec_function *function,
	      runtime_read_fn *read, void *ctx, struct managed_code *code);
