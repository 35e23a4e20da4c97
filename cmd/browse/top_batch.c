/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>

#include "cmd/browse/top.h"
#include "cmd/text/profile_summary.h"
#include "cmd/text/query_listing.h"
#include "lib/base/cleanup.h"

#define STEP_MS 100
/* For people, and so for trees in windows. */
#define TREE_MIN_SHARE 0.005

static void list(const struct top *t, const struct query *q, struct listing *l)
{
	const struct query_listing_options how = {
		.unit = QUERY_UNIT_SAMPLES,
		.limit = t->options.limit,
	};

	if (t->options.is_tree) {
		const struct query_tree_options options = {
			.by = t->options.by,
			.kind = t->options.is_inverted ? QUERY_TREE_INVERTED : QUERY_TREE_PLAIN,
			.min_weight = (uint64_t)(TREE_MIN_SHARE * (double)q->weight + 0.999999),
		};
		struct query_tree tree;

		query_tree_make(&tree, q, &options);
		query_listing_tree(l, q, &tree, &how);
		query_tree_release(&tree);
	} else {
		struct query_table table;

		query_table_make(&table, q, t->options.by, NULL);
		if (t->options.by_total)
			query_table_sort(&table, QUERY_ORDER_TOTAL);
		query_listing_table(l, q, &table, &how);
		query_table_release(&table);
	}
}

/* Prints a window as one line: texts in JSON have no line ends of their own. */
static void print(struct top *t, const struct profile *p, uint64_t until_ns)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	const struct import_counts counts = {0};
	_cleanup_(strbuf_release) struct strbuf out = {0};
	struct listing l = {0};
	struct query q;

	top_filter(t, until_ns, &filter);
	filter.include_idle = t->options.has_waits;
	if (query_select(&q, p, &filter, NULL))
		return;
	list(t, &q, &l);
	strbuf_addf(&out, "{\"from\": %.9f, \"until\": %.9f, \"lost\": %" PRIu64 ", \"summary\": ",
		    (double)filter.from / 1e9, (double)filter.until / 1e9,
		    moving_count(t->moving).lost);
	profile_summary_json(&q, &counts, &out);
	strbuf_addf(&out, ", \"%s\": ", t->options.is_tree ? "tree" : "rows");
	listing_print_json(&l, &out);
	strbuf_addch(&out, '}');
	for (size_t i = 0; i < out.size; i++) {
		if (out.text[i] == '\n')
			out.text[i] = ' ';
	}
	strbuf_addch(&out, '\n');
	fwrite(out.text, 1, out.size, stdout);
	fflush(stdout);
	listing_release(&l);
	query_release(&q);
}

int top_batch(struct top *t)
{
	uint64_t next = t->options.window_ns, number;

	while (!t->has_ended && !ferror(stdout) && !top_is_interrupted()) {
		struct pollfd ready = {.fd = t->fd, .events = POLLIN};
		const struct profile *p;

		poll(&ready, 1, STEP_MS);
		top_read(t);
		p = moving_profile(t->moving, moving_end(t->moving) >= next, &number);
		for (; p && moving_end(t->moving) >= next; next += t->options.every_ns)
			print(t, p, next);
	}
	return 0;
}
