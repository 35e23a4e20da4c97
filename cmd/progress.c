/* SPDX-License-Identifier: MIT */
#include "cmd/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"

#define REFRESH_NS 50000000ull

void progress_init(struct progress *progress, bool quiet)
{
	const char *terminal = getenv("TERM");

	*progress = (struct progress){
		.enabled = !quiet && isatty(STDERR_FILENO) && terminal &&
			   strcmp(terminal, "dumb") != 0,
	};
}

void progress_naming(struct progress *progress, size_t done, size_t count)
{
	uint64_t now;

	if (!progress->enabled)
		return;
	now = clock_monotonic_ns();
	if (now < progress->next_ns)
		return;
	progress->next_ns = now + REFRESH_NS;
	progress->shown = true;
	fprintf(stderr, "\rnaming %zu/%zu modules…\033[K", done, count);
}

void progress_erase(struct progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}
