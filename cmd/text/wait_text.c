/* SPDX-License-Identifier: MIT */
#include "cmd/text/wait_text.h"

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
