/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/marker_instrument.h"

#include "lib/base/option_value.h"
#include "lib/stream/record/records.h"

#define NS_PER_MS 1e6

bool marker_is_wanted(const void *settings)
{
	return ((const struct marker_settings *)settings)->is_wanted;
}

int marker_want(void *settings, const char *value, struct error *err)
{
	((struct marker_settings *)settings)->is_wanted = true;
	return 0;
}

int marker_want_long(void *settings, const char *option, const char *value, uint64_t default_ns,
		     struct error *err)
{
	struct marker_settings *s = settings;
	uint64_t min_ns = value ? 0 : default_ns;
	int code = 0;

	if (value && strcmp(value, "0") != 0)
		code = option_parse_time(option, value, NS_PER_MS, &min_ns, err);
	if (!code)
		*s = (struct marker_settings){.is_wanted = true, .min_ns = min_ns};
	return code;
}

void marker_announce(const struct live *live, const struct marker_schema *schema, uint32_t id)
{
	_cleanup_free_ struct rec_schema *rec = schema_record_new(schema, id, live->begin_ns);

	live->sink(live->ctx, &rec->rec);
}

struct marker_record marker_begin(uint32_t schema, const struct rec *rec,
				  const struct rec_marker_stack *cause)
{
	return (struct marker_record){
		.schema = schema,
		.cpu = rec->cpu,
		.pid = rec->pid,
		.tid = rec->tid,
		.start = rec->time,
		.end = rec->time,
		.cause = cause,
	};
}

void marker_send(const struct live *live, const struct marker_record *marker)
{
	_cleanup_free_ struct rec_marker *rec = marker_record_new(marker);

	live->sink(live->ctx, &rec->rec);
}

void marker_count(const struct live *live, uint64_t lost, uint64_t *before, uint64_t time)
{
	struct rec_lost rec = {.cause = LOST_EVENT, .count = lost - *before};

	if (!rec.count)
		return;
	*before = lost;
	record_init(&rec.rec, REC_LOST, sizeof(rec), time, 0, 0);
	live->sink(live->ctx, &rec.rec);
}

void marker_report(struct report *r, const char *name, const struct marker_facts *facts,
		   uint64_t sent, uint64_t lost)
{
	report_feature(r, name);
	facts_count(&r->facts, facts->sent, NULL, sent);
	facts_count(&r->facts, facts->lost, NULL, lost);
	report_line(r, "%s: %" PRIu64 ", %" PRIu64 " lost", name, sent, lost);
}

void marker_state_begin(struct marker_state *s, const struct marker_kind *kind,
			const void *settings)
{
	s->kind = kind;
	s->settings = settings;
	s->schema = instrument_new_schema(s->live);
}

void marker_state_announce(void *state)
{
	const struct marker_state *s = state;

	marker_announce(s->live, marker_schema(s->kind->schema), s->schema);
}

int marker_state_enable(void *state, bool enable, struct error *err)
{
	marker_state_pause(state, !enable);
	return 0;
}

void marker_state_pause(void *state, bool pause)
{
	const struct marker_state *s = state;

	s->kind->variables(s)->since = pause ? 0 : clock_monotonic_ns();
}

void marker_state_count(void *state, uint64_t time)
{
	struct marker_state *s = state;

	marker_count(s->live, s->kind->variables(s)->lost, &s->lost, time);
}

void marker_state_report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct marker_state *s = state;
	const struct marker_variables *variables = s->kind->variables(s);

	marker_report(r, s->kind->name, &s->kind->facts, variables->sent + s->added,
		      variables->lost);
}
