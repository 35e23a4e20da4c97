/* SPDX-License-Identifier: MIT */
#include "lib/profile/thinned.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/text.h"

#define SECTION "Recording"
#define WEIGHT "Least weight of a row"
#define CLOCK "samples and waits"

static void tell_number(struct profile *p, const char *what, uint8_t event, uint64_t number)
{
	string_id name = event ? p->events.rows.items[event].name : NO_STRING;
	char label[96], text[24];

	snprintf(label, sizeof(label), "%s: %s", what,
		 name == NO_STRING ? CLOCK : strings_get(&p->strings, name));
	snprintf(text, sizeof(text), "%" PRIu64, number);
	profile_add_extra(p, SECTION, label, "integer", text);
}

void thinned_tell(struct profile *p, uint8_t event, uint64_t left_out, uint64_t weight)
{
	tell_number(p, "Rows left out", event, left_out);
	tell_number(p, WEIGHT, event, weight);
}

uint64_t thinned_weight(const struct profile *p)
{
	uint64_t weight;

	vec_for_each(&p->meta.extra, const struct profile_extra *, extra) {
		if (strcmp(extra->section, SECTION) == 0 &&
		    strcmp(extra->label, WEIGHT ": " CLOCK) == 0 &&
		    text_to_u64(extra->value, 10, &weight) && weight > 1 && weight <= UINT32_MAX)
			return weight;
	}
	return 1;
}
