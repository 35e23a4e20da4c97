/* SPDX-License-Identifier: MIT */
#include "lib/base/search_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_there(int length, const char *file)
{
	return length < PATH_MAX && access(file, F_OK) == 0;
}

bool search_path_find(const char *name, char file[PATH_MAX])
{
	const char *path = getenv("PATH");

	if (strchr(name, '/'))
		return is_there(snprintf(file, PATH_MAX, "%s", name), file);
	while (path) {
		size_t size = strcspn(path, ":");
		int length;

		/* An empty component is the working directory. */
		if (size)
			length = snprintf(file, PATH_MAX, "%.*s/%s", (int)size, path, name);
		else
			length = snprintf(file, PATH_MAX, "./%s", name);
		if (is_there(length, file))
			return true;
		path = path[size] ? path + size + 1 : NULL;
	}
	return false;
}
