/* SPDX-License-Identifier: MIT */
#include "cmd/text/wait_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"

/* Subcategories with less than this share of the time blocked are not named. */
#define NAMED_PERCENT 10
#define NAMED_MAX 3

static double seconds(uint64_t weight, uint64_t interval_ns)
{
	return (double)weight * (double)interval_ns / 1e9;
}

/* Two digits, or one after the point. */
static int digits(double value)
{
	return value < 0.095 ? 3 : value < 0.95 ? 2 : 1;
}

static void add_seconds(struct strbuf *out, double value)
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
		add_seconds(out, seconds(sums->blocked_by[most], interval_ns));
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
	add_seconds(out, (double)ran_ns / 1e9);
	strbuf_adds(out, " s, blocked ");
	add_seconds(out, seconds(sums->blocked, interval_ns));
	strbuf_adds(out, " s");
	add_reasons(sums, interval_ns, out);
	if (sums->idle) {
		strbuf_adds(out, ", idle ");
		add_seconds(out, seconds(sums->idle, interval_ns));
		strbuf_adds(out, " s");
	}
	strbuf_adds(out, ", waited for a CPU ");
	add_seconds(out, seconds(sums->runnable, interval_ns));
	strbuf_adds(out, " s");
	/* Sums may be longer than the recording. */
	if (threads > 1) {
		strbuf_adds(out, ", added up over ");
		strbuf_add_grouped(out, threads);
		strbuf_adds(out, " threads");
	}
}

uint64_t wait_text_ran(const struct profile *p)
{
	uint64_t ran = 0;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		vec_for_each(&thread->samples, const struct sample *, sample)
			ran += sample->cpu_delta;
	}
	return ran;
}

static double fitted_by(const struct wait_stats *stats)
{
	return stats->estimated_ns > 0 ? stats->fitted_ns / stats->estimated_ns - 1 : 0;
}

/* Chances on the wire are numbers of 32 bits; one that is sure is the largest. */
static double chance(const struct wait_stats *stats)
{
	return stats->chance_min ? ((double)stats->chance_min + 1) / 4294967296.0 : 1;
}

static uint64_t to_ms(uint64_t weight, uint64_t interval_ns)
{
	return (uint64_t)(seconds(weight, interval_ns) * 1e3 + 0.5);
}

static void tell_stacks(struct facts *f, const struct wait_stats *stats)
{
	static const char *const names[STACK_CLASS_COUNT] = {
		[STACK_CLASS_WHOLE] = "whole",
		[STACK_CLASS_TRUNCATED] = "truncated",
		[STACK_CLASS_BROKEN] = "broken",
		[STACK_CLASS_UNKNOWN] = "unknown",
		[STACK_CLASS_KERNEL_ONLY] = "kernel_only",
		[STACK_CLASS_EXITING] = "exiting",
	};

	for (size_t i = 0; i < STACK_CLASS_COUNT; i++)
		facts_count(f, FACT_WAIT_STACKS, names[i], stats->classes[i]);
	facts_count(f, FACT_WAIT_STACKS, "lost", stats->lost_stacks);
}

void wait_text_tell(struct facts *f, const struct profile *p)
{
	const struct wait_stats *stats = &p->stats.waits;
	struct wait_sums sums = wait_sums_of(p);
	uint64_t interval = p->meta.interval_ns, waits = (uint64_t)(stats->count + 0.5);

	/* An instrument has counted what is an estimate here. */
	if (!facts_get(f, FACT_WAITS, NULL))
		facts_count(f, FACT_WAITS, NULL, waits);
	facts_count(f, FACT_WAITS_ESTIMATED, NULL, waits);
	facts_count(f, FACT_WAITS_SAMPLED, NULL, stats->sampled);
	facts_count(f, FACT_WAITS_LOST, NULL, stats->lost);
	facts_count(f, FACT_WAITS_UNENDED, NULL, stats->unended);
	facts_count(f, FACT_WAIT_ROWS, NULL, sums.rows);
	facts_count(f, FACT_IDLE, NULL, to_ms(sums.idle, interval));
	facts_count(f, FACT_BLOCKED, NULL, to_ms(sums.blocked, interval));
	facts_count(f, FACT_BLOCKED_TEXT, NULL, to_ms(sums.blocked, interval));
	facts_count(f, FACT_RUNNABLE, NULL, to_ms(sums.runnable, interval));
	facts_count(f, FACT_RAN, NULL, (wait_text_ran(p) + 500000) / 1000000);
	facts_real(f, FACT_WAIT_CHANCE, NULL, chance(stats));
	facts_real(f, FACT_WAIT_FITTED, NULL, fitted_by(stats));
	facts_real(f, FACT_WAIT_FIT, NULL, 1 + fitted_by(stats));
	facts_count(f, FACT_LOST_WAITS, NULL, stats->lost + stats->lost_stacks);
	tell_stacks(f, stats);
	if (!sums.rows)
		facts_hide(f, FACT_SECTION_WAITS);
}
