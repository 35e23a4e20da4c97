/* SPDX-License-Identifier: MIT */
#include "cmd/text/marker_listing.h"

#include <inttypes.h>

#include "lib/base/alloc.h"
#include "lib/query/marker_rows.h"

static uint64_t since_start(const struct profile *p, uint64_t time)
{
	return time < p->meta.start_ns ? 0 : time - p->meta.start_ns;
}

static void add_columns(struct listing *l, bool people)
{
	static const struct {
		const char *title, *key;
		enum listing_type type;
	} columns[] = {
		{"START", "start", LISTING_NUMBER}, {"DURATION", "duration", LISTING_NUMBER},
		{"MARKER", "marker", LISTING_TEXT}, {"THREAD", "thread", LISTING_TEXT},
		{"TID", "tid", LISTING_NUMBER},	    {"PROCESS", "process", LISTING_TEXT},
		{"PID", "pid", LISTING_TEXT},	    {"FIELDS", "fields", LISTING_TEXT},
	};

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		listing_add_column(l, people ? columns[i].title : columns[i].key, columns[i].type);
}

static char *seconds(uint64_t ns, bool people)
{
	return people ? xasprintf("%.6f s", (double)ns / 1e9)
		      : xasprintf("%.10g", (double)ns / 1e9);
}

static void add_row(struct listing *l, const struct profile *p, const struct marker_row *row,
		    bool people)
{
	const struct profile_thread *thread = row->thread;
	const struct marker *marker = row->marker;
	uint64_t lasts = marker->end - marker->start;

	listing_add_row(l, 0);
	listing_add_cell(l, seconds(since_start(p, marker->start), people));
	listing_add_cell(l, lasts || !people ? seconds(lasts, people) : NULL);
	listing_add_cell(l, xstrdup(strings_get(&p->strings, marker->name)));
	listing_add_cell(l, xstrdup(strings_get(&p->strings, thread->name)));
	listing_add_cell(l, xasprintf("%" PRIu32, thread->tid));
	listing_add_cell(l, xstrdup(strings_get(&p->strings, thread->process_name)));
	listing_add_cell(l, thread->incarnation ? xasprintf("%" PRIu32 ".%" PRIu32, thread->pid,
							    thread->incarnation)
						: xasprintf("%" PRIu32, thread->pid));
	listing_add_cell(l, marker_fields_text(p, marker));
}

size_t marker_listing(struct listing *l, const struct profile *p, const struct query_filter *filter,
		      const struct query_listing_options *options)
{
	struct marker_rows rows;
	size_t left_out = 0;

	marker_rows_make(&rows, p, filter);
	add_columns(l, options->for_people);
	vec_for_each(&rows.list, const struct marker_row *, row) {
		if (options->limit && l->depths.count >= options->limit)
			left_out++;
		else
			add_row(l, p, row, options->for_people);
	}
	marker_rows_release(&rows);
	return left_out;
}
