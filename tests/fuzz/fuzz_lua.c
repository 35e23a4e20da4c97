/* SPDX-License-Identifier: MIT */
/* Any bytes as what the kernel saw of a function of Lua's. */
#include <stdlib.h>
#include <string.h>

#include "lib/code/runtimes/runtime.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/text_check.h"
#include "tests/unit/lua_function.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct runtime_layout layout;
	struct rec_function *function = size > 65536 ? NULL : lua_function_of(data, size, &layout);
	struct managed_code code = {0};
	uint32_t unit = 0, last = UINT32_MAX;

	if (!function)
		return 0;
	runtime_lua.decode(&layout, function, &code);
	check_text(&code.name);
	check_text(&code.file);
	if (code.tier || code.first_line > INT32_MAX || !code.name.size)
		abort();
	vec_for_each(&code.lines, const struct managed_line *, it) {
		if (it->unit < unit || it->line == last || it->line > INT32_MAX)
			abort();
		unit = it->unit + 1;
		last = it->line;
	}
	managed_code_release(&code);
	free(function);
	return 0;
}
