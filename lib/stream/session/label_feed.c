/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/label_feed.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "lib/model/tables/schema_text.h"

/*
 * After this many intervals without a sample a marker ends: the thread did nothing. Each tick of a
 * thread that runs now and then would be a marker of its own with fewer.
 */
#define PAUSE_INTERVALS 10
/*
 * Markers begin and end this much before the samples that show them: readers that select samples by
 * markers have times with rounding errors.
 */
#define AHEAD_NS 1000

void label_feed_init(struct label_feed *f, struct tasks *tasks)
{
	*f = (struct label_feed){.tasks = tasks, .schema = NO_SCHEMA};
}

/* Numbers of the fields. */
enum {
	FIELD_LABELS,
	FIELD_SAMPLES, /* with these labels */
};

static schema_id add_schema(struct profile *p)
{
	static const struct marker_schema text = {
		.name = "labels",
		.label = "{marker.data.labels}",
		.shown = SHOWN_IN_CHART | SHOWN_IN_TABLE | SHOWN_IN_OVERVIEW,
		.fields =
			{
				[FIELD_LABELS] = {"labels", "Labels", FIELD_STRING, VALUE_UNKNOWN},
				[FIELD_SAMPLES] = {"samples", "Samples", FIELD_INTEGER,
						   VALUE_UNKNOWN},
			},
	};

	return schema_text_intern(&text, &p->markers.schemas, &p->strings);
}

void label_feed_release(struct label_feed *f)
{
	vec_release(&f->runs);
}

/* Ends the marker under way, `limit` at the latest; begins no other. */
static void end_marker(struct label_feed *f, thread_id thread, uint64_t limit)
{
	struct profile *p = f->tasks->profile;
	struct label_run *run = &f->runs.items[thread];
	uint64_t end = run->last + p->meta.interval_ns;
	struct marker marker;

	if (!run->samples)
		return;
	if (end > limit)
		end = limit > run->last ? limit : run->last;
	marker = markers_make(&p->markers, f->schema, tasks_time(f->tasks, run->first - AHEAD_NS),
			      tasks_time(f->tasks, end - AHEAD_NS));
	*marker_value(&p->markers, &marker, FIELD_LABELS) = marker_string(run->text);
	*marker_value(&p->markers, &marker, FIELD_SAMPLES) = marker_integer(run->samples);
	thread_add_marker(&f->tasks->threads, thread, &marker);
	run->samples = 0;
}

static int compare_labels(const void *a, const void *b)
{
	const struct rec_label *x = *(const struct rec_label *const *)a;
	const struct rec_label *y = *(const struct rec_label *const *)b;
	size_t size = x->key_size < y->key_size ? x->key_size : y->key_size;
	int order = memcmp(x->key, y->key, size);

	return order ? order : x->key_size - y->key_size;
}

/* Interns "key: value, …" by key, as pprof prints it: a map of Go has no order. */
static string_id intern(struct strings *strings, const struct rec_labels *rec)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	const struct rec_label *sorted[LABELS_MAX];

	for (size_t i = 0; i < rec->count; i++)
		sorted[i] = &rec->labels[i];
	qsort(sorted, rec->count, sizeof(*sorted), compare_labels);
	for (size_t i = 0; i < rec->count; i++) {
		const struct rec_label *label = sorted[i];

		strbuf_adds(&text, i ? ", " : "");
		strbuf_add(&text, label->key, label->key_size);
		strbuf_adds(&text, ": ");
		strbuf_add(&text, label->value, label->value_size);
		if (label->flags & LABEL_CUT)
			strbuf_adds(&text, "…");
	}
	if (rec->more)
		strbuf_addf(&text, " and %u more", rec->more);
	return text.size ? strings_intern_sized(strings, text.text, text.size) : NO_STRING;
}

void label_feed_labels(struct label_feed *f, const struct rec_labels *rec)
{
	string_id text = intern(&f->tasks->profile->strings, rec);
	thread_id thread = tasks_sampled(f->tasks, &rec->rec, 0);

	if (f->schema == NO_SCHEMA && text != NO_STRING)
		f->schema = add_schema(f->tasks->profile);
	while (f->runs.count <= thread)
		vec_push(&f->runs, (struct label_run){.text = NO_STRING});
	if (f->runs.items[thread].text == text)
		return;
	end_marker(f, thread, rec->rec.time);
	f->runs.items[thread].text = text;
}

void label_feed_sample(struct label_feed *f, const struct rec *rec)
{
	uint64_t pause = PAUSE_INTERVALS * f->tasks->profile->meta.interval_ns;
	struct label_run *run;
	thread_id thread;

	if (!f->runs.count)
		return;
	thread = tasks_sampled(f->tasks, rec, 0);
	if (thread >= f->runs.count || f->runs.items[thread].text == NO_STRING)
		return;
	run = &f->runs.items[thread];
	if (run->samples && rec->time > run->last + pause)
		end_marker(f, thread, rec->time);
	if (!run->samples)
		run->first = rec->time;
	run->last = rec->time;
	run->samples++;
}

void label_feed_finish(struct label_feed *f)
{
	for (thread_id thread = 0; thread < f->runs.count; thread++)
		end_marker(f, thread, f->tasks->profile->meta.end_ns);
}
