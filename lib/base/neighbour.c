/* SPDX-License-Identifier: MIT */
#include "lib/base/neighbour.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"

char *neighbour_path(const char *name)
{
	char path[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash, *beside, *installed;

	if (size < 0)
		return NULL;
	path[size] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	beside = xasprintf("%s/%s", path, name);
	installed = xasprintf("%s/../lib/prof/%s", path, name);
	if (access(beside, F_OK) == 0 || access(installed, F_OK) != 0) {
		free(installed);
		return beside;
	}
	free(beside);
	return installed;
}
