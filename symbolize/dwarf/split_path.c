/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf/split_path.h"

#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"

char *split_path(const char *base, unsigned int place, const char *dir, const char *name, int *ret)
{
	const char *slash = base ? strrchr(base, '/') : NULL, *last = strrchr(name, '/');
	int base_size = slash ? (int)(slash - base) : 0;

	*ret = -ENOENT;
	switch (place) {
	case 0:
		if (*name == '/')
			return xstrdup(name);
		return slash ? xasprintf("%.*s/%s", base_size, base, name) : NULL;
	case 1:
		if (*name == '/' || !dir)
			return NULL;
		if (*dir == '/')
			return xasprintf("%s/%s", dir, name);
		return slash ? xasprintf("%.*s/%s/%s", base_size, base, dir, name) : NULL;
	case 2:
		return slash && last ? xasprintf("%.*s%s", base_size, base, last) : NULL;
	default:
		*ret = -ERANGE;
		return NULL;
	}
}
