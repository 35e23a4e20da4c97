/* SPDX-License-Identifier: MIT */
#include "cmd/text/marker_listing.h"

#include <inttypes.h>

#include "lib/base/alloc.h"
#include "lib/base/text.h"

struct marker_row {
	const struct profile_thread *thread;
	const struct marker *marker;
};

struct marker_rows {
	VEC(struct marker_row) list;
};

static uint64_t since_start(const struct profile *p, uint64_t time)
{
	return time < p->meta.start_ns ? 0 : time - p->meta.start_ns;
}

static void collect(struct marker_rows *rows, const struct profile *p,
		    const struct query_filter *filter)
{
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		if (!query_selects_thread(p, thread, filter))
			continue;
		vec_for_each(&thread->markers, const struct marker *, marker) {
			if (since_start(p, marker->start) < filter->until &&
			    since_start(p, marker->end) >= filter->from)
				vec_push(&rows->list, (struct marker_row){thread, marker});
		}
	}
}

/* Markers of one time keep the order of the file. */
static int compare(const void *a, const void *b)
{
	const struct marker_row *x = a, *y = b;

	if (x->marker->start != y->marker->start)
		return x->marker->start < y->marker->start ? -1 : 1;
	return (x->marker > y->marker) - (x->marker < y->marker);
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

static void add_value(const struct profile *p, const struct marker_value *value,
		      struct strbuf *text)
{
	char bytes[32];

	switch (value->type) {
	case FIELD_STRING:
		strbuf_adds(text, strings_get(&p->strings, value->string));
		break;
	case FIELD_BYTES:
		text_format_bytes(bytes, sizeof(bytes), value->number);
		strbuf_adds(text, bytes);
		break;
	case FIELD_DURATION:
		strbuf_addf(text, "%.6g ms", (double)value->number / 1e6);
		break;
	case FIELD_TIME:
		strbuf_addf(text, "%.6f s", (double)since_start(p, value->number) / 1e9);
		break;
	case FIELD_PERCENTAGE:
		strbuf_addf(text, "%.4g %%", (double)value->number / 1e4);
		break;
	default:
		strbuf_addf(text, "%" PRId64, (int64_t)value->number);
	}
}

/* "sender: 12, size: 4 kB"; stacks are left out. */
static char *fields(const struct profile *p, const struct marker *marker)
{
	const struct schemas *schemas = &p->markers.schemas;
	const struct schema *schema = schemas_get(schemas, marker->schema);
	const struct schema_field *field = schema_fields(schemas, schema);
	struct strbuf text = {0};

	for (uint32_t i = 0; i < schema->field_count; i++) {
		const struct marker_value *value = marker_value(&p->markers, marker, i);
		string_id label = field[i].label == NO_STRING ? field[i].key : field[i].label;

		if (value->type == FIELD_NONE || value->type == FIELD_STACK)
			continue;
		strbuf_addf(&text, "%s%s: ", text.size ? ", " : "",
			    strings_get(&p->strings, label));
		add_value(p, value, &text);
	}
	return text.size ? strbuf_take(&text) : NULL;
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
	listing_add_cell(l, fields(p, marker));
}

size_t marker_listing(struct listing *l, const struct profile *p, const struct query_filter *filter,
		      const struct query_listing_options *options)
{
	struct marker_rows rows = {0};
	size_t left_out = 0;

	collect(&rows, p, filter);
	vec_sort(&rows.list, compare);
	add_columns(l, options->for_people);
	vec_for_each(&rows.list, const struct marker_row *, row) {
		if (options->limit && l->depths.count >= options->limit)
			left_out++;
		else
			add_row(l, p, row, options->for_people);
	}
	vec_release(&rows.list);
	return left_out;
}
