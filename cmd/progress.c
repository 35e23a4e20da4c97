/* SPDX-License-Identifier: MIT */
#include "cmd/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/text.h"

#define REFRESH_NS 50000000ull

void progress_init(struct progress *progress, bool quiet)
{
	const char *terminal = getenv("TERM");

	*progress = (struct progress){
		.enabled = !quiet && isatty(STDERR_FILENO) && terminal && *terminal &&
			   strcmp(terminal, "dumb") != 0,
	};
}

/* Is it time to show something again? */
static bool is_due(struct progress *progress)
{
	uint64_t now;

	if (!progress->enabled)
		return false;
	now = clock_monotonic_ns();
	if (now < progress->next_ns)
		return false;
	progress->next_ns = now + REFRESH_NS;
	progress->shown = true;
	return true;
}

void progress_naming(struct progress *progress, size_t done, size_t count)
{
	if (is_due(progress))
		fprintf(stderr, "\rnaming %zu/%zu modules…\033[K", done, count);
}

void progress_download(struct progress *progress, const char *path, uint64_t done, uint64_t size)
{
	char name[48], done_text[32], size_text[32];
	const char *slash = strrchr(path, '/');

	if (!is_due(progress))
		return;
	snprintf(name, sizeof(name), "%s", slash ? slash + 1 : path);
	text_to_line(name);
	text_format_bytes(done_text, sizeof(done_text), done);
	text_format_bytes(size_text, sizeof(size_text), size);
	fprintf(stderr, "\rdownloading symbols of %s: %s%s%s…\033[K", name, done_text,
		size ? " of " : "", size ? size_text : "");
}

void progress_erase(struct progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}
