/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/common_library.h"

#include <string.h>

#include "lib/base/text.h"

bool is_of_common_library(const struct profile *p, const struct frame *frame)
{
	static const char *const names[] = {"libc.so",	   "libc-",	  "libstdc++.so",
					    "libgcc_s.so", "libjemalloc", "libtcmalloc",
					    "libmimalloc", "libm.so",	  "libffi.so"};
	const struct module *module;
	const char *path, *base;

	if (frame->module == NO_MODULE)
		return false;
	module = &p->modules.rows.items[frame->module];
	if (module->kind == PROFILE_MODULE_VDSO)
		return true;
	path = strings_get(&p->strings, module->path);
	base = strrchr(path, '/');
	base = base ? base + 1 : path;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (text_starts_with(base, names[i]))
			return true;
	}
	return false;
}
