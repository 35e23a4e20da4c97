/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/allocs/alloc_settings.h"

#include <math.h>

#include "bpf/record.h"
#include "lib/base/option_value.h"
#include "lib/stream/record/records.h"

#define MEAN_DEFAULT (512u << 10)
#define PAGES "pages"

int alloc_settings_parse(struct alloc_settings *s, const char *value, struct error *err)
{
	static const struct size_range range = {1, 1u << 30, "1 and 1G"};
	const char *bytes = value;

	s->is_wanted = true;
	s->mean = MEAN_DEFAULT;
	s->has_pages = value && text_starts_with(value, PAGES);
	if (s->has_pages)
		bytes += sizeof(PAGES) - 1;
	if (s->has_pages && *bytes == ':')
		bytes++;
	else if (s->has_pages && !*bytes)
		bytes = NULL;
	return bytes ? option_parse_size("--alloc", bytes, &range, &s->mean, err) : 0;
}

void alloc_settings_sampling(const struct alloc_settings *settings, struct alloc_sampling *s)
{
	s->mean = settings->mean;
	for (int i = 0; i <= ALLOC_LOG_STEPS; i++)
		s->log2[i] = (uint32_t)(log2(1 + (double)i / ALLOC_LOG_STEPS) * (1 << 26));
	s->weights[0] = 1 << 20;
	for (int i = 1; i <= ALLOC_WEIGHT_STEPS; i++) {
		double x = (double)i * ALLOC_WEIGHT_MAX / ALLOC_WEIGHT_STEPS;

		s->weights[i] = (uint32_t)(x / -expm1(-x) * (1 << 20));
	}
}

void alloc_settings_announce(const struct alloc_settings *s, const struct live *live)
{
	struct rec_setting rec = {.setting = SETTING_HELD_ONLY, .value = 1};

	if (!s->held_only)
		return;
	record_init(&rec.rec, REC_SETTING, sizeof(rec), live->begin_ns, 0, 0);
	live->sink(live->ctx, &rec.rec);
}
