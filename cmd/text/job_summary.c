/* SPDX-License-Identifier: MIT */
#include "cmd/text/job_summary.h"

#include "cmd/text/query_listing.h"
#include "lib/query/summary.h"

/* Maximum number of modules without names to list. */
#define MODULES_MAX 20
#define CUT "\n\nThis summary was cut off.\n"

static void add_table(const struct query *q, enum query_by by, const char *title,
		      const struct query_listing_options *options, struct strbuf *out)
{
	struct listing l = {0};
	struct query_table table;
	size_t left_out;

	query_table_make(&table, q, by, NULL);
	left_out = query_listing_table(&l, q, &table, options);
	query_table_release(&table);
	strbuf_addf(out, "\n### %s\n\n", title);
	listing_print_markdown(&l, out);
	if (left_out)
		strbuf_addf(out, "\n%zu more\n", left_out);
	listing_release(&l);
}

/* Appends an escaped line. */
static void add_line(const char *before, struct strbuf *line, const char *after, struct strbuf *out)
{
	_cleanup_free_ char *text = xstrdup(strbuf_text(line));

	text_to_line(text);
	strbuf_adds(out, before);
	listing_markdown_code(text, out);
	strbuf_adds(out, after);
}

static void add_losses(const struct profile *p, struct strbuf *out)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};

	vec_for_each(&p->meta.extra, const struct profile_extra *, extra) {
		if (extra->fact == FACT_LOST_SAMPLES_BY || extra->fact == FACT_LOST_EVENTS_BY)
			strbuf_addf(&line, "%s%s: %s", line.size ? ", " : "", extra->label,
				    extra->value);
	}
	if (line.size)
		add_line("\nLost: ", &line, "\n", out);
}

/* Lists modules with unnamed frames, and the recorded reason. */
static void add_unnamed(const struct profile *p, struct strbuf *out)
{
	struct listing l = {0};
	size_t count = 0;

	listing_add_column(&l, "FRAMES NAMED", LISTING_SHARE);
	listing_add_column(&l, "MODULE", LISTING_TEXT);
	listing_add_column(&l, "REASON", LISTING_TEXT);
	vec_for_each(&p->meta.extra, const struct profile_extra *, extra) {
		uint64_t named, frames;
		const char *reason;

		if (extra->fact != FACT_SYMBOLS ||
		    sscanf(extra->value, "%" SCNu64 " of %" SCNu64, &named, &frames) != 2 ||
		    named >= frames || count++ >= MODULES_MAX)
			continue;
		reason = strstr(extra->value, "; ");
		listing_add_row(&l, 0);
		listing_add_cell(&l, xasprintf("%" PRIu64 " of %" PRIu64, named, frames));
		listing_add_cell(&l, xstrdup(extra->label));
		listing_add_cell(&l, reason ? xstrdup(reason + 2) : NULL);
	}
	if (count) {
		strbuf_adds(out, "\n### Without names\n\n");
		listing_print_markdown(&l, out);
	}
	if (count > MODULES_MAX)
		strbuf_addf(out, "\n%zu more\n", count - MODULES_MAX);
	listing_release(&l);
}

/* Truncates at the end of a line. */
static void limit(struct strbuf *out, size_t begin)
{
	if (out->size - begin <= JOB_SUMMARY_MAX)
		return;
	out->size = begin + JOB_SUMMARY_MAX - strlen(CUT);
	while (out->size > begin && out->text[out->size - 1] != '\n')
		out->size--;
	strbuf_adds(out, CUT);
}

void job_summary(const struct query *q, const struct first_screen_options *options,
		 const char *path, struct strbuf *out)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};
	size_t begin = out->size;

	query_summary_samples(q, &line);
	add_line("", &line, "\n", out);
	add_losses(q->profile, out);
	strbuf_reset(&line);
	strbuf_adds(&line, path);
	add_line("\nOpen ", &line, " at <https://profiler.firefox.com>, or with `prof view`.\n",
		 out);
	first_screen(q, options, out);
	add_table(q, QUERY_BY_PROCESS, "By process", &options->listing, out);
	add_unnamed(q->profile, out);
	limit(out, begin);
}
