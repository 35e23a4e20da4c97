/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments.h"

#include "lib/live/instrument.h"

/* The table of instruments. */

/*
 * The clock comes first, because others use its interval. Sleepers and wakers are parts of waits.
 */
#define ROWS(row) \
	row(clock) row(events) row(tasks) row(modules) row(mappings) row(mapped_files) \
		row(code_files) row(waits) row(sleepers) WAKERS_PROBE(row, ) row(wakeups) \
			row(runtimes) MARKER_PROBES(row, ) row(spans) row(usdt) row(allocs) \
				row(pages) row(counters) row(background) row(cpu_limits) \
					row(own_cost)

#define DECLARE(name, ...) extern const struct instrument instrument_##name;
#define POINTER(name, ...) &instrument_##name,

ROWS(DECLARE)
const struct instrument *const instruments[] = {ROWS(POINTER) NULL};

_Static_assert(sizeof(instruments) / sizeof(*instruments) <= INSTRUMENTS_MAX + 1,
	       "all have a place for their settings");

void instrument_settings_init(struct instrument_settings *s)
{
	*s = (struct instrument_settings){0};
	for (size_t i = 0; instruments[i]; i++) {
		if (instruments[i]->shares)
			s->rows[i] = instrument_settings_of(s, instruments[i]->shares);
		else if (instruments[i]->settings_size)
			s->rows[i] = xcalloc(1, instruments[i]->settings_size);
	}
}

void instrument_settings_release(struct instrument_settings *s)
{
	for (size_t i = 0; instruments[i]; i++) {
		if (!instruments[i]->shares)
			free(s->rows[i]);
	}
	*s = (struct instrument_settings){0};
}

void *instrument_settings_of(const struct instrument_settings *s, const struct instrument *which)
{
	size_t i = 0;

	while (instruments[i] && instruments[i] != which)
		i++;
	return s->rows[i];
}

int instrument_settings_judge(const struct instrument_settings *s, struct error *err)
{
	int code = 0;

	for (size_t i = 0; instruments[i] && !code; i++) {
		if (instruments[i]->judge)
			code = instruments[i]->judge(s->rows[i], err);
	}
	return code;
}

struct preload instrument_settings_preload(const struct instrument_settings *s)
{
	struct preload preload = {0};

	for (size_t i = 0; instruments[i]; i++) {
		if (instruments[i]->preload && instruments[i]->is_wanted(s->rows[i]))
			instruments[i]->preload(s->rows[i], &preload);
	}
	return preload;
}

const struct instrument_option *instrument_option_at(size_t number, const struct instrument **owner)
{
	for (size_t i = 0; instruments[i]; i++) {
		const struct instrument_option *option = instruments[i]->options;

		for (; option && option->name; option++) {
			if (number-- == 0) {
				*owner = instruments[i];
				return option;
			}
		}
	}
	return NULL;
}

void report_release(struct report *r)
{
	vec_for_each(&r->features, char **, text)
		free(*text);
	vec_for_each(&r->lines, char **, text)
		free(*text);
	vec_for_each(&r->warnings, char **, text)
		free(*text);
	vec_release(&r->features);
	vec_release(&r->lines);
	vec_release(&r->warnings);
	facts_release(&r->facts);
}

void report_feature(struct report *r, const char *name)
{
	vec_push(&r->features, xstrdup(name));
}

void report_line(struct report *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vec_push(&r->lines, xvasprintf(fmt, args));
	va_end(args);
}

void report_warning(struct report *r, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vec_push(&r->warnings, xvasprintf(fmt, args));
	va_end(args);
}
