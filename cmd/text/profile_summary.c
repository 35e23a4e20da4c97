/* SPDX-License-Identifier: MIT */
#include "cmd/text/profile_summary.h"

#include <inttypes.h>
#include <string.h>

#include "cmd/text/listing.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

struct summary {
	double seconds;
	bool has_lost, has_whole;
	uint64_t lost; /* samples, as the recording says */
	double whole; /* share of stacks, likewise */
	double named; /* share of what is selected whose innermost function has a name */
};

static double named_share(const struct query *q)
{
	const struct profile *p = q->profile;
	uint64_t named = 0;

	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		const struct frame *frame = &p->frames.rows.items[p->stacks.rows.items[id].frame];

		if (frame->func != NO_FUNC && p->funcs.rows.items[frame->func].is_named)
			named += q->weights[id];
	}
	return q->weight ? (double)named / (double)q->weight : 0;
}

static struct summary summarize(const struct query *q)
{
	const struct profile_meta *meta = &q->profile->meta;
	const char *lost = profile_fact(q->profile, FACT_LOST_SAMPLES, NULL);
	const char *whole = profile_fact(q->profile, FACT_WHOLE_SHARE, NULL);
	struct summary s = {.named = named_share(q)};

	if (meta->end_ns > meta->start_ns)
		s.seconds = (double)(meta->end_ns - meta->start_ns) / 1e9;
	s.has_lost = lost && text_to_u64(lost, 10, &s.lost);
	s.has_whole = whole && text_to_double(whole, &s.whole);
	return s;
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

static const char *const wait_texts[QUERY_WAIT_COUNT] = {
	[QUERY_IDLE] = "idle",
	[QUERY_BLOCKED] = "blocked",
	[QUERY_RUNNABLE] = "waited for a CPU",
};

static double wait_seconds(const struct query *q, int wait)
{
	return (double)q->waits[wait] * (double)q->profile->meta.interval_ns / 1e9;
}

/* Waits are in intervals of the clock. */
static void add_waits(const struct query *q, struct strbuf *out)
{
	static const uint8_t order[] = {QUERY_BLOCKED, QUERY_RUNNABLE, QUERY_IDLE};

	for (size_t i = 0; i < sizeof(order) && !q->event; i++) {
		if (q->waits[order[i]])
			strbuf_addf(out, ", %s %.3f s", wait_texts[order[i]],
				    wait_seconds(q, order[i]));
	}
}

void profile_summary_text(const struct query *q, const struct import_counts *counts,
			  struct strbuf *out)
{
	const struct profile *p = q->profile;
	struct summary s = summarize(q);
	size_t before;
	_cleanup_free_ char *title = xstrdup(p->meta.product ? p->meta.product : "profile");
	_cleanup_free_ char *event = xstrdup(query_event_name(p, q->event));

	text_to_line(title);
	text_to_line(event);
	strbuf_addf(out, "%s: %.3f s, ", title, s.seconds);
	strbuf_add_grouped(out, q->samples);
	strbuf_addf(out, " samples of %s", event);
	if (q->weight != q->samples) {
		strbuf_adds(out, " that stand for ");
		strbuf_add_grouped(out, q->weight);
	}
	if (s.has_lost) {
		strbuf_adds(out, ", ");
		strbuf_add_grouped(out, s.lost);
		strbuf_adds(out, " lost");
	}
	if (s.has_whole)
		strbuf_addf(out, ", %.1f %% whole", 100 * s.whole);
	strbuf_addf(out, ", %.1f %% named", 100 * s.named);
	if (q->cpu_ns)
		strbuf_addf(out, "; ran %.3f s", (double)q->cpu_ns / 1e9);
	add_waits(q, out);
	strbuf_addch(out, '\n');
	if (profile_fact(p, FACT_NO_TIMES, NULL))
		strbuf_addf(out, "times: %s\n", profile_fact(p, FACT_NO_TIMES, NULL));
	before = out->size;
	profile_summary_unread(counts, out);
	if (out->size != before)
		strbuf_addch(out, '\n');
}

void profile_summary_json(const struct query *q, const struct import_counts *counts,
			  struct strbuf *out)
{
	const struct profile *p = q->profile;
	struct summary s = summarize(q);
	bool is_first = true;

	strbuf_adds(out, "{\"product\": ");
	listing_json_string(p->meta.product, out);
	strbuf_addf(out, ", \"seconds\": %.10g, \"event\": ", s.seconds);
	listing_json_string(query_event_name(p, q->event), out);
	strbuf_addf(out, ", \"samples\": %" PRIu64 ", \"weight\": %" PRIu64, q->samples, q->weight);
	strbuf_addf(out, ", \"interval_ms\": %.10g", (double)p->meta.interval_ns / 1e6);
	if (s.has_lost)
		strbuf_addf(out, ", \"lost\": %" PRIu64, s.lost);
	else
		strbuf_adds(out, ", \"lost\": null");
	if (s.has_whole)
		strbuf_addf(out, ", \"whole\": %.10g", s.whole);
	else
		strbuf_adds(out, ", \"whole\": null");
	strbuf_addf(out, ", \"named\": %.10g, \"cpu_ms\": %.10g, ", s.named,
		    (double)q->cpu_ns / 1e6);
	strbuf_addf(out, "\"blocked_ms\": %.10g, \"runnable_ms\": %.10g, \"idle_ms\": %.10g, ",
		    1e3 * wait_seconds(q, QUERY_BLOCKED), 1e3 * wait_seconds(q, QUERY_RUNNABLE),
		    1e3 * wait_seconds(q, QUERY_IDLE));
	strbuf_adds(out, "\"not_read\": {");
	for (size_t i = 0; i < UNREAD_KIND_COUNT; i++) {
		if (counts->unread[i])
			strbuf_addf(out, "%s\"%s\": %" PRIu64, is_first ? "" : ", ",
				    unread_names[i], counts->unread[i]);
		is_first &= !counts->unread[i];
	}
	strbuf_adds(out, "}}");
}
