/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/waits/wait_markers.h"

#include <stdio.h>

#include "lib/stream/process/system_calls.h"
#include "lib/model/meaning/categories.h"
#include "lib/model/meaning/slow_waits.h"

/* "[read]" → "read" */
static string_id without_brackets(struct strings *strings, string_id label)
{
	const char *text = strings_get(strings, label);
	size_t size = strings_size(strings, label);

	return size > 2 ? strings_intern_sized(strings, text + 1, size - 2) : label;
}

/* "one of 12 like it" */
static string_id taken_text(struct strings *strings, const struct slow_wait *wait)
{
	char text[48];

	if (wait->taken == WAIT_STACK_NONE)
		return strings_intern(strings, "not at all");
	if (wait->taken == WAIT_STACK_BY_LENGTH || !wait->chance)
		return strings_intern(strings, "by length");
	snprintf(text, sizeof(text), "one of %.0f like it", 4294967296.0 / wait->chance);
	return strings_intern(strings, text);
}

static void set_values(struct profile *p, const struct marker *marker, const struct slow_wait *wait,
		       string_id label)
{
	struct marker_value *values = marker_value(&p->markers, marker, 0);
	string_id call = without_brackets(&p->strings, label);

	if (wait->reason.argument && system_call_takes_file(strings_get(&p->strings, call)))
		values[SLOW_WAIT_FD] = marker_integer(wait->reason.argument - 1);
	values[SLOW_WAIT_TAKEN] = marker_string(taken_text(&p->strings, wait));
	values[MARKER_SLOW_CALL_FIELD_COUNT] = marker_stack(wait->stack);
	values[MARKER_SLOW_CALL_FIELD_COUNT].time = wait->start;
	values[SLOW_WAIT_CALL] = marker_string(call);
}

void wait_markers_add(struct tasks *tasks, const struct slow_wait *wait)
{
	struct profile *p = tasks->profile;
	const struct frame *label = &p->frames.rows.items[p->stacks.rows.items[wait->stack].frame];
	string_id name = p->funcs.rows.items[label->func].name;
	struct marker marker;
	schema_id schema;

	/* The program's functions may yet tell that an event is a lock. */
	if (label->subcategory == IDLE_TIMER ||
	    (label->subcategory == IDLE_FOR_WORK && wait->taken == WAIT_STACK_NONE))
		return;
	schema = slow_waits_schema(p);
	if (schema == NO_SCHEMA)
		return;
	marker = markers_make(&p->markers, schema, wait->start, wait->end);
	set_values(p, &marker, wait, name);
	thread_add_marker(&tasks->threads, wait->thread, &marker);
}
