/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/sanitize/internal.h"

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
	struct profile_thread thread = {
		.pid = from->pid,
		.tid = from->tid,
		.incarnation = from->incarnation,
		.process_label = NO_STRING,
		.arguments = NO_STRING,
		.start = from->start,
		.end = from->end,
		.process_start = from->process_start,
		.process_end = from->process_end,
		.is_main = from->is_main,
		.is_folded = from->is_folded,
	};
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
	vec_for_each(&from->allocations.rows, const struct allocation *, row) {
		struct allocation copy = *row;

		copy.stack = copy.stack == NO_STACK ? NO_STACK : s->stacks[copy.stack];
		vec_push(&into->allocations.rows, copy);
	}
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
		struct counter row = *from;

		number++;
		s->counts->unknown += !is_known;
		row.name = is_known ? sanitize_text(s, from->name)
				    : sanitize_numbered(s, "counter", number);
		row.label = is_known ? sanitize_text(s, from->label) : row.name;
		row.category = is_known ? sanitize_text(s, from->category) : NO_STRING;
		row.description = is_known ? sanitize_text(s, from->description) : NO_STRING;
		row.unit = sanitize_text(s, from->unit);
		row.color = sanitize_text(s, from->color);
		memset(&row.samples, 0, sizeof(row.samples));
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
