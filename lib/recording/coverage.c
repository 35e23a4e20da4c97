/* SPDX-License-Identifier: MIT */
#include "lib/recording/coverage.h"

#include "lib/model/tables/modules.h"

/* Maximum number of modules listed one by one; the others are summed up. */
#define LISTED_MAX 40
/* Maximum number of unresponsive files named. */
#define SILENT_SHOWN 3

ORDER(compare, struct module_coverage,
      COMPARE(b->frames, a->frames) ?: COMPARE(a->module, b->module))

void coverage_count(struct coverage *n, const struct profile *p)
{
	size_t count = p->modules.rows.count, kept = 0;
	struct module_coverage *rows = vec_add_zeroed(&n->rows, count + 1);

	for (size_t i = 0; i <= count; i++)
		rows[i].module = i < count ? (module_id)i : NO_MODULE;
	vec_for_each(&p->frames.rows, const struct frame *, frame) {
		struct module_coverage *row =
			&rows[frame->module == NO_MODULE ? count : frame->module];

		/*
		 * Skip frames that share another's address: inlined functions use the outer
		 * function's, and labels have none.
		 */
		if (frame->inline_depth || frame->kind == PROFILE_FRAME_LABEL)
			continue;
		row->frames++;
		row->named += profile_frame_is_named(p, frame);
		row->with_lines += frame->line != 0;
	}
	for (size_t i = 0; i <= count; i++) {
		if (rows[i].frames)
			rows[kept++] = rows[i];
	}
	n->rows.count = kept;
	qsort(rows, kept, sizeof(*rows), compare);
}

void coverage_release(struct coverage *n)
{
	vec_release(&n->rows);
}

/* Returns a single line even for a name that contains newlines. The caller frees it. */
static char *module_text(const struct module_coverage *row, const struct profile *p)
{
	const char *known = row->module == NO_MODULE
				    ? "(no file)"
				    : strings_get(&p->strings,
						  p->modules.rows.items[row->module].name);
	char *name = xstrdup(known[0] ? known : "(no name)");

	text_to_line(name);
	return name;
}

/* Adds the reason for missing names or lines, if any. */
static void add_reason(const struct module_coverage *row, const struct profile *p,
		       const char *separator, struct strbuf *out)
{
	const struct module *module;

	if (row->module == NO_MODULE || row->with_lines == row->frames)
		return;
	module = &p->modules.rows.items[row->module];
	if (module->reason == SYMBOLS_FOUND)
		return;
	strbuf_adds(out, separator);
	module_describe_reason(module, out);
}

/* Sums up the modules that are not listed; false if all are listed. */
static bool sum_up_rest(const struct coverage *n, struct module_coverage *rest)
{
	*rest = (struct module_coverage){.module = NO_MODULE};
	for (size_t i = LISTED_MAX; i < n->rows.count; i++) {
		rest->frames += n->rows.items[i].frames;
		rest->named += n->rows.items[i].named;
		if (n->rows.items[i].with_lines == LINES_UNKNOWN ||
		    rest->with_lines == LINES_UNKNOWN)
			rest->with_lines = LINES_UNKNOWN;
		else
			rest->with_lines += n->rows.items[i].with_lines;
	}
	return rest->frames;
}

static void add_counts(const struct module_coverage *row, const char *prefix, struct strbuf *out)
{
	strbuf_addf(out, "%s%8" PRIu64 " %8" PRIu64 " %8" PRIu64 "  ", prefix, row->frames,
		    row->named, row->with_lines);
}

void coverage_describe(const struct coverage *n, const struct profile *p, const char *prefix,
		       struct strbuf *out)
{
	struct module_coverage rest;

	strbuf_addf(out, "%s%8s %8s %8s  module\n", prefix, "frames", "named", "lines");
	for (size_t i = 0; i < n->rows.count && i < LISTED_MAX; i++) {
		const struct module_coverage *row = &n->rows.items[i];
		_cleanup_free_ char *name = module_text(row, p);

		add_counts(row, prefix, out);
		strbuf_adds(out, name);
		add_reason(row, p, ": ", out);
		strbuf_addch(out, '\n');
	}
	if (sum_up_rest(n, &rest)) {
		add_counts(&rest, prefix, out);
		strbuf_addf(out, "%zu more\n", n->rows.count - LISTED_MAX);
	}
}

static void add_extra(struct profile *p, const struct module_coverage *row, const char *label)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	strbuf_addf(&text, "%" PRIu64 " of %" PRIu64 " frames named", row->named, row->frames);
	if (row->with_lines != LINES_UNKNOWN)
		strbuf_addf(&text, ", %" PRIu64 " with lines", row->with_lines);
	add_reason(row, p, "; ", &text);
	profile_add_text(p, FACT_SYMBOLS, label, strbuf_text(&text));
}

void coverage_add_extra(const struct coverage *n, struct profile *p)
{
	struct module_coverage rest;

	for (size_t i = 0; i < n->rows.count && i < LISTED_MAX; i++) {
		_cleanup_free_ char *name = module_text(&n->rows.items[i], p);

		add_extra(p, &n->rows.items[i], name);
	}
	if (sum_up_rest(n, &rest)) {
		_cleanup_free_ char *label = xasprintf("%zu more", n->rows.count - LISTED_MAX);

		add_extra(p, &rest, label);
	}
}

void coverage_describe_silence(const struct profile *p, const struct sources_stats *sources,
			       uint64_t stall_ns, struct strbuf *text)
{
	uint32_t files = sources->files[SOURCE_SILENT];
	_cleanup_(strbuf_release) struct strbuf what = {0};
	unsigned int count = 0;

	vec_for_each(&p->modules.rows, const struct module *, module) {
		if (module->reason != SYMBOLS_SILENT)
			continue;
		if (count++ < SILENT_SHOWN)
			strbuf_addf(&what, "%s%s", what.size ? ", " : "names of ",
				    strings_get(&p->strings, module->path));
	}
	if (count > SILENT_SHOWN)
		strbuf_addf(&what, " and %u more", count - SILENT_SHOWN);
	if (files)
		strbuf_addf(&what, "%s%u %s", what.size ? ", " : "", files,
			    text_counted(files, "source file", "source files"));
	if (what.size)
		strbuf_addf(text, "given up after %g s without an answer: %s",
			    (double)stall_ns / 1e9, strbuf_text(&what));
}
