/* SPDX-License-Identifier: MIT */
#include "lib/recording/outcome_facts.h"

#include "lib/live/unwind_methods.h"
#include "lib/model/meaning/thread_times.h"
#include "lib/stream/record/records.h"
#include "lib/recording/meta.h"

static uint64_t throttled_ticks(const struct profile *p, uint64_t interval_ns)
{
	uint64_t ticks = 0;

	if (!interval_ns)
		return 0;
	vec_for_each(&p->cpu_losses, const struct cpu_losses *, cpu)
		ticks += cpu->throttled_ns / interval_ns;
	return ticks;
}

void outcome_facts_ask(struct report *report, const struct recorder *recorder,
		       const struct profile *p)
{
	_cleanup_free_ struct event_tally *events = xcalloc(p->events.rows.count + 1,
							    sizeof(*events));
	struct record_tally tally = {
		.ticks = p->stats.cpu_samples + losses_count(&p->stats, true),
		.events = events,
		.event_count = (uint32_t)p->events.rows.count,
	};
	struct recorder_info info;

	for (uint32_t i = 0; i < tally.event_count; i++) {
		const struct event_count *count = &p->events.rows.items[i];

		events[i] = (struct event_tally){
			.samples = count->samples,
			.weight = count->weight,
			.lost = count->lost,
			.throttled = count->throttled,
			.throttled_ns = count->throttled_ns,
		};
	}
	recorder_get_info(recorder, &info);
	tally.throttled_ticks = throttled_ticks(p, info.interval_ns);
	recorder_report(recorder, &tally, report);
}

static void add_settings(struct facts *f, const struct recorder_info *info)
{
	char interval[64];

	snprintf(interval, sizeof(interval), "%.6g ms", (double)info->interval_ns / 1e6);
	facts_text(f, FACT_RECORDED_WITH, NULL, "prof " PROF_VERSION);
	facts_text(f, FACT_INTERVAL_TEXT, NULL, interval);
	facts_count(f, FACT_CPUS, NULL, info->cpu_count);
	facts_count(f, FACT_RINGS, NULL, info->ring_bytes);
}

static void add_losses(struct facts *f, const struct profile_stats *stats,
		       const struct recorder_info *info)
{
	facts_count(f, FACT_LOST_SAMPLES, NULL, losses_count(stats, true));
	facts_count(f, FACT_LOST_EVENTS, NULL, losses_count(stats, false));
	for (unsigned int cause = 0; cause < LOST_CAUSE_COUNT; cause++)
		facts_count(f, loss_is_sample(cause) ? FACT_LOST_SAMPLES_BY : FACT_LOST_EVENTS_BY,
			    lost_cause_name(cause), stats->lost[cause]);
	facts_count(f, FACT_LATE_RECORDS, NULL, stats->late_records);
	facts_count(f, FACT_DROPPED_FILES, NULL, info->dropped_files);
}

uint64_t outcome_stacks(const struct profile_stats *stats)
{
	return stats->whole + stats->truncated + stats->broken + stats->unknown;
}

static void add_share(struct facts *f, enum fact_id id, uint64_t count, uint64_t of)
{
	if (of)
		facts_real(f, id, NULL, (double)count / (double)of);
}

static void add_stacks(struct facts *f, const struct profile_stats *stats,
		       enum recorder_unwind method)
{
	uint64_t of = outcome_stacks(stats);

	facts_text(f, FACT_UNWIND, NULL, unwind_method_name(method));
	facts_text(f, FACT_UNWIND_METHOD, NULL, unwind_method_text(method));
	if (unwind_method_tells_ends(method)) {
		add_share(f, FACT_WHOLE_SHARE, stats->whole, of);
		add_share(f, FACT_FINISHED_LATER_SHARE, stats->finished_later, of);
		add_share(f, FACT_GUESSED_SHARE, stats->guessed, of);
		add_share(f, FACT_BROKEN_SHARE, stats->broken, of);
		add_share(f, FACT_UNKNOWN_SHARE, stats->unknown, of);
	}
	if (method != RECORDER_UNWIND_NONE)
		add_share(f, FACT_TRUNCATED_SHARE, stats->truncated, of);
	facts_count(f, FACT_KERNEL_ONLY, NULL, stats->kernel_only);
	facts_count(f, FACT_EXITING, NULL, stats->exiting);
}

