/* SPDX-License-Identifier: MIT */
#include "cmd/text/instrument_report.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/text/loss_counts.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"

static uint64_t throttled_ticks(const struct profile *p, uint64_t interval_ns)
{
	uint64_t ticks = 0;

	if (!interval_ns)
		return 0;
	vec_for_each(&p->cpu_losses, const struct cpu_losses *, cpu)
		ticks += cpu->throttled_ns / interval_ns;
	return ticks;
}

void instrument_report_ask(struct report *report, const struct recorder *recorder,
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

static json_t *value_of(const struct report_stat *row)
{
	switch (row->type) {
	case REPORT_INTEGER:
		return json_integer((json_int_t)row->integer);
	case REPORT_MS:
		return json_real((double)(row->integer / 1000) / 1000);
	case REPORT_REAL:
		return json_real(row->real);
	case REPORT_TEXT:
		return json_string(row->text);
	case REPORT_OBJECT:
		break;
	}
	return json_object();
}

/* Returns the object with that name; creates it if necessary. */
static json_t *enter(json_t *root, const char *name)
{
	json_t *object = name ? json_object_get(root, name) : root;

	if (!object) {
		object = json_object();
		json_object_set_new(root, name, object);
	}
	return object;
}

/* Adds the rows that follow this key, and recursively their followers. */
static void add_stats(json_t *root, const struct report *report, const char *after)
{
	bool follows = false;

	vec_for_each(&report->stats, const struct report_stat *, row) {
		if (row->after)
			follows = strcmp(row->after, after) == 0;
		if (!follows)
			continue;
		json_object_set_new(enter(enter(root, row->object), row->member), row->key,
				    value_of(row));
		if (!row->object)
			add_stats(root, report, row->key);
	}
}

json_t *instrument_report_stats(json_t *own, const struct report *report)
{
	json_t *all = json_object(), *value;
	const char *key;

	json_object_foreach(own, key, value)
	{
		/* An instrument has counted what is otherwise an estimate. */
		if (!json_object_get(all, key))
			json_object_set(all, key, value);
		add_stats(all, report, key);
	}
	return all;
}

static void add_extras(struct profile *p, const struct report *report, const char *after)
{
	bool follows = false;

	vec_for_each(&report->extras, const struct report_extra *, row) {
		if (row->after)
			follows = strcmp(row->after, after) == 0;
		if (follows)
			profile_add_extra(p, row->section, row->label, row->format, row->text);
	}
}

void instrument_report_extras(struct profile *p, const struct report *report)
{
	__typeof__(p->meta.extra) own = p->meta.extra;

	p->meta.extra = (__typeof__(own)){0};
	vec_for_each(&own, const struct profile_extra *, row) {
		vec_push(&p->meta.extra, *row);
		add_extras(p, report, row->label);
	}
	vec_release(&own);
}
