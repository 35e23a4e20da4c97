/* SPDX-License-Identifier: MIT */
#include "cmd/text/heaviest.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/text/query_listing.h"
#include "lib/base/cleanup.h"
#include "lib/base/log.h"

#define ROWS 10

/* Width of the terminal on stderr, 0 if it is not a terminal. */
static size_t width(void)
{
	struct winsize size;

	if (!isatty(STDERR_FILENO))
		return 0;
	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

static void print_table(const struct query *q)
{
	const struct query_listing_options options = {
		.unit = QUERY_UNIT_PERCENT, .for_people = true, .limit = ROWS};
	_cleanup_(strbuf_release) struct strbuf out = {0};
	struct listing listing = {0};
	struct query_table table;

	query_table_make(&table, q, QUERY_BY_FUNCTION, NULL);
	query_listing_table(&listing, q, &table, &options);
	query_table_release(&table);
	listing_print_text(&listing, width(), &out);
	listing_release(&listing);
	log_write(strbuf_text(&out));
}

void heaviest_print(const struct profile *p)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	struct query q;

	/* Without names in it, no filter is refused. */
	if (query_select(&q, p, &filter, NULL))
		return;
	if (q.weight)
		print_table(&q);
	else
		command_say("--report: no sample that counts");
	query_release(&q);
}
