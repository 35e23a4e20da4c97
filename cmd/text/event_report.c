/* SPDX-License-Identifier: MIT */
#include "cmd/text/event_report.h"

#include <inttypes.h>

#include "lib/base/cleanup.h"

/* What the profile has of an event of the recorder's. */
static struct event_count count_of(const struct profile *p, uint32_t event)
{
	return event < p->events.rows.count ? p->events.rows.items[event]
					    : (struct event_count){.name = NO_STRING};
}

/* How much of the time a counter counted: others may need the same hardware. */
static double running_share(const struct event_stats *stats)
{
	return stats->enabled_ns ? (double)stats->running_ns / (double)stats->enabled_ns : 1;
}

static void describe_event(const struct profile *p, const struct recorder_info *info,
			   uint32_t event, struct strbuf *out)
{
	struct event_count count = count_of(p, event);
	double share = running_share(&info->events[event]);

	strbuf_addf(out, "%" PRIu64 " in %" PRIu64 " %s", count.weight, count.samples,
		    count.samples == 1 ? "sample" : "samples");
	if (count.lost)
		strbuf_addf(out, ", %" PRIu64 " lost", count.lost);
	if (share < 0.999)
		strbuf_addf(out, ", counted %.1f %% of the time", 100 * share);
}

void event_report_describe(const struct profile *p, const struct recorder_info *info,
			   struct strbuf *out)
{
	for (uint32_t i = 1; i < info->event_count; i++) {
		strbuf_addf(out, "%s%s ", i > 1 ? "; " : "", info->events[i].name);
		describe_event(p, info, i, out);
	}
}

static void describe_throttling(uint64_t count, uint64_t duration_ns, struct strbuf *out)
{
	strbuf_addf(out, " for %.1f ms (%" PRIu64 " %s)", (double)duration_ns / 1e6, count,
		    count == 1 ? "time" : "times");
}

void event_report_throttling(const struct profile *p, struct strbuf *out)
{
	vec_for_each(&p->cpu_losses, const struct cpu_losses *, row) {
		if (!row->throttled)
			continue;
		strbuf_addf(out, "%sCPU %u", out->size ? ", " : "", row->cpu);
		describe_throttling(row->throttled, row->throttled_ns, out);
	}
	vec_for_each(&p->events.rows, const struct event_count *, event) {
		if (!event->throttled)
			continue;
		strbuf_addf(out, "%s%s", out->size ? ", " : "",
			    event->name == NO_STRING ? "other events"
						     : strings_get(&p->strings, event->name));
		describe_throttling(event->throttled, event->throttled_ns, out);
	}
}

static void set_integer(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static void set_throttled(json_t *object, uint64_t count, uint64_t duration_ns)
{
	set_integer(object, "throttled", count);
	json_object_set_new(object, "throttled_ms", json_real((double)(duration_ns / 1000) / 1000));
}

json_t *event_report_stats(const struct profile *p, const struct recorder_info *info)
{
	json_t *events = json_object();

	for (uint32_t i = 1; i < info->event_count; i++) {
		struct event_count count = count_of(p, i);
		json_t *event = json_object();

		set_integer(event, "samples", count.samples);
		set_integer(event, "weight", count.weight);
		set_integer(event, "lost", count.lost);
		set_integer(event, "left_over", info->events[i].left_over);
		set_throttled(event, count.throttled, count.throttled_ns);
		json_object_set_new(event, "running", json_real(running_share(&info->events[i])));
		json_object_set_new(events, info->events[i].name, event);
	}
	return events;
}

json_t *event_report_cpus(const struct profile *p)
{
	json_t *cpus = json_array();

	vec_for_each(&p->cpu_losses, const struct cpu_losses *, row) {
		json_t *cpu = json_object();

		set_integer(cpu, "cpu", row->cpu);
		set_integer(cpu, "lost", row->samples);
		set_integer(cpu, "lost_events", row->events);
		set_throttled(cpu, row->throttled, row->throttled_ns);
		json_array_append_new(cpus, cpu);
	}
	return cpus;
}

void event_report_add_extra(struct profile *p, const struct recorder_info *info)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	for (uint32_t i = 1; i < info->event_count; i++) {
		strbuf_reset(&text);
		describe_event(p, info, i, &text);
		profile_add_extra(p, "Events", info->events[i].name, "string", strbuf_text(&text));
	}
	strbuf_reset(&text);
	event_report_throttling(p, &text);
	if (text.size)
		profile_add_extra(p, "Losses", "Not sampled", "string", strbuf_text(&text));
}
