/* SPDX-License-Identifier: MIT */
#include "lib/query/summary.h"
#include "lib/query/table.h"

static double named_share(const struct query *q)
{
	const struct profile *p = q->profile;
	uint64_t named = 0;

	for (stack_id id = 0; id < p->stacks.rows.count; id++) {
		const struct frame *frame = profile_frame_of(p, id);

		if (profile_frame_is_named(p, frame))
			named += q->weights[id];
	}
	return q->weight ? (double)named / (double)q->weight : 0;
}

/* Returns false if guessed frames were not counted. */
static bool guessed_share(const struct profile *p, double *share)
{
	const char *text = profile_fact(p, FACT_GUESSED_SHARE, NULL);

	return text && text_to_double(text, share);
}

struct query_summary query_summarize(const struct query *q)
{
	const char *lost = profile_fact(q->profile, FACT_LOST_SAMPLES, NULL);
	const char *whole = profile_fact(q->profile, FACT_WHOLE_SHARE, NULL);
	struct query_summary s = {.named = named_share(q)};

	s.seconds = (double)profile_duration_ns(q->profile) / 1e9;
	s.has_lost = lost && text_to_u64(lost, 10, &s.lost);
	s.has_whole = whole && text_to_double(whole, &s.whole);
	s.has_guessed = guessed_share(q->profile, &s.guessed);
	return s;
}

static const char *const wait_texts[QUERY_WAIT_COUNT] = {
	[QUERY_IDLE] = "idle",
	[QUERY_BLOCKED] = "blocked",
	[QUERY_RUNNABLE] = "waited for a CPU",
};

double query_wait_seconds(const struct query *q, int wait)
{
	return (double)q->waits[wait] * (double)q->profile->meta.interval_ns / 1e9;
}

/*
 * Appends ", blocked 1.200 s, waited for a CPU 0.100 s, idle 3.000 s" without the kinds that are 0.
 */
static void add_waits(const struct query *q, struct strbuf *out)
{
	static const uint8_t order[] = {QUERY_BLOCKED, QUERY_RUNNABLE, QUERY_IDLE};

	for (size_t i = 0; i < sizeof(order) && !q->event; i++) {
		if (q->waits[order[i]])
			strbuf_addf(out, ", %s %.3f s", wait_texts[order[i]],
				    query_wait_seconds(q, order[i]));
	}
}

void query_guesses_text(const struct profile *p, struct strbuf *out)
{
	const char *modules = profile_fact(p, FACT_GUESSED_ABOVE, NULL);
	double guessed;

	if (!guessed_share(p, &guessed) || guessed < GUESSES_SHOWN)
		return;
	strbuf_addf(out, ", %.1f %% with guessed frames", 100 * guessed);
	if (modules) {
		_cleanup_free_ char *line = xstrdup(modules);

		text_to_line(line);
		strbuf_addf(out, ": callers of %s", line);
	}
}

void query_summary_samples(const struct query *q, struct strbuf *out)
{
	const struct profile *p = q->profile;
	struct query_summary s = query_summarize(q);
	_cleanup_free_ char *title = xstrdup(p->meta.product ? p->meta.product : "profile");
	_cleanup_free_ char *event = xstrdup(query_event_name(p, q->event));

	text_to_line(title);
	text_to_line(event);
	strbuf_addf(out, "%s: ", title);
	if (s.seconds > 0 || !q->event)
		strbuf_addf(out, "%.3f s, ", s.seconds);
	strbuf_add_grouped(out, q->samples);
	strbuf_addf(out, " %s of %s", text_counted(q->samples, "sample", "samples"), event);
	if (q->weight != q->samples) {
		strbuf_adds(out, " (");
		query_weight_text(q, q->weight, out);
		strbuf_adds(out, q->event ? ")" : " ticks)");
	}
	if (s.has_lost) {
		strbuf_adds(out, ", ");
		strbuf_add_grouped(out, s.lost);
		strbuf_adds(out, " lost");
	}
	if (s.has_whole)
		strbuf_addf(out, ", %.1f %% whole", 100 * s.whole);
	query_guesses_text(p, out);
	if (q->weight)
		strbuf_addf(out, ", %.1f %% named", 100 * s.named);
}

/* True if waits alone are selected: the CPU time of their rows is that of the code before them. */
static bool is_of_waits(const struct query *q)
{
	bool has_waits = false;

	for (stack_id id = 0; id < q->profile->stacks.rows.count; id++) {
		if (q->weights[id] && query_wait_of(q, id) == QUERY_RUNS)
			return false;
		has_waits |= q->weights[id] > 0;
	}
	return has_waits;
}

void query_summary_text(const struct query *q, struct strbuf *out)
{
	query_summary_samples(q, out);
	if (q->cpu_ns && !is_of_waits(q))
		strbuf_addf(out, "; ran %.3f s", (double)q->cpu_ns / 1e9);
	add_waits(q, out);
}

#define NAMES_MAX 5

static string_id name_of(const struct query_table *table, size_t row)
{
	const struct query_key *key = &table->keys->rows.items[table->rows.items[row].key];

	return table->keys->by == QUERY_BY_THREAD ? key->thread : key->process;
}

/* Different threads may have equal names. */
static bool is_repeated(const struct query_table *table, size_t row)
{
	for (size_t i = 0; i < row; i++) {
		if (name_of(table, i) == name_of(table, row))
			return true;
	}
	return false;
}

static void list_names(const struct query *q, enum query_by by, struct strbuf *names)
{
	struct query_table table;
	size_t count = 0;

	query_table_make(&table, q, by, NULL);
	for (size_t i = 0; i < table.rows.count && count < NAMES_MAX; i++) {
		const char *name = query_keys_text(table.keys, name_of(&table, i));

		if (*name && !is_repeated(&table, i))
			strbuf_addf(names, "%s%s", count++ ? ", " : "", name);
	}
	query_table_release(&table);
}

/* Returns false if there are no names. */
static bool hint(struct error *err, const struct profile *p, const struct query_filter *filter,
		 enum query_by by)
{
	_cleanup_(strbuf_release) struct strbuf names = {0};
	struct query q;

	if (query_select(&q, p, filter, NULL))
		return false;
	list_names(&q, by, &names);
	query_release(&q);
	if (names.size)
		error_hint(err, "the heaviest %s: %s",
			   by == QUERY_BY_THREAD ? "threads" : "processes", strbuf_text(&names));
	return names.size;
}

void heaviest_names_hint(struct error *err, const struct profile *p,
			 const struct query_filter *filter)
{
	struct query_filter wider = *filter;

	wider.thread = NULL;
	if (filter->thread && hint(err, p, &wider, QUERY_BY_THREAD))
		return;
	wider.process = NULL;
	if (filter->process)
		hint(err, p, &wider, QUERY_BY_PROCESS);
}
