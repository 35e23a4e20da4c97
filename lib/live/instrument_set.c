/* SPDX-License-Identifier: MIT */
#include "lib/live/instrument_set.h"

/* Iterates over the requested instruments, as numbers in the table. */
#define for_each_instrument(s, i) \
	for (size_t i = 0; instruments[i]; i++) \
		if ((s)->states[i])

static void note_takers(struct instrument_set *s, size_t i)
{
	for (unsigned int kind = 0; kind < LIVE_REC_END - REC_LIVE; kind++) {
		if (!(instruments[i]->takes >> kind & 1))
			continue;
		s->takers[kind] = instruments[i];
		s->taker_states[kind] = s->states[i];
	}
}

static int configure(const struct instrument *row, void *state, struct programs_options *programs,
		     struct error *err)
{
	const struct programs_part object = {
		.open = row->open_object,
		.close = row->close_object,
		.ctx = state,
	};
	int code = row->configure ? row->configure(state, programs, err) : 0;

	if (!code && row->open_object)
		programs_add_part(programs, &object);
	return code;
}

int instrument_set_configure(struct instrument_set *s, struct programs_options *programs,
			     struct error *err)
{
	const struct instrument_settings *settings = s->live.settings;
	int code = 0;

	for (size_t i = 0; instruments[i] && !code; i++) {
		const struct instrument *row = instruments[i];

		if (row->is_wanted && !row->is_wanted(settings->rows[i]))
			continue;
		s->states[i] = row->create(&s->live, settings->rows[i]);
		note_takers(s, i);
		code = configure(row, s->states[i], programs, err);
	}
	return code;
}

void instrument_set_release(struct instrument_set *s)
{
	for_each_instrument(s, i) instruments[i]->destroy(s->states[i]);
	*s = (struct instrument_set){0};
}

int instrument_set_attach(struct instrument_set *s, struct error *err)
{
	int code = 0;

	for_each_instrument(s, i)
	{
		if (!code && instruments[i]->attach)
			code = instruments[i]->attach(s->states[i], err);
	}
	return code;
}

int instrument_set_open_cpu(struct instrument_set *s, const struct live_cpu *cpu, struct error *err)
{
	int code = 0;

	for_each_instrument(s, i)
	{
		if (!code && instruments[i]->open_cpu)
			code = instruments[i]->open_cpu(s->states[i], cpu, err);
	}
	if (code)
		instrument_set_close_cpu(s, cpu);
	return code;
}

void instrument_set_close_cpu(struct instrument_set *s, const struct live_cpu *cpu)
{
	for_each_instrument(s, i)
	{
		if (instruments[i]->close_cpu)
			instruments[i]->close_cpu(s->states[i], cpu);
	}
}

void instrument_set_announce(struct instrument_set *s, uint64_t time)
{
	s->live.begin_ns = time;
	for_each_instrument(s, i)
	{
		if (instruments[i]->announce)
			instruments[i]->announce(s->states[i]);
	}
}

int instrument_set_enable(struct instrument_set *s, bool enable, struct error *err)
{
	int code = 0;

	for_each_instrument(s, i)
	{
		int result = 0;

		if (instruments[i]->enable)
			result = instruments[i]->enable(s->states[i], enable, code ? NULL : err);
		if (!code)
			code = result;
	}
	return code;
}

void instrument_set_pause(struct instrument_set *s, bool pause)
{
	for_each_instrument(s, i)
	{
		if (instruments[i]->pause)
			instruments[i]->pause(s->states[i], pause);
	}
}

bool instrument_set_thin(struct instrument_set *s)
{
	bool is_thinner = false;

	for_each_instrument(s, i)
	{
		if (instruments[i]->thin)
			is_thinner |= instruments[i]->thin(s->states[i]);
	}
	return is_thinner;
}

bool instrument_set_take(struct instrument_set *s, const struct rec *rec)
{
	unsigned int kind = rec->kind - REC_LIVE;
	const struct instrument *taker;

	if (rec->kind < REC_LIVE || kind >= LIVE_REC_END - REC_LIVE)
		return false;
	taker = s->takers[kind];
	if (taker && taker->take)
		taker->take(s->taker_states[kind], rec);
	return true;
}

void instrument_set_count(struct instrument_set *s, uint64_t time)
{
	for_each_instrument(s, i)
	{
		if (instruments[i]->count)
			instruments[i]->count(s->states[i], time);
	}
}

void instrument_set_report(const struct instrument_set *s, const struct record_tally *tally,
			   struct report *report)
{
	for_each_instrument(s, i)
	{
		if (instruments[i]->report)
			instruments[i]->report(s->states[i], tally, report);
	}
}
