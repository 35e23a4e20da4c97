/* SPDX-License-Identifier: MIT */
#include "cmd/text/event_report.h"

#include <inttypes.h>

#include "cmd/text/stats.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

static void describe_throttling(uint64_t count, uint64_t duration_ns, struct strbuf *out)
{
	strbuf_addf(out, " for %.1f ms (%" PRIu64 " %s)", (double)duration_ns / 1e6, count,
		    text_counted(count, "time", "times"));
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

static void set_throttled(json_t *object, uint64_t count, uint64_t duration_ns)
{
	stats_set(object, "throttled", count);
	stats_set_ms(object, "throttled_ms", duration_ns);
}

json_t *event_report_cpus(const struct profile *p)
{
	json_t *cpus = json_array();

	vec_for_each(&p->cpu_losses, const struct cpu_losses *, row) {
		json_t *cpu = json_object();

		stats_set(cpu, "cpu", row->cpu);
		stats_set(cpu, "lost", row->samples);
		stats_set(cpu, "lost_events", row->events);
		set_throttled(cpu, row->throttled, row->throttled_ns);
		json_array_append_new(cpus, cpu);
	}
	return cpus;
}

void event_report_add_extra(struct profile *p)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	event_report_throttling(p, &text);
	if (text.size)
		profile_add_extra(p, "Losses", "Not sampled", "string", strbuf_text(&text));
}
