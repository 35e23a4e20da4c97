/* SPDX-License-Identifier: MIT */
#include "lib/base/signal_name.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

void signal_name(int number, char to[SIGNAL_NAME_SIZE])
{
	const char *name = sigabbrev_np(number);

	if (name)
		snprintf(to, SIGNAL_NAME_SIZE, "SIG%s", name);
	else if (number < SIGRTMIN)
		snprintf(to, SIGNAL_NAME_SIZE, "signal %d", number);
	else
		snprintf(to, SIGNAL_NAME_SIZE, "SIGRTMIN+%d", number - SIGRTMIN);
}
