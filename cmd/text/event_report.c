/* SPDX-License-Identifier: MIT */
#include "cmd/text/event_report.h"

#include <inttypes.h>

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

void event_report_tell(struct facts *f, const struct profile *p)
{
	_cleanup_(strbuf_release) struct strbuf text = {0}, cpus = {0};

	event_report_throttling(p, &text);
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
