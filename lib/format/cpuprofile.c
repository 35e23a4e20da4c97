/* SPDX-License-Identifier: MIT */
/*
 * V8's own format, used by node, deno and Chrome (--cpu-prof): a tree of functions, and a node of
 * it for each sample. Before version 8 of V8, nodes contain their children, and samples have times
 * instead of the time between them.
 */
#include "lib/format/format.h"

#include <math.h>

#include "lib/format/v8_tree.h"

/* Bytes of a file that tell CPU profiles from heap profiles. */
#define HEAD_SIZE 4096

struct v8_reader {
	struct foreign f;
	struct json_cursor s; /* cursor over the whole text */
	struct json_ends *ends;
	struct v8_tree tree;
	VEC(double) deltas;
	uint64_t end; /* of the last sample that has a time */
	struct v8_samples samples;
};

static int damaged(struct error *err, const char *what)
{
	return error_text(err, -EBADMSG, "the CPU profile is damaged: %s", what);
}

static void read_deltas(struct v8_reader *r, struct span span)
{
	struct json_cursor s = json_cursor_within(&r->s, span);

	for (size_t i = 0; span.end && json_cursor_element(&s, i); i++) {
		double delta = json_members_number(&s);

		if (clock_time_from(fabs(delta) * 1000) == CLOCK_NO_TIME)
			delta = 0;
		vec_push(&r->deltas, delta);
	}
}

/* Reads times of samples; one more is the end of the last sample. */
static void read_times(struct v8_reader *r, struct span span)
{
	struct json_cursor s = json_cursor_within(&r->s, span);
	double before = 0, sum = 0;

	json_for_each_element_if_any(&s, i) {
		double time = json_members_number(&s), delta = i ? fabs(time - before) : 0;

		if (clock_time_from(delta * 1000) == CLOCK_NO_TIME)
			delta = 0;
		before = time;
		sum += delta;
		vec_push(&r->deltas, delta);
	}
	r->end = clock_time_from(sum * 1000);
}

/* Collects the stacks of samples and their ascending times. */
static int read_samples(struct v8_reader *r, struct span span, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->s, span);
	struct v8_sample sample = {0};
	double now = 0;
	uint64_t time;

	json_for_each_element(&s, i) {
		uint32_t node = v8_tree_find(&r->tree, (int64_t)json_members_number(&s));

		if (node == INDEX_NONE)
			return damaged(err, "a sample has an index out of range");
		now += i < r->deltas.count ? r->deltas.items[i] : 0;
		time = clock_time_from(now * 1000);
		if (time != CLOCK_NO_TIME && time > sample.time)
			sample.time = time;
		sample.stack = v8_tree_stack(&r->tree, &r->f, node);
		vec_push(&r->samples.rows, sample);
	}
	return s.failed ? damaged(err, "its samples") : 0;
}

static uint64_t mean_delta(const struct v8_reader *r)
{
	double sum = 0;
	uint64_t mean = 0;

	vec_for_each(&r->deltas, const double *, delta)
		sum += *delta > 0 ? *delta : 0;
	if (r->deltas.count)
		mean = clock_time_from(sum / (double)r->deltas.count * 1000);
	return mean ? mean : 1000000;
}

static void add_samples(struct v8_reader *r, thread_id thread)
{
	struct profile_meta *meta = &r->f.profile->meta;
	uint64_t mean = mean_delta(r);

	r->samples.mean = mean;
	r->samples.end = r->f.stated.end;
	meta->interval_ns = r->deltas.count ? v8_samples_interval(&r->samples) : mean;
	if (meta->interval_ns < mean)
		meta->sample_ticks = (mean + meta->interval_ns / 2) / meta->interval_ns;
	v8_samples_add(&r->samples, &r->f, thread, r->deltas.count > 0);
}

static void read_end(struct v8_reader *r, struct span start, struct span end)
{
	double length = json_members_number_at(&r->s, end) - json_members_number_at(&r->s, start);
	uint64_t time = clock_time_from(length * 1000);

	if (end.end && time != CLOCK_NO_TIME)
		r->f.stated.end = time;
}

static int read_file(struct v8_reader *r, const char *text, size_t size, struct error *err)
{
	static const char *const names[] = {"nodes",   "samples",    "timeDeltas", "startTime",
					    "endTime", "timestamps", "head",	   NULL};
	struct span spans[7] = {{0}};
	thread_id thread;
	int ret;

	ret = foreign_json(&r->s, text, size, r->ends, err);
	if (ret)
		return ret;
	if (!json_cursor_find(r->s, names, spans) || !spans[1].end)
		return error_text(err, -EBADMSG, "not a V8 CPU profile");
	if (!spans[0].end)
		spans[0] = spans[6];
	if (!spans[0].end)
		return error_text(err, -EBADMSG, "not a V8 CPU profile");
	if (!v8_tree_add(&r->tree, &r->f, json_cursor_within(&r->s, spans[0])))
		return damaged(err, "its nodes");
	r->f.profile->meta.product = xstrdup("V8");
	if (spans[5].end && !spans[2].end) {
		read_times(r, spans[5]);
		r->f.stated.end = r->end == CLOCK_NO_TIME ? 0 : r->end;
	} else {
		read_deltas(r, spans[2]);
		read_end(r, spans[3], spans[4]);
	}
	thread = foreign_thread(&r->f, 0, 0, "V8", "main", false);
	ret = read_samples(r, spans[1], err);
	if (!ret)
		add_samples(r, thread);
	if (r->f.stated.end && r->samples.rows.count &&
	    vec_last(&r->samples.rows).time > r->f.stated.end)
		r->f.stated.end = vec_last(&r->samples.rows).time;
	return ret ? ret : foreign_finish(&r->f, r->deltas.count > 0, err);
}

static int cpuprofile_read(struct profile **p, const char *text, size_t size,
			   struct import_counts *counts, struct error *err)
{
	_cleanup_free_ struct json_ends *ends = xcalloc(1, sizeof(*ends));
	struct v8_reader r = {.ends = ends};
	int ret;

	foreign_init(&r.f, counts);
	ret = read_file(&r, text, size, err);
	foreign_end(&r.f, ret, p);
	v8_tree_release(&r.tree);
	vec_release(&r.deltas);
	vec_release(&r.samples.rows);
	return ret;
}

static bool cpuprofile_matches(const char *text, size_t size)
{
	static const char *const wanted[] = {"nodes", "timeDeltas", NULL};
	static const char *const old[] = {"head", NULL};
	static const char *const others[] = {"meta",	 "threads",  "shared",
					     "profiles", "snapshot", NULL};
	static const char of_heap[] = "\"selfSize\"";

	return json_members_begin(text, size, wanted, others) ||
	       (json_members_begin(text, size, old, others) &&
		!memmem(text, size < HEAD_SIZE ? size : HEAD_SIZE, of_heap, strlen(of_heap)));
}

const struct format format_cpuprofile = {
	.name = "cpuprofile",
	.suffixes = (const char *const[]){NULL},
	.is_timeline = true,
	.matches = cpuprofile_matches,
	.read = cpuprofile_read,
};
