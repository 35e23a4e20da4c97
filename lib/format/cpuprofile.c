/* SPDX-License-Identifier: MIT */
/*
 * V8's own format, used by node, deno and Chrome (--cpu-prof): a tree of functions, and one of its
 * nodes for each sample.
 */
#include "lib/format/format.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/format/foreign.h"
#include "lib/model/meaning/label_frames.h"

#define NO_NODE UINT32_MAX
#define INTERVAL_MIN_NS 1000
/* Shorter samples than this part of the mean do not count each for itself. */
#define SHORTEST 100

struct node {
	int64_t id;
	uint32_t parent; /* row of the parent, or NO_NODE */
	struct span children;
	int64_t parent_id; /* 0: no parent */
	frame_id frame;
	stack_id stack; /* valid once it is known */
	bool is_known;
};

struct v8_sample {
	uint64_t time;
	stack_id stack;
};

struct v8_reader {
	struct foreign f;
	struct json_cursor s; /* cursor over the whole text */
	VEC(struct node) nodes;
	struct index index; /* index of ids */
	VEC(uint32_t) path;
	VEC(double) deltas;
	VEC(struct v8_sample) samples;
};

static int damaged(struct error *err, const char *what)
{
	return error_text(err, -EBADMSG, "the CPU profile is damaged: %s", what);
}

INDEX_HAS(node_equal, struct v8_reader, nodes, id)

static uint32_t find_node(const struct v8_reader *r, int64_t id)
{
	return index_find(&r->index, hash_u64((uint64_t)id), node_equal, r, &id);
}

/* Lines and columns of the file count from 0. */
static uint32_t place(double number)
{
	return number >= 0 && number < INT32_MAX ? (uint32_t)number + 1 : 0;
}

static frame_id read_frame(struct v8_reader *r, struct span span)
{
	static const char *const names[] = {"functionName", "url", "lineNumber", "columnNumber",
					    NULL};
	const struct frame_category idle = {CATEGORY_IDLE, IDLE_OTHER};
	struct span spans[4] = {{0}};
	_cleanup_free_ char *name = NULL, *url = NULL;
	struct foreign_frame frame = {.module = NO_MODULE};

	if (span.end)
		json_cursor_find(json_cursor_within(&r->s, span), names, spans);
	name = json_members_text_at(&r->s, spans[0]);
	url = json_members_text_at(&r->s, spans[1]);
	if (strcmp(name, "(idle)") == 0)
		return label_frames_intern(r->f.profile,
					   strings_intern(&r->f.profile->strings, name), idle);
	frame.name = *name ? name : "(anonymous)";
	frame.file = url;
	frame.is_js = *url;
	if (*url) {
		frame.func_line = place(json_members_number_at(&r->s, spans[2]));
		frame.func_column = place(json_members_number_at(&r->s, spans[3]));
	}
	return foreign_frame(&r->f, &frame);
}

static void read_node(struct v8_reader *r, struct json_cursor s)
{
	static const char *const names[] = {"id", "callFrame", "children", "parent", NULL};
	struct span spans[4] = {{0}};
	struct node node = {.parent = NO_NODE};

	json_cursor_find(s, names, spans);
	node.id = (int64_t)json_members_number_at(&r->s, spans[0]);
	if (find_node(r, node.id) != INDEX_NONE)
		return;
	node.children = spans[2];
	node.parent_id = (int64_t)json_members_number_at(&r->s, spans[3]);
	node.frame = read_frame(r, spans[1]);
	index_add(&r->index, hash_u64((uint64_t)node.id), (uint32_t)r->nodes.count);
	vec_push(&r->nodes, node);
}

static int read_nodes(struct v8_reader *r, struct span span, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->s, span);

	json_for_each_element(&s, i)
		read_node(r, s);
	return s.failed ? damaged(err, "its nodes") : 0;
}

static void link_children(struct v8_reader *r, uint32_t parent)
{
	struct json_cursor s = json_cursor_within(&r->s, r->nodes.items[parent].children);

	if (!r->nodes.items[parent].children.end || json_cursor_peek(&s) != '[')
		return;
	json_for_each_element(&s, i) {
		uint32_t child = find_node(r, (int64_t)json_members_number(&s));

		if (child != INDEX_NONE)
			r->nodes.items[child].parent = parent;
	}
}

static void link_nodes(struct v8_reader *r)
{
	for (uint32_t i = 0; i < r->nodes.count; i++) {
		link_children(r, i);
		if (r->nodes.items[i].parent_id)
			r->nodes.items[i].parent = find_node(r, r->nodes.items[i].parent_id);
	}
}

