/* SPDX-License-Identifier: MIT */
#include "lib/base/urgency.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

/* Nine times the share of a CPU that others get. */
#define NICENESS (-10)

/* Returns the niceness of the calling thread; `otherwise` if it cannot be had. */
static int niceness_or(int otherwise)
{
	int niceness;

	errno = 0;
	niceness = getpriority(PRIO_PROCESS, (id_t)gettid());
	return errno ? otherwise : niceness;
}

bool urgency_raise(void)
{
	return niceness_or(1) == 0 && !setpriority(PRIO_PROCESS, (id_t)gettid(), NICENESS);
}

void urgency_lower(void)
{
	if (niceness_or(0) < 0)
		setpriority(PRIO_PROCESS, (id_t)gettid(), 0);
}
