/* SPDX-License-Identifier: MIT */
#include "lib/stream/process/cgroup.h"

#include <ctype.h>

const char *cgroup_container_id(const char *path, size_t size)
{
	const char *found = NULL;
	size_t digits = 0;

	for (size_t i = 0; i < size; i++) {
		digits = isxdigit((unsigned char)path[i]) ? digits + 1 : 0;
		if (digits == CONTAINER_ID_SIZE)
			found = path + i + 1 - CONTAINER_ID_SIZE;
		else if (digits > CONTAINER_ID_SIZE)
			found = NULL; /* a longer run of digits is no id */
	}
	return found;
}

const char *cgroup_leaf(const char *path, size_t *size)
{
	size_t end = *size, start;

	while (end && path[end - 1] == '/')
		end--;
	start = end;
	while (start && path[start - 1] != '/')
		start--;
	*size = end - start;
	return path + start;
}
