/* SPDX-License-Identifier: MIT */
#include "tests/unit/process_state.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/base.h"
#include "lib/base/cleanup.h"

#define PAUSE_US 1000

/* State as in /proc/PID/stat; 'Z' also for a process that is gone. */
static char state_of(pid_t pid)
{
	_cleanup_free_ char *stat = NULL;
	const char *state;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	stat = text_read_file(path, 4096, NULL);
	state = stat ? strrchr(stat, ')') : NULL;
	return state ? state[2] : 'Z';
}

static void await(pid_t pid, const char *states)
{
	while (!strchr(states, state_of(pid)))
		usleep(PAUSE_US);
}

void process_await_sleep(pid_t pid)
{
	await(pid, "SZX");
}

void process_await_end(pid_t pid)
{
	await(pid, "ZX");
}
