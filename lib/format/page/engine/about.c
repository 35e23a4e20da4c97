/* SPDX-License-Identifier: MIT */
/* Threads over time, and what the profile says of itself. */
#include "lib/base/alloc.h"
#include "lib/format/page/engine/engine.h"
#include "lib/query/marker_rows.h"
#include "lib/query/timeline.h"

uint32_t EXPORT(page_thread_count)(void)
{
	return (uint32_t)engine.profile->threads.rows.count;
}

struct shown_thread {
	const char *name, *process;
	uint32_t pid, incarnation, tid, is_main;
	double start, end; /* ns since the profile's start; end 0: at the end */
	double weight; /* in the present selection */
};

static double since_start(uint64_t time)
{
	uint64_t start = engine.profile->meta.start_ns;

	return time > start ? (double)(time - start) : 0;
}

const struct shown_thread *EXPORT(page_thread)(uint32_t id)
{
	static struct shown_thread shown;
	const struct profile *p = engine.profile;
	const struct profile_thread *thread;

	if (id >= p->threads.rows.count)
		return NULL;
	thread = &p->threads.rows.items[id];
	shown = (struct shown_thread){
		.name = engine_shown(strings_get(&p->strings, thread->name), 0),
		.process = engine_shown(strings_get(&p->strings, thread->process_name), 1),
		.pid = thread->pid,
		.incarnation = thread->incarnation,
		.tid = thread->tid,
		.is_main = thread->is_main,
		.start = since_start(thread->start),
		.end = thread->end ? since_start(thread->end) : 0,
		.weight = (double)engine.query.thread_weights[id],
	};
	return &shown;
}

uint32_t EXPORT(page_timeline_kinds)(void)
{
	return query_timeline_kinds(&engine.query);
}

/* Returns the times of a thread, or of all: see struct query_timeline. */
const float *EXPORT(page_timeline)(uint32_t thread, double from, double until, uint32_t bins)
{
	static struct query_timeline timeline;

	if ((thread >= engine.profile->threads.rows.count && thread != NO_THREAD) || !bins ||
	    !(until >= from + 1))
		return NULL;
	query_timeline_release(&timeline);
	timeline.from = (uint64_t)from;
	timeline.until = (uint64_t)until;
	timeline.bins = bins;
	query_timeline_make(&timeline, &engine.query, thread);
	return timeline.times;
}

/* Returns the kinds of markers in each part of a time: see query_timeline_marks(). */
const uint8_t *EXPORT(page_timeline_marks)(uint32_t thread, double from, double until,
					   uint32_t bins)
{
	static uint8_t *marks;
	struct query_timeline timeline;

	if (!bins || !(until >= from + 1))
		return NULL;
	timeline = (struct query_timeline){
		.from = (uint64_t)from, .until = (uint64_t)until, .bins = bins};
	free(marks);
	marks = query_timeline_marks(&timeline, engine.profile, thread);
	return marks;
}

uint32_t EXPORT(page_counter_count)(void)
{
	return (uint32_t)engine.profile->counters.rows.count;
}

struct shown_counter {
	const char *name, *unit, *description;
	uint32_t pid, is_level, count;
};

const struct shown_counter *EXPORT(page_counter)(uint32_t id)
{
	static struct shown_counter shown;
	const struct profile *p = engine.profile;
	const struct counter *counter;
	string_id name;

	if (id >= p->counters.rows.count)
		return NULL;
	counter = &p->counters.rows.items[id];
	name = counter->label == NO_STRING ? counter->name : counter->label;
	shown = (struct shown_counter){
		.name = engine_shown(strings_get(&p->strings, name), 0),
		.unit = engine_shown(strings_get(&p->strings, counter->unit), 1),
		.description = engine_shown(strings_get(&p->strings, counter->description), 2),
		.pid = counter->pid,
		.is_level = counter->graph == COUNTER_LEVEL,
		.count = (uint32_t)counter->samples.count,
	};
	return &shown;
}

/* Returns the values of a counter in each part of a time: see query_timeline_counter(). */
const double *EXPORT(page_counter_values)(uint32_t id, double from, double until, uint32_t bins)
{
	static double *values;
	struct query_timeline timeline;

	if (id >= engine.profile->counters.rows.count || !bins || !(until >= from + 1))
		return NULL;
	timeline = (struct query_timeline){
		.from = (uint64_t)from, .until = (uint64_t)until, .bins = bins};
	free(values);
	values = query_timeline_counter(&timeline, engine.profile, id);
	return values;
}

uint32_t EXPORT(page_category_count)(void)
{
	return (uint32_t)engine.profile->categories.count;
}

const char *EXPORT(page_category)(uint32_t id)
{
	return engine_shown(category_name(engine.profile, (uint8_t)id), 0);
}

const char *EXPORT(page_category_color)(uint32_t id)
{
	return id < engine.profile->categories.count ? engine.profile->categories.items[id].color
						     : "";
}

/* Rows of the information about the recording: section, label, value, format; NULL at the end. */
const char *EXPORT(page_fact)(uint32_t id, unsigned int which)
{
	const struct profile_meta *meta = &engine.profile->meta;
	const struct profile_extra *row;

	if (id >= meta->extra.count)
		return NULL;
	row = &meta->extra.items[id];
	switch (which) {
	case 0:
		return engine_shown(row->section, 0);
	case 1:
		return engine_shown(row->label, 1);
	case 2:
		return engine_shown(row->value, 2);
	default:
		return row->format;
	}
}

/* Texts of struct profile_meta, in the order of META_TEXTS. */
const char *EXPORT(page_meta)(unsigned int which)
{
	const struct profile_meta *meta = &engine.profile->meta;
	const char *const texts[] = {
#define META_TEXT(member) meta->member,
		META_TEXTS
#undef META_TEXT
	};

	if (which >= sizeof(texts) / sizeof(texts[0]) || !texts[which])
		return "";
	return engine_shown(texts[which], 3);
}

/* Returns the text of a source file with that path; NULL: the profile has none. */
const char *EXPORT(page_source)(const char *path)
{
	const struct profile *p = engine.profile;

	vec_for_each(&p->source_files.rows, const struct source_file *, row) {
		if (row->text && !strcmp(strings_get(&p->strings, row->path), path))
			return row->text;
	}
	return NULL;
}

static struct marker_rows markers;

/* Lists the markers of the selection's threads and time; returns how many there are. */
uint32_t EXPORT(page_markers)(void)
{
	marker_rows_release(&markers);
	marker_rows_make(&markers, engine.profile, &engine.filter);
	return (uint32_t)markers.list.count;
}

struct shown_marker {
	const char *name, *fields;
	uint32_t thread, cause; /* cause: a stack or NO_STACK */
	double start, duration; /* ns, since the profile's start */
};

const struct shown_marker *EXPORT(page_marker)(uint32_t id)
{
	static struct shown_marker shown;
	const struct profile *p = engine.profile;
	const struct marker_row *row;
	char *fields;

	if (id >= markers.list.count)
		return NULL;
	row = &markers.list.items[id];
	fields = marker_fields_text(p, row->marker);
	shown = (struct shown_marker){
		.name = engine_shown(strings_get(&p->strings, row->marker->name), 4),
		.fields = engine_shown(fields ? fields : "", 5),
		.thread = (uint32_t)(row->thread - p->threads.rows.items),
		.cause = marker_cause(&p->markers, row->marker),
		.start = since_start(row->marker->start),
		.duration = (double)(row->marker->end - row->marker->start),
	};
	free(fields);
	return &shown;
}
