/* SPDX-License-Identifier: MIT */
#include "lib/base/neighbour.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"

char *neighbour_path(const char *name)
{
	char path[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	if (size < 0)
		return NULL;
	path[size] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return NULL;
	return xasprintf("%.*s/%s", (int)(slash - path), path, name);
}
