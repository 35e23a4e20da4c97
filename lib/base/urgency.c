/* SPDX-License-Identifier: MIT */
#include "lib/base/urgency.h"

#include <sys/resource.h>

/* Nine times the share of a CPU that others get. */
#define NICENESS (-10)
/* The calling thread, for Linux. */
#define SELF 0

void urgency_raise(void)
{
	if (getpriority(PRIO_PROCESS, SELF) == 0)
		setpriority(PRIO_PROCESS, SELF, NICENESS);
}

void urgency_lower(void)
{
	if (getpriority(PRIO_PROCESS, SELF) < 0)
		setpriority(PRIO_PROCESS, SELF, 0);
}
