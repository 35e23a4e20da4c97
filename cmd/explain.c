/* SPDX-License-Identifier: MIT */
/* prof explain: everything about one function of a profile on one page. */
#include "cmd/command.h"
#include "cmd/options/report_options.h"
#include "cmd/run/child_programs.h"
#include "cmd/run/profile_file.h"
#include "cmd/text/annotation.h"
#include "cmd/text/profile_summary.h"
#include "cmd/text/query_listing.h"
#include "lib/query/pattern.h"
#include "lib/query/summary.h"

static const char name[] = "explain";

#define TREE_ROWS 12
#define TREE_MIN 0.01 /* minimum share of the function's total */
#define LINES_MAX 10

struct explain {
	const char *path, *function;
	bool is_markdown;
	struct query_filter filter;
};

struct page {
	const struct explain *options;
	const struct query *q;
	struct query_listing_options listing;
	struct strbuf out;
};

static void add_heading(struct page *page, const char *text)
{
	listing_print_heading(text, page->options->is_markdown, &page->out);
}

static void add_listing(struct page *page, struct listing *l)
{
	listing_print_section(l, page->options->is_markdown, pager_columns(), &page->out);
}

/* Lists the functions of that name, of which several modules may have one. Returns their total. */
static uint64_t add_cost(struct page *page)
{
	struct query_table table, matching;
	struct listing l = {0};
	uint64_t total = 0;

	query_table_make(&table, page->q, QUERY_BY_FUNCTION, NULL);
	matching = (struct query_table){.keys = table.keys};
	vec_for_each(&table.rows, const struct query_row *, row) {
		string_id function = table.keys->rows.items[row->key].function;

		if (strcmp(query_keys_text(table.keys, function), page->options->function) != 0)
			continue;
		vec_push(&matching.rows, *row);
		total += row->total;
	}
	if (total) {
		query_listing_table(&l, page->q, &matching, &page->listing);
		add_heading(page, "Cost");
		add_listing(page, &l);
	}
	vec_release(&matching.rows);
	query_table_release(&table);
	return total;
}

static void add_tree(struct page *page, const char *heading, enum query_tree_kind kind)
{
	const struct query_tree_options options = {
		.by = QUERY_BY_FUNCTION,
		.kind = kind,
		.function = page->options->function,
		.min_share = TREE_MIN,
	};
	struct query_listing_options listing = page->listing;
	struct query_tree tree;
	struct listing l = {0};

	listing.limit = TREE_ROWS;
	query_tree_make(&tree, page->q, &options);
	query_listing_tree(&l, page->q, &tree, &listing);
	add_heading(page, heading);
	add_listing(page, &l);
	query_tree_release(&tree);
}

struct hot_line {
	const struct annotation_file *file;
	const struct annotation_line *line;
};

ORDER(compare_lines, struct hot_line,
      COMPARE(b->line->total, a->line->total) ?: COMPARE(a->line->line, b->line->line))

/* Returns the text of a line without its indentation; NULL if it is unknown or has changed. */
static char *source_of(const struct hot_line *hot)
{
	_cleanup_free_ char *text = hot->file->is_changed
					    ? NULL
					    : annotation_line_text(hot->file, hot->line->line);
	const char *begin = text ? text + strspn(text, " ") : "";

	return *begin ? xstrdup(begin) : NULL;
}

static void add_lines(struct page *page)
{
	VEC(struct hot_line) lines = {0};
	struct listing l = {0};
	struct annotation a;

	annotation_make(&a, page->q, page->options->function,
			profile_file_owner(page->options->path));
	vec_for_each(&a.files, const struct annotation_file *, file) {
		vec_for_each(&file->lines, const struct annotation_line *, line) {
			if (line->line)
				vec_push(&lines, (struct hot_line){file, line});
		}
	}
	vec_sort(&lines, compare_lines);
	query_listing_add_weight_columns(&l, &page->listing);
	listing_add_column(&l, "LINE", LISTING_TEXT);
	listing_add_column(&l, "SOURCE", LISTING_TEXT);
	for (size_t i = 0; i < lines.count && i < LINES_MAX; i++) {
		const struct hot_line *hot = &lines.items[i];
		const char *base = hot->file->path ? basename(hot->file->path) : "?";

		listing_add_row(&l, 0);
		query_listing_add_weights(&l, page->q, &page->listing, hot->line->self,
					  hot->line->total);
		listing_add_cell(&l, xasprintf("%s:%u", base, hot->line->line));
		listing_add_cell(&l, source_of(hot));
	}
	if (lines.count) {
		add_heading(page, "Lines");
		add_listing(page, &l);
	}
	listing_release(&l);
	vec_release(&lines);
	annotation_release(&a);
}

