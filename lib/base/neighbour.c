/* SPDX-License-Identifier: MIT */
#include "lib/base/neighbour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/program.h"

char *neighbour_path(const char *name)
{
	_cleanup_free_ char *path = program_path();
	char *slash, *beside, *installed;

	slash = path ? strrchr(path, '/') : NULL;
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
