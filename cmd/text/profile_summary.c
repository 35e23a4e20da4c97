/* SPDX-License-Identifier: MIT */
#include "cmd/text/profile_summary.h"

#include <math.h>
#include <sys/ioctl.h>

#include "cmd/command.h"
#include "cmd/text/first_screen.h"
#include "cmd/text/listing.h"
#include "lib/query/summary.h"

#define ROWS 10

/* Returns the width of the terminal on stderr; 0 if it is not a terminal. */
static size_t width(void)
{
	struct winsize size;

	if (!isatty(STDERR_FILENO))
		return 0;
	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

void heaviest_print(const struct profile *p)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	const struct first_screen_options options = {
		.filter = &filter,
		.listing = {.unit = QUERY_UNIT_PERCENT, .for_people = true, .limit = ROWS},
		.leaves_noise_out = true,
		.width = width(),
	};
	_cleanup_(strbuf_release) struct strbuf out = {0};
	struct query q;

	/* A filter without names is always valid. */
	if (query_select(&q, p, &filter, NULL))
		return;
	if (first_screen_has_rows(&q)) {
		first_screen(&q, &options, &out);
		log_write(strbuf_text(&out));
	} else {
		command_say("--report: no matching samples");
	}
	query_release(&q);
}

void profile_summary_unread(const struct import_counts *counts, struct strbuf *out)
{
	size_t before = out->size;

	for (size_t i = 0; i < UNREAD_KIND_COUNT; i++) {
		if (counts->unread[i])
			strbuf_addf(out, "%s%" PRIu64 " %s",
				    out->size == before ? "not read: " : ", ", counts->unread[i],
				    unread_names[i]);
	}
}

/* Appends the lines after the first. */
static void add_reservations(const struct query *q, const struct import_counts *counts,
			     struct strbuf *out)
{
	const char *no_times = profile_fact(q->profile, FACT_NO_TIMES, NULL);
	size_t before;

	if (no_times)
		strbuf_addf(out, "times: %s\n", no_times);
	before = out->size;
	profile_summary_unread(counts, out);
	if (out->size != before)
		strbuf_addch(out, '\n');
}

void profile_summary_text(const struct query *q, const struct import_counts *counts,
			  struct strbuf *out)
{
	query_summary_text(q, out);
	strbuf_addch(out, '\n');
	add_reservations(q, counts, out);
}

void profile_summary_samples(const struct query *q, const struct import_counts *counts,
			     size_t width, struct strbuf *out)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};

	query_summary_samples(q, &line);
	listing_print_line(strbuf_text(&line), width, out);
	add_reservations(q, counts, out);
}

void profile_summary_json(const struct query *q, const struct import_counts *counts,
			  struct strbuf *out)
{
	const struct profile *p = q->profile;
	struct query_summary s = query_summarize(q);
	bool is_first = true;

	listing_json_text(out, "{", "product", p->meta.product);
	strbuf_addf(out, ", \"seconds\": %.10g", s.seconds);
	listing_json_text(out, ", ", "event", query_event_name(p, q->event));
	listing_json_text(out, ", ", "unit", query_unit_name(q));
	strbuf_addf(out, ", \"samples\": %" PRIu64 ", \"weight\": %" PRIu64, q->samples, q->weight);
	strbuf_addf(out, ", \"interval_ms\": %.10g", (double)p->meta.interval_ns / 1e6);
	if (s.has_lost)
		strbuf_addf(out, ", \"lost\": %" PRIu64, s.lost);
	else
		strbuf_adds(out, ", \"lost\": null");
	listing_json_number(out, ", ", "whole", s.has_whole ? s.whole : NAN);
	if (s.has_guessed)
		strbuf_addf(out, ", \"guessed\": %.10g", s.guessed);
	strbuf_addf(out, ", \"named\": %.10g, \"cpu_ms\": %.10g, ", s.named,
		    (double)q->cpu_ns / 1e6);
	strbuf_addf(out, "\"blocked_ms\": %.10g, \"runnable_ms\": %.10g, \"idle_ms\": %.10g, ",
		    1e3 * query_wait_seconds(q, QUERY_BLOCKED),
		    1e3 * query_wait_seconds(q, QUERY_RUNNABLE),
		    1e3 * query_wait_seconds(q, QUERY_IDLE));
	strbuf_adds(out, "\"not_read\": {");
	for (size_t i = 0; i < UNREAD_KIND_COUNT; i++) {
		if (counts->unread[i])
			strbuf_addf(out, "%s\"%s\": %" PRIu64, is_first ? "" : ", ",
				    unread_names[i], counts->unread[i]);
		is_first &= !counts->unread[i];
	}
	strbuf_adds(out, "}}");
}
