/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Shows what Lua's interpreter exports, as in builds of Debian: compiled by
 * tests/fuzz/make-lua-seeds. VERSION is its version, CALL the function that calls.
 */
const char lua_ident[] = "$LuaVersion: Lua " VERSION "  Copyright (C) 1994-2026 Lua.org, PUC-Rio $";

/* luaV_execute, and the function that calls it. */
__attribute__((noinline)) static int execute(int state)
{
	__asm__ volatile(".skip " SIZE ", 0x90");
	return state + 1;
}

__attribute__((noinline)) static int call(int state) { return execute(state) + 1; }

int CALL(int state) { return call(state) + 1; }
int lua_resume(int state) { return state + 1; }
