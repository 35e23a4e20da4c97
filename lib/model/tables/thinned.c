/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/thinned.h"

#include "lib/base/text.h"

#define CLOCK "samples and waits"

void thinned_add(struct profile *p, uint8_t event, uint64_t left_out, uint64_t weight)
{
	string_id name = event ? p->events.rows.items[event].name : NO_STRING;
	const char *of = name == NO_STRING ? CLOCK : strings_get(&p->strings, name);

	profile_add_count(p, FACT_LEFT_OUT, of, left_out);
	profile_add_count(p, FACT_LEAST_WEIGHT, of, weight);
}

uint64_t thinned_weight(const struct profile *p)
{
	const char *text = profile_fact(p, FACT_LEAST_WEIGHT, CLOCK);
	uint64_t weight;

	return text && text_to_u64(text, 10, &weight) && weight > 1 && weight <= UINT32_MAX ? weight
											    : 1;
}