/* Selects the samples below the function, of an event; false if there is no such event. */
static bool select_below(struct query *q, const struct page *page, const char *focus,
			 const char *event)
{
	struct query_filter filter = page->options->filter;

	filter.focus = focus;
	filter.include_idle = !event;
	if (event)
		filter.event = event;
	return query_select(q, page->q->profile, &filter, NULL) == 0;
}

static void add_waits(struct page *page, const char *focus)
{
	_cleanup_(strbuf_release) struct strbuf waits = {0};
	struct query q;

	if (!select_below(&q, page, focus, NULL))
		return;
	wait_text_add_query(&q, false, &waits);
	if (waits.size) {
		add_heading(page, "Waits below it");
		strbuf_addf(&page->out, "%s\n", waits.text + strlen(", "));
	}
	query_release(&q);
}

static void add_allocations(struct page *page, const char *focus)
{
	bool is_first = true;

	for (int sum = 0; sum < ALLOCATION_SUM_COUNT; sum++) {
		char bytes[32];
		struct query q;

		if (!select_below(&q, page, focus, allocation_sum_names[sum]))
			continue;
		if (q.weight) {
			if (is_first)
				add_heading(page, "Allocations below it");
			text_format_bytes(bytes, sizeof(bytes), q.weight);
			strbuf_addf(&page->out, "%s%s %s", is_first ? "" : ", ",
				    allocation_sum_names[sum], bytes);
			is_first = false;
		}
		query_release(&q);
	}
	if (!is_first)
		strbuf_addch(&page->out, '\n');
}

static int fill(struct page *page, const struct import_counts *counts, struct error *err)
{
	_cleanup_free_ char *focus = pattern_of_name(page->options->function);
	uint64_t total;

	if (!page->options->is_markdown)
		profile_summary_samples(page->q, counts, pager_columns(), &page->out);
	total = add_cost(page);
	if (!total)
		return error_text(err, -ENODATA, "%s: no sample with the function %s",
				  page->options->path, page->options->function);
	add_tree(page, "Callers", QUERY_TREE_CALLERS);
	add_tree(page, "Callees", QUERY_TREE_CALLEES);
	add_lines(page);
	add_waits(page, focus);
	add_allocations(page, focus);
	return 0;
}

static int explain(const struct explain *o, const struct profile_file *file, struct error *err)
{
	struct query q;
	struct page page = {
		.options = o,
		.q = &q,
		.listing = {.unit = QUERY_UNIT_PERCENT, .for_people = true},
	};
	int ret = query_select(&q, file->profile, &o->filter, err);

	if (ret)
		return ret;
	ret = q.weight ? fill(&page, &file->counts, err)
		       : error_text(err, -ENODATA, "%s: no matching samples", o->path);
	if (!ret && o->is_markdown)
		fwrite(strbuf_text(&page.out), 1, page.out.size, stdout);
	else if (!ret)
		pager_print(strbuf_text(&page.out), page.out.size);
	strbuf_release(&page.out);
	query_release(&q);
	return ret;
}

static int take(void *ctx, const char *operand, struct error *err)
{
	struct explain *o = ctx;

	if (!o->path)
		return command_take_file(&o->path, operand, err);
	return command_take_file(&o->function, operand, err);
}

static const struct option_row rows[] = {
	{0, "markdown", NULL, "print Markdown", OPTION_FLAG, OPTION_AT(explain, is_markdown)},
	{0},
};

static void make_table(struct option_table *t, void *options)
{
	struct explain *o = options;

	t->usage = "Usage: prof explain [OPTION]... FILE FUNCTION\n"
		   "Show the cost, callers, callees, lines, waits and allocations of a function.\n"
		   "\n";
	t->take = take;
	option_table_add(t, rows, o);
	option_table_add(t, option_common, NULL);
	option_table_add(t, query_options, &o->filter);
	t->after = "\n"
		   "FILE is a profile, compressed or not; - is stdin.\n"
		   "Exit status: 0, 125 if the file cannot be used, 2 for a usage error.\n";
}

static int run(int argc, char **argv)
{
	struct explain o = {.filter = QUERY_FILTER_ALL};
	struct profile_file file;
	struct error err = {0};
	int ret = command_parse(argc, argv, make_table, &o, &err);

	if (!ret && !o.function)
		ret = error_text(&err, -EINVAL, "a file and a function are needed");
	if (ret)
		return command_fail_usage(name, &err);
	if (profile_file_load(&file, o.path, NULL, &err))
		return command_fail(name, EXIT_REFUSED, &err);
	ret = explain(&o, &file, &err);
	profile_file_release(&file);
	if (ret == -EINVAL)
		return command_fail_usage(name, &err);
	return ret ? command_fail(name, EXIT_REFUSED, &err) : 0;
}

const struct command command_explain = {
	.name = name,
	.summary = "show everything about one function",
	.options = make_table,
	.run = run,
};
