/* SPDX-License-Identifier: MIT */
#include "lib/recording/source_kind.h"

const struct source_kind *const source_kinds[] = {&source_capture, &source_perf_data, NULL};

const struct source_kind *source_kind_of(int fd)
{
	for (size_t i = 0; source_kinds[i]; i++) {
		if (source_kinds[i]->matches(fd))
			return source_kinds[i];
	}
	return NULL;
}