static void add_pause(uint64_t count, uint64_t duration_ns, struct strbuf *out)
{
	strbuf_addf(out, " for %.1f ms (%" PRIu64 " %s)", (double)duration_ns / 1e6, count,
		    text_counted(count, "time", "times"));
}

void throttling_describe(const struct profile *p, struct strbuf *out)
{
	vec_for_each(&p->cpu_losses, const struct cpu_losses *, row) {
		if (!row->throttled)
			continue;
		strbuf_addf(out, "%sCPU %u", out->size ? ", " : "", row->cpu);
		add_pause(row->throttled, row->throttled_ns, out);
	}
	vec_for_each(&p->events.rows, const struct event_count *, event) {
		if (!event->throttled)
			continue;
		strbuf_addf(out, "%s%s", out->size ? ", " : "",
			    event->name == NO_STRING ? "other events"
						     : strings_get(&p->strings, event->name));
		add_pause(event->throttled, event->throttled_ns, out);
	}
}

static void add_pauses(struct facts *f, const struct profile *p)
{
	_cleanup_(strbuf_release) struct strbuf text = {0}, cpus = {0};

	throttling_describe(p, &text);
	if (text.size)
		facts_text(f, FACT_NOT_SAMPLED, NULL, strbuf_text(&text));
	vec_for_each(&p->cpu_losses, const struct cpu_losses *, row)
		strbuf_addf(&cpus,
			    "%s{\"cpu\": %u, \"lost\": %" PRIu64 ", \"lost_events\": %" PRIu64
			    ", \"throttled\": %" PRIu64 ", \"throttled_ms\": %" PRIu64 ".%03" PRIu64
			    "}",
			    cpus.size ? ", " : "[", row->cpu, row->samples, row->events,
			    row->throttled, row->throttled_ns / 1000000,
			    row->throttled_ns / 1000 % 1000);
	strbuf_adds(&cpus, cpus.size ? "]" : "[]");
	facts_text(f, FACT_CPU_LOSSES, NULL, strbuf_text(&cpus));
}

void outcome_facts_add_end(struct facts *f, const struct profile *p, enum recorder_unwind unwind,
			   const struct recorder_info *info)
{
	add_settings(f, info);
	add_stacks(f, &p->stats, unwind);
	add_losses(f, &p->stats, info);
	add_pauses(f, p);
}

static double fitted_by(const struct wait_stats *stats)
{
	return stats->estimated_ns > 0 ? stats->fitted_ns / stats->estimated_ns - 1 : 0;
}

/* Probabilities in records have 32 bits; the maximum means 1. */
static double chance(const struct wait_stats *stats)
{
	return stats->chance_min ? ((double)stats->chance_min + 1) / 4294967296.0 : 1;
}

static uint64_t to_ms(uint64_t weight, uint64_t interval_ns)
{
	return (uint64_t)((double)weight * (double)interval_ns / 1e6 + 0.5);
}

static void add_wait_stacks(struct facts *f, const struct wait_stats *stats)
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

void outcome_facts_add_waits(struct facts *f, const struct profile *p)
{
	const struct wait_stats *stats = &p->stats.waits;
	struct wait_sums sums = wait_sums_of(p);
	uint64_t interval = p->meta.interval_ns, waits = (uint64_t)(stats->count + 0.5);

	/* An instrument's count takes precedence over this estimate. */
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
	facts_count(f, FACT_RAN, NULL, (wait_sums_ran(p) + 500000) / 1000000);
	facts_real(f, FACT_WAIT_CHANCE, NULL, chance(stats));
	facts_real(f, FACT_WAIT_FITTED, NULL, fitted_by(stats));
	facts_real(f, FACT_WAIT_FIT, NULL, 1 + fitted_by(stats));
	facts_count(f, FACT_LOST_WAITS, NULL, stats->lost + stats->lost_stacks);
	add_wait_stacks(f, stats);
	if (!sums.rows)
		facts_hide(f, FACT_SECTION_WAITS);
}
