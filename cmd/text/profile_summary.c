/* SPDX-License-Identifier: MIT */
#include "cmd/text/profile_summary.h"

#include <math.h>
#include <sys/ioctl.h>

#include "cmd/command.h"
#include "cmd/text/listing.h"

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

/* Subcategories below this share of the blocked time are not named. */
#define NAMED_PERCENT 10
#define NAMED_MAX 3

static double seconds(uint64_t weight, uint64_t interval_ns)
{
	return (double)weight * (double)interval_ns / 1e9;
}

/* Returns the number of decimal places: for two significant digits, but at least one. */
static int digits(double value)
{
	return value < 0.095 ? 3 : value < 0.95 ? 2 : 1;
}

void wait_text_add_seconds(struct strbuf *out, double value)
{
	strbuf_addf(out, "%.*f", digits(value), value);
}

/* Adds "(disk 2.9, lock 0.4)", the longest first. */
static void add_reasons(const struct wait_sums *sums, uint64_t interval_ns, struct strbuf *out)
{
	bool is_named[IDLE_SUBCATEGORY_COUNT] = {[IDLE_OTHER] = true};
	size_t before = out->size;

	for (int i = 0; i < NAMED_MAX; i++) {
		const char *name;
		size_t most = IDLE_OTHER;

		for (size_t j = 0; j < IDLE_SUBCATEGORY_COUNT; j++) {
			if (!is_named[j] &&
			    (is_named[most] || sums->blocked_by[j] > sums->blocked_by[most]))
				most = j;
		}
		if (is_named[most] || !sums->blocked_by[most] ||
		    sums->blocked_by[most] * 100 < sums->blocked * NAMED_PERCENT)
			break;
		is_named[most] = true;
		name = categories[CATEGORY_IDLE]->subcategories[most];
		strbuf_addf(out, "%s%c%s ", out->size == before ? " (" : ", ",
			    tolower((unsigned char)*name), name + 1);
		wait_text_add_seconds(out, seconds(sums->blocked_by[most], interval_ns));
	}
	if (out->size != before)
		strbuf_adds(out, ")");
}

void wait_text_describe(const struct wait_sums *sums, uint64_t ran_ns, uint64_t interval_ns,
			uint64_t threads, struct strbuf *out)
{
	if (!sums->rows)
		return;
	strbuf_adds(out, "ran ");
	wait_text_add_seconds(out, (double)ran_ns / 1e9);
	strbuf_adds(out, " s, blocked ");
	wait_text_add_seconds(out, seconds(sums->blocked, interval_ns));
	strbuf_adds(out, " s");
	add_reasons(sums, interval_ns, out);
	if (sums->idle) {
		strbuf_adds(out, ", idle ");
		wait_text_add_seconds(out, seconds(sums->idle, interval_ns));
		strbuf_adds(out, " s");
	}
	strbuf_adds(out, ", waited for a CPU ");
	wait_text_add_seconds(out, seconds(sums->runnable, interval_ns));
	strbuf_adds(out, " s");
	/* Sums over threads may exceed the recording's duration. */
	if (threads > 1) {
		strbuf_adds(out, ", added up over ");
		strbuf_add_grouped(out, threads);
		strbuf_adds(out, " threads");
	}
}

char *wait_text_kind(const struct profile *p, struct frame_category category)
{
	const char *name = subcategory_name(p, category);
	char *kind = xstrdup(name ? name : category_name(p, category.category));

	*kind = (char)tolower((unsigned char)*kind);
	text_to_line(kind);
	return kind;
}

/* Appends " (lock 5.9, disk 0.4)", the kinds with the most blocked time. */
static void add_kinds(const struct query *q, struct strbuf *out)
{
	uint64_t sums[UINT8_MAX + 1] = {0};
	size_t before = out->size;

	for (stack_id id = 0; id < q->profile->stacks.rows.count; id++) {
		if (q->weights[id] && query_wait_of(q, id) == QUERY_BLOCKED)
			sums[q->categories[id].subcategory] += q->weights[id];
	}
	for (int shown = 0; shown < NAMED_MAX; shown++) {
		struct frame_category most = {.category = CATEGORY_IDLE};
		_cleanup_free_ char *kind = NULL;

		for (unsigned int i = 0; i <= UINT8_MAX; i++) {
			if (sums[i] > sums[most.subcategory])
				most.subcategory = (uint8_t)i;
		}
		if (!sums[most.subcategory] ||
		    sums[most.subcategory] * 100 < q->waits[QUERY_BLOCKED] * NAMED_PERCENT)
			break;
		kind = wait_text_kind(q->profile, most);
		strbuf_addf(out, "%s%s ", out->size == before ? " (" : ", ", kind);
		wait_text_add_seconds(
			out, seconds(sums[most.subcategory], q->profile->meta.interval_ns));
		sums[most.subcategory] = 0;
	}
	if (out->size != before)
		strbuf_adds(out, ")");
}

void wait_text_add_query(const struct query *q, bool is_of_helpers, struct strbuf *out)
{
	if (q->waits[QUERY_BLOCKED]) {
		strbuf_addf(out, ", blocked %.3f s", query_wait_seconds(q, QUERY_BLOCKED));
		add_kinds(q, out);
		if (is_of_helpers)
			strbuf_adds(out, " in helper threads");
	}
	if (q->waits[QUERY_RUNNABLE])
		strbuf_addf(out, ", waited for a CPU %.3f s",
			    query_wait_seconds(q, QUERY_RUNNABLE));
	if (q->waits[QUERY_IDLE])
		strbuf_addf(out, ", idle %.3f s", query_wait_seconds(q, QUERY_IDLE));
}
