/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/model/tables/copy.h"
#include "lib/query/sanitize/internal.h"

/* Scrubs each text of a list by itself. */
static string_id sanitize_list(struct sanitizer *s, string_id id)
{
	const char *text = strings_get(&s->from->strings, id);
	size_t size = strings_size(&s->from->strings, id);
	_cleanup_(strbuf_release) struct strbuf list = {0};

	for (size_t at = 0; at < size; at++) {
		size_t length = strnlen(text + at, size - at);

		scrub_text(&s->scrubber, &list, text + at, length);
		at += length;
		if (at < size)
			strbuf_addch(&list, '\0');
	}
	return strings_intern_list(&s->into->strings, strbuf_text(&list), list.size);
}

static void copy_thread(struct sanitizer *s, thread_id id, uint32_t process)
{
	const struct profile_thread *from = &s->from->threads.rows.items[id];
	const struct copy_rules rules = {s, sanitize_no_text, NULL, sanitize_stack};
	struct profile_thread thread = copy_thread_row(from, &rules);
	struct profile_thread *into;

	thread.name = sanitize_thread_name(s, from, id + 1);
	thread.process_name = sanitize_process_name(s, from->process_name, process);
	if (from->arguments != NO_STRING && !s->options->removes[SANITIZE_ARGS])
		thread.arguments = sanitize_list(s, from->arguments);
	else
		s->counts->removed[SANITIZE_ARGS] += from->arguments != NO_STRING;
	s->counts->removed[SANITIZE_HOST] += from->process_label != NO_STRING;
	into = threads_get(&s->into->threads, threads_add(&s->into->threads, &thread));
	samples_for_each(&from->samples, sample) {
		struct sample copy = *sample;

		copy.stack = copy.stack == NO_STACK ? NO_STACK : s->stacks[copy.stack];
		samples_add(&into->samples, &copy);
	}
	vec_for_each(&from->allocations.rows, const struct allocation *, row)
		vec_push(&into->allocations.rows, copy_allocation_row(row, &rules));
	vec_for_each(&from->markers, const struct marker *, marker)
		sanitize_marker(s, marker, into);
}

static void copy_events(struct sanitizer *s)
{
	for (uint32_t i = 1; i < s->from->events.rows.count; i++) {
		struct event_count row = s->from->events.rows.items[i];

		row.name = sanitize_text(s, row.name);
		*event_counts_get(&s->into->events, i) = row;
	}
}

/* Others may have been named by whoever recorded. */
static bool is_known_counter(const struct sanitizer *s, string_id name)
{
	return name != NO_STRING && counter_is_own(strings_get(&s->from->strings, name));
}

static void copy_counters(struct sanitizer *s)
{
	uint32_t number = 0;

	vec_for_each(&s->from->counters.rows, const struct counter *, from) {
		bool is_known = is_known_counter(s, from->name);
		const struct copy_rules rules = {s, is_known ? sanitize_any_text : sanitize_no_text,
						 NULL, NULL};
		struct counter row = copy_counter_row(from, &rules);

		number++;
		s->counts->unknown += !is_known;
		if (!is_known) {
			row.name = row.label = sanitize_numbered(s, "counter", number);
			row.unit = sanitize_text(s, from->unit);
			row.color = sanitize_text(s, from->color);
		}
		vec_for_each(&from->samples, const struct counter_sample *, sample)
			vec_push(&row.samples, *sample);
		if (profile_counters_add(&s->into->counters, &row) == NO_COUNTER)
			vec_release(&row.samples);
	}
}

void sanitize_threads(struct sanitizer *s)
{
	const struct threads *threads = &s->from->threads;
	uint32_t process = 0;

	copy_events(s);
	for (thread_id id = 0; id < threads->rows.count; id++) {
		process += threads->rows.items[id].is_main;
		copy_thread(s, id, process);
	}
	copy_counters(s);
}
