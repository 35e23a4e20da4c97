/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/markers/fair_share.h"

#include <stdlib.h>

#include "lib/base/vec.h"

uint64_t fair_share(uint64_t *counts, size_t kinds, uint64_t max)
{
	qsort(counts, kinds, sizeof(*counts), u64_compare);
	for (size_t i = 0; i < kinds; i++) {
		uint64_t share = max / (kinds - i);

		if (counts[i] > share)
			return share;
		max -= counts[i];
	}
	return UINT64_MAX;
}
