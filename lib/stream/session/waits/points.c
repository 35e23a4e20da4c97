/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/waits/points.h"

#include <math.h>

#include "lib/base/index.h"

double points_before(uint64_t seed, double position, double interval)
{
	double number = floor(position / interval), within = position / interval - number;
	uint64_t point = hash_pair(seed, (uint64_t)number) >> 11;

	return number + ((double)point * 0x1p-53 < within);
}
