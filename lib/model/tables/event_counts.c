/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/event_counts.h"

void event_counts_release(struct event_counts *c)
{
	vec_release(&c->rows);
}

struct event_count *event_counts_get(struct event_counts *c, uint32_t number)
{
	if (number >= EVENT_COUNTS_MAX)
		return NULL;
	while (c->rows.count <= number)
		vec_push(&c->rows, (struct event_count){.name = NO_STRING});
	return &c->rows.items[number];
}