/* Walks up to a node whose stack is known. A cycle ends at its start. */
static stack_id stack_of(struct v8_reader *r, uint32_t at)
{
	stack_id stack = NO_STACK;

	vec_clear(&r->path);
	for (; at != NO_NODE && !r->nodes.items[at].is_known; at = r->nodes.items[at].parent) {
		r->nodes.items[at].is_known = true;
		r->nodes.items[at].stack = NO_STACK;
		vec_push(&r->path, at);
	}
	if (at != NO_NODE)
		stack = r->nodes.items[at].stack;
	while (r->path.count) {
		struct node *node = &r->nodes.items[r->path.items[--r->path.count]];

		stack = stacks_intern(&r->f.profile->stacks, stack, node->frame);
		node->stack = stack;
	}
	return stack;
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

/* Collects the stacks of samples and their times, which do not fall. */
static int read_samples(struct v8_reader *r, struct span span, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->s, span);
	struct v8_sample sample = {0};
	double now = 0;
	uint64_t time;

	json_for_each_element(&s, i) {
		uint32_t node = find_node(r, (int64_t)json_members_number(&s));

		if (node == INDEX_NONE)
			return damaged(err, "a sample has an index out of range");
		now += i < r->deltas.count ? r->deltas.items[i] : 0;
		time = clock_time_from(now * 1000);
		if (time != CLOCK_NO_TIME && time > sample.time)
			sample.time = time;
		sample.stack = stack_of(r, node);
		vec_push(&r->samples, sample);
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

/* The time until the next sample. The last one lasts until the end, if that is known. */
static uint64_t length_of(const struct v8_reader *r, size_t i, uint64_t mean)
{
	uint64_t time = r->samples.items[i].time;

	if (i + 1 < r->samples.count)
		return r->samples.items[i + 1].time - time;
	if (r->f.stated.end)
		return r->f.stated.end > time ? r->f.stated.end - time : 0;
	return mean;
}

/* Ticks are as long as the shortest sample, within limits. */
static uint64_t find_interval(const struct v8_reader *r, uint64_t mean)
{
	uint64_t least = mean / SHORTEST > INTERVAL_MIN_NS ? mean / SHORTEST : INTERVAL_MIN_NS;
	uint64_t shortest = mean > least ? mean : least;

	for (size_t i = 0; i < r->samples.count; i++) {
		uint64_t length = length_of(r, i, mean);

		if (length && length < shortest)
			shortest = length > least ? length : least;
	}
	return shortest;
}

/* Each sample counts as long as it lasts. The rounding error goes to the next one. */
static void add_samples(struct v8_reader *r, thread_id thread)
{
	struct profile_meta *meta = &r->f.profile->meta;
	uint64_t mean = mean_delta(r), rest = 0;

	meta->interval_ns = r->deltas.count ? find_interval(r, mean) : mean;
	if (meta->interval_ns < mean)
		meta->sample_ticks = (mean + meta->interval_ns / 2) / meta->interval_ns;
	for (size_t i = 0; i < r->samples.count; i++) {
		const struct v8_sample *sample = &r->samples.items[i];
		uint64_t ticks = 1, length = length_of(r, i, mean) + rest;

		if (r->deltas.count) {
			ticks = (length + meta->interval_ns / 2) / meta->interval_ns;
			rest = length > ticks * meta->interval_ns
				       ? length - ticks * meta->interval_ns
				       : 0;
		}
		foreign_sample(&r->f, thread, 0, r->deltas.count ? sample->time : r->f.now,
			       sample->stack, ticks);
		foreign_pass(&r->f, ticks);
	}
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
	static const char *const names[] = {"nodes",	 "samples", "timeDeltas",
					    "startTime", "endTime", NULL};
	struct span spans[5] = {{0}};
	struct json_cursor whole;
	thread_id thread;
	int ret;

	json_cursor_init(&r->s, text, size);
	whole = r->s;
	json_cursor_skip(&whole);
	if (!json_cursor_end(&whole))
		return error_text(err, -EBADMSG, "invalid JSON at byte %zu", whole.at);
	if (!json_cursor_find(r->s, names, spans) || !spans[0].end || !spans[1].end)
		return error_text(err, -EBADMSG, "not a V8 CPU profile");
	ret = read_nodes(r, spans[0], err);
	if (ret)
		return ret;
	link_nodes(r);
	read_deltas(r, spans[2]);
	r->f.profile->meta.product = xstrdup("V8");
	read_end(r, spans[3], spans[4]);
	thread = foreign_thread(&r->f, 1, 1, "V8", "main", false);
	ret = read_samples(r, spans[1], err);
	if (!ret)
		add_samples(r, thread);
	if (r->f.stated.end && r->samples.count && vec_last(&r->samples).time > r->f.stated.end)
		r->f.stated.end = vec_last(&r->samples).time;
	return ret ? ret : foreign_finish(&r->f, r->deltas.count > 0, err);
}

static int cpuprofile_read(struct profile **p, const char *text, size_t size,
			   struct import_counts *counts, struct error *err)
{
	struct v8_reader r = {0};
	struct import_counts own;
	int ret;

	foreign_init(&r.f, counts, &own);
	ret = read_file(&r, text, size, err);
	if (!ret)
		*p = r.f.profile;
	foreign_release(&r.f, ret);
	vec_release(&r.nodes);
	index_release(&r.index);
	vec_release(&r.path);
	vec_release(&r.deltas);
	vec_release(&r.samples);
	return ret;
}

static bool cpuprofile_matches(const char *text, size_t size)
{
	static const char *const wanted[] = {"nodes", "timeDeltas", NULL};
	static const char *const others[] = {"meta", "threads", "shared", "profiles", NULL};

	return json_members_begin(text, size, wanted, others);
}

const struct format format_cpuprofile = {
	.name = "cpuprofile",
	.suffixes = (const char *const[]){NULL},
	.is_timeline = true,
	.matches = cpuprofile_matches,
	.read = cpuprofile_read,
};
