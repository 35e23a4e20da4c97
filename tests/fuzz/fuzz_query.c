/* SPDX-License-Identifier: MIT */
/*
 * Asks whatever is a profile everything that prof report can: all tables and trees under several
 * filters, lines and markers, printed in each format. Weights add up, and nothing that is printed
 * can steer a terminal.
 */
#include <stdio.h>
#include <string.h>

#include "cmd/text/annotation.h"
#include "cmd/text/query_listing.h"
#include "lib/base/cleanup.h"
#include "lib/format/format.h"
#include "tests/fuzz/input.h"

/* Lines of a listing, and those of the tree before it is linked. */
#define NODES_MAX (1u << 21)

static void check_text(const struct strbuf *out)
{
	char *text = xstrdup(strbuf_text(out)), *line, *rest = text;

	while ((line = strsep(&rest, "\n"))) {
		char *safe = xstrdup(line);

		text_to_line(safe);
		if (strcmp(safe, line) != 0)
			abort();
		free(safe);
	}
	free(text);
}

static void check_listing(struct listing *l)
{
	struct strbuf out = {0};

	listing_print_text(l, 0, &out);
	listing_print_text(l, 40, &out);
	listing_print_markdown(l, &out);
	listing_print_csv(l, &out);
	listing_print_json(l, &out);
	check_text(&out);
	strbuf_release(&out);
	listing_release(l);
	*l = (struct listing){0};
}

static void check_table(const struct query *q, enum query_by by,
			const struct query_listing_options *options)
{
	uint64_t self = 0;
	struct listing l = {0};
	struct query_table t;

	query_table_make(&t, q, by, NULL);
	vec_for_each(&t.rows, const struct query_row *, row) {
		if (row->self > row->total || row->total > q->weight || !row->total)
			abort();
		self += row->self;
	}
	if (self != q->weight || t.rows.count > q->profile->frames.rows.count +
							q->profile->threads.rows.count + (1 << 16))
		abort();
	query_listing_table(&l, q, &t, options);
	query_table_release(&t);
	check_listing(&l);
}

static void check_tree(const struct query *q, const struct query_tree_options *how,
		       const struct query_listing_options *options)
{
	uint64_t total = 0;
	struct listing l = {0};
	struct query_tree t;

	query_tree_make(&t, q, how);
	if (t.nodes.count > NODES_MAX + q->profile->stacks.rows.count)
		abort();
	for (uint32_t at = t.first_root; at != QUERY_NO_NODE; at = query_tree_next(&t, at)) {
		const struct query_node *node = &t.nodes.items[at];

		if (node->self > node->total || node->depth >= QUERY_TREE_DEPTH)
			abort();
		total += node->parent == QUERY_NO_NODE ? node->total : 0;
	}
	if (total > q->weight || (!how->function && total + q->no_frame != q->weight))
		abort();
	query_listing_tree(&l, q, &t, options);
	query_tree_release(&t);
	check_listing(&l);
}

static void check_lines(const struct query *q, const char *function,
			struct query_listing_options *options)
{
	struct listing l = {0};
	struct annotation a;

	annotation_make(&a, q, function, (struct reader){READER_UNKNOWN, READER_UNKNOWN});
	options->for_people = true;
	vec_for_each(&a.files, const struct annotation_file *, file) {
		annotation_list_file(&l, file, q, options);
		check_listing(&l);
	}
	options->for_people = false;
	annotation_list(&l, &a, q, options);
	check_listing(&l);
	annotation_release(&a);
}

static void ask(const struct query *q, const char *function)
{
	struct query_listing_options options = {.unit = QUERY_UNIT_SAMPLES};
	struct query_tree_options how = {0};

	for (int by = 0; by < QUERY_BY_COUNT; by++) {
		options.for_people = by % 2;
		check_table(q, (enum query_by)by, &options);
		how = (struct query_tree_options){.by = (enum query_by)by};
		for (; query_by_has_stacks(how.by) && how.kind <= QUERY_TREE_INVERTED; how.kind++)
			check_tree(q, &how, &options);
	}
	how = (struct query_tree_options){.function = function};
	for (how.kind = QUERY_TREE_CALLERS; how.kind <= QUERY_TREE_CALLEES; how.kind++)
		check_tree(q, &how, &options);
	check_lines(q, function, &options);
}

static void ask_under(const struct profile *p, const struct query_filter *filter,
		      const char *function)
{
	struct query q;

	if (query_select(&q, p, filter, NULL))
		return;
	if (q.weight)
		ask(&q, function);
	query_release(&q);
}

static void ask_all(const struct profile *p)
{
	struct query_filter all = QUERY_FILTER_ALL, filter = all;
	const struct query_listing_options options = {.for_people = true};
	const char *function = "";
	struct listing l = {0};

	if (p->funcs.rows.count)
		function = strings_get(&p->strings, p->funcs.rows.items[0].name);
	ask_under(p, &filter, function);
	filter.root = function;
	filter.until = 1000000000;
	filter.no_kernel = true;
	filter.fold_recursion = true;
	ask_under(p, &filter, function);
	filter = all;
	filter.hide = "[a-m]";
	filter.include_idle = true;
	filter.during = "*";
	ask_under(p, &filter, function);
	filter = all;
	filter.focus = "[e-z]";
	filter.category = "*e*";
	filter.event = query_event_name(p, p->events.rows.count > 1);
	ask_under(p, &filter, function);
	marker_listing(&l, p, &all, &options);
	check_listing(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *input = xmalloc(size + 1);
	struct profile *p;

	memcpy(input, data, size);
	if (!format_firefox.read(&p, input, size, NULL, NULL)) {
		ask_all(p);
		profile_free(p);
	}
	free(input);
	return 0;
}
