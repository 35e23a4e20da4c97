/* SPDX-License-Identifier: MIT */
/* Samples in traces: of V8's profiler, in chunks, and of other profilers, with stack frames. */
#include "lib/format/trace/trace_reader.h"

#define PROFILES_MAX 4096
/* Limit for the samples of all profiles. Further ones are counted. */
#define SAMPLES_MAX (1u << 23)
#define DEPTH_MAX 1024
#define INTERVAL_NS 1000000

/* Samples of a chunk. */
struct v8_chunk {
	uint64_t time;
	size_t first, count;
};

struct raw_sample {
	uint32_t node;
	int32_t delta; /* µs */
};

/*
 * Ids are unique within a process. A profile is recorded on its thread, its chunks on one of V8's
 * own.
 */
struct v8_profile {
	uint64_t key;
	uint32_t thread; /* INDEX_NONE: unknown */
	uint64_t start; /* CLOCK_NO_TIME: unknown */
	struct v8_tree tree;
	VEC(struct raw_sample) samples;
	VEC(struct v8_chunk) chunks;
};

static struct v8_profile *profile_of(struct trace_reader *r, const struct trace_event *e)
{
	struct span id = e->spans[TRACE_ID];
	uint64_t key = hash_bytes(e->s.text + id.start, id.end - id.start, trace_process_of(r, e));

	if (!id.end)
		key = hash_u64(trace_thread_of(r, e));

	vec_for_each(&r->profiles, struct v8_profile *, known) {
		if (known->key == key)
			return known;
	}
	if (r->profiles.count == PROFILES_MAX)
		return NULL;
	vec_push(&r->profiles,
		 (struct v8_profile){.key = key, .thread = INDEX_NONE, .start = CLOCK_NO_TIME});
	return &vec_last(&r->profiles);
}

/* Adds samples and, as far as present, the time before each. */
static void add_chunk_samples(struct trace_reader *r, struct v8_profile *profile,
			      const struct trace_event *e, struct span nodes, struct span deltas)
{
	struct json_cursor s = json_cursor_within(&e->s, nodes);
	struct json_cursor d = json_cursor_within(&e->s, deltas);
	struct v8_chunk chunk = {.time = e->time, .first = profile->samples.count};
	bool has_delta = deltas.end && json_cursor_peek(&d) == '[';
	size_t row = 0;

	json_for_each_element_if_any(&s, i) {
		struct raw_sample sample = {.node = (uint32_t)json_members_number(&s)};

		has_delta = has_delta && json_cursor_element(&d, row++);
		if (has_delta) {
			double delta = json_members_number(&d);

			sample.delta = delta > -1e9 && delta < 1e9 ? (int32_t)delta : 0;
		}
		if (r->sample_count == SAMPLES_MAX) {
			r->f.counts->unread[UNREAD_SAMPLES]++;
			continue;
		}
		r->sample_count++;
		vec_push(&profile->samples, sample);
	}
	chunk.count = profile->samples.count - chunk.first;
	vec_push(&profile->chunks, chunk);
}

/* A whole profile states when it began and ended: its first sample may be much later. */
static void include_range(struct trace_reader *r, const struct trace_event *e, struct span from,
			  struct span to)
{
	uint64_t start = from.end ? trace_ns(&e->s, from, TRACE_US) : CLOCK_NO_TIME;
	uint64_t end = to.end ? trace_ns(&e->s, to, TRACE_US) : CLOCK_NO_TIME;

	if (start == CLOCK_NO_TIME || end == CLOCK_NO_TIME || end < start)
		return;
	if (start < r->start)
		r->start = start;
	if (end > r->end)
		r->end = end;
}

/* Adds a chunk, or a profile, which may contain its samples. */
static void add_profile(struct trace_reader *r, const struct trace_event *e, bool is_chunk)
{
	static const char *const names[] = {"data", NULL};
	static const char *const members[] = {"startTime", "cpuProfile", "timeDeltas", NULL};
	static const char *const parts[] = {"nodes",	 "samples", "timeDeltas",
					    "startTime", "endTime", NULL};
	struct span data[1] = {{0}}, of_data[3] = {{0}}, of_profile[5] = {{0}};
	struct v8_profile *profile = profile_of(r, e);

	json_cursor_find(json_cursor_within(&e->s, e->spans[TRACE_ARGS]), names, data);
	if (!profile || !data[0].end)
		return;
	json_cursor_find(json_cursor_within(&e->s, data[0]), members, of_data);
	if (of_data[1].end)
		json_cursor_find(json_cursor_within(&e->s, of_data[1]), parts, of_profile);
	include_range(r, e, of_profile[3], of_profile[4]);
	if (!of_data[0].end)
		of_data[0] = of_profile[3];
	if (!is_chunk) {
		profile->thread = trace_thread_of(r, e);
		profile->start = of_data[0].end ? trace_ns(&e->s, of_data[0], TRACE_US) : e->time;
	}
	if (!of_data[1].end)
		return;
	if (of_profile[0].end)
		v8_tree_add(&profile->tree, &r->f, json_cursor_within(&e->s, of_profile[0]));
	if (of_profile[1].end)
		add_chunk_samples(r, profile, e, of_profile[1],
				  of_data[2].end ? of_data[2] : of_profile[2]);
	if (profile->thread == INDEX_NONE)
		profile->thread = trace_thread_of(r, e);
	r->has_samples |= profile->tree.nodes.count > 0;
}

ORDER(compare_chunks, struct v8_chunk, COMPARE(a->time, b->time) ?: COMPARE(a->first, b->first))

/*
 * Returns the start of the first sample's time: from the first chunk if the profile has no start.
 */
static uint64_t start_of(const struct v8_profile *profile)
{
	const struct v8_chunk *first = profile->chunks.items;
	int64_t start = (int64_t)profile->start;

	if (profile->start != CLOCK_NO_TIME || !profile->chunks.count ||
	    first->time == CLOCK_NO_TIME)
		return profile->start == CLOCK_NO_TIME ? 0 : profile->start;
	start = (int64_t)first->time;
	for (size_t i = first->first; i < first->first + first->count; i++)
		start -= (int64_t)profile->samples.items[i].delta * 1000;
	return start > 0 ? (uint64_t)start : 0;
}

/* Sorts samples by time and spaces them accordingly. */
static void order_samples(struct trace_reader *r, struct v8_profile *profile,
			  struct v8_samples *into)
{
	struct sample sample = {0};
	size_t count;
	int64_t now;

	/* The functions of a profile that began before the trace are unknown. */
	if (!profile->tree.nodes.count) {
		r->f.counts->unread[UNREAD_SAMPLES] += profile->samples.count;
		profile->chunks.count = 0;
	}
	vec_sort(&profile->chunks, compare_chunks);
	now = (int64_t)start_of(profile);
	vec_for_each(&profile->chunks, const struct v8_chunk *, chunk) {
		for (size_t i = chunk->first; i < chunk->first + chunk->count; i++) {
			const struct raw_sample *raw = &profile->samples.items[i];
			uint32_t row = v8_tree_find(&profile->tree, raw->node);

			now += (int64_t)raw->delta * 1000;
			if (now > 0 && clock_can_show((uint64_t)now) && (uint64_t)now > sample.time)
				sample.time = (uint64_t)now;
			sample.stack = row == INDEX_NONE
					       ? NO_STACK
					       : v8_tree_stack(&profile->tree, &r->f, row);
			samples_add(&into->rows, &sample);
		}
	}
	count = samples_count(&into->rows);
	if (count > 1)
		into->mean = (sample.time - samples_first_time(&into->rows)) / (count - 1);
	if (!into->mean)
		into->mean = INTERVAL_NS;
	if (sample.time > r->end)
		r->end = sample.time;
	vec_release(&profile->samples);
}

ORDER(compare_gaps, uint64_t, COMPARE(*a, *b))

/* Samples with stack frames do not state their interval: returns the usual time between them. */
static uint64_t usual_gap(const struct trace_reader *r)
{
	VEC(uint64_t) gaps = {0};
	uint64_t gap;

	vec_for_each(&r->f.profile->threads.rows, const struct profile_thread *, thread) {
		struct sample before = {.weight = 0};

		samples_for_each(&thread->samples, row) {
			if (before.weight && row->time > before.time && gaps.count < SAMPLES_MAX)
				vec_push(&gaps, (row->time - before.time) / before.weight);
			before = *row;
		}
	}
	vec_sort(&gaps, compare_gaps);
	gap = gaps.count ? gaps.items[gaps.count / 2] : 0;
	vec_release(&gaps);
	return gap && clock_can_show(gap) ? gap : INTERVAL_NS;
}

void trace_profiles_finish(struct trace_reader *r)
{
	VEC(struct v8_samples) all = {0};
	uint64_t *interval = &r->f.profile->meta.interval_ns;

	vec_for_each(&r->profiles, struct v8_profile *, profile) {
		struct v8_samples samples = {0};
		uint64_t shortest;

		order_samples(r, profile, &samples);
		shortest = v8_samples_interval(&samples);
		if (samples_count(&samples.rows) && (!*interval || shortest < *interval)) {
			*interval = shortest;
			r->f.profile->meta.sample_ticks = (samples.mean + shortest / 2) / shortest;
		}
		vec_push(&all, samples);
	}
	if (!*interval)
		*interval = usual_gap(r);
	for (size_t i = 0; i < all.count; i++) {
		uint32_t thread = r->profiles.items[i].thread;

		if (thread != INDEX_NONE && samples_count(&all.items[i].rows))
			v8_samples_add(&all.items[i], &r->f, trace_thread_use(r, thread), true);
		samples_release(&all.items[i].rows);
	}
	vec_release(&all);
}

void trace_profiles_release(struct trace_reader *r)
{
	vec_for_each(&r->profiles, struct v8_profile *, profile) {
		v8_tree_release(&profile->tree);
		vec_release(&profile->samples);
		vec_release(&profile->chunks);
	}
	vec_release(&r->profiles);
}

/* Stack frames by id, which refer to their callers. */

static string_id frame_key(struct trace_reader *r, const struct json_cursor *s, struct span span)
{
	if (span.end && s->text[span.start] == '"') {
		span.start++;
		span.end--;
	}
	return strings_intern_sized(&r->frame_keys, s->text + span.start, span.end - span.start);
}

stack_id trace_stack_of(struct trace_reader *r, const struct trace_event *e)
{
	struct span span = e->spans[TRACE_STACK_FRAME];
	string_id key;

	if (!span.end)
		return NO_STACK;
	r->needs_frames = true;
	if (!r->has_frames)
		return NO_STACK;
	key = frame_key(r, &e->s, span);
	return key < r->stacks.count ? r->stacks.items[key] : NO_STACK;
}

struct tree_frame {
	frame_id frame;
	string_id parent;
};

static struct tree_frame read_frame(struct trace_reader *r, struct json_cursor s)
{
	static const char *const names[] = {"name", "category", "parent", NULL};
	struct tree_frame row = {NO_FRAME, NO_STRING};
	_cleanup_(strbuf_release) struct strbuf text = {0};
	struct span spans[3] = {{0}};
	struct foreign_frame frame = {.module = NO_MODULE};

	json_cursor_find(s, names, spans);
	trace_text(&s, spans[0], &text);
	frame.name = text.size ? text.text : "(anonymous)";
	row.frame = foreign_frame(&r->f, &frame);
	if (spans[2].end)
		row.parent = frame_key(r, &s, spans[2]);
	return row;
}

bool trace_read_frames(struct trace_reader *r, struct json_cursor s)
{
	VEC(struct tree_frame) rows = {0};

	json_for_each_member_if_any(&s, key) {
		string_id id = frame_key(r, &s, key);

		while (rows.count <= id)
			vec_push(&rows, (struct tree_frame){NO_FRAME, NO_STRING});
		rows.items[id] = read_frame(r, s);
	}
	for (size_t i = 0; i < rows.count; i++) {
		frame_id path[DEPTH_MAX];
		stack_id stack = NO_STACK;
		size_t depth = 0;

		/* A cycle ends at the limit. */
		for (size_t at = i; at < rows.count && depth < DEPTH_MAX;
		     at = rows.items[at].parent) {
			if (rows.items[at].frame != NO_FRAME)
				path[depth++] = rows.items[at].frame;
		}
		while (depth)
			stack = stacks_intern(&r->f.profile->stacks, stack, path[--depth]);
		vec_push(&r->stacks, stack);
	}
	vec_release(&rows);
	r->has_frames = true;
	return !s.failed;
}

/* Weights other than 1 are amounts of the event whose name the sample has, such as cycles. */
static uint8_t sampled_event(struct trace_reader *r, const struct trace_event *e, double weight)
{
	_cleanup_(strbuf_release) struct strbuf name = {0};

	trace_text(&e->s, e->spans[TRACE_SAMPLED], &name);
	return weight > 1 && name.size ? foreign_event(&r->f, name.text) : 0;
}

/* Samples without a weight count once. */
static void add_tick(struct trace_reader *r, const struct trace_event *e)
{
	double weight = json_members_number_at(&e->s, e->spans[TRACE_WEIGHT]);
	uint32_t thread = trace_thread_of(r, e);

	if (!(weight >= 1) || weight > UINT32_MAX)
		weight = 1;
	if (thread == INDEX_NONE || e->time == CLOCK_NO_TIME)
		return;
	r->has_samples = true;
	foreign_sample(&r->f, trace_thread_use(r, thread), sampled_event(r, e, weight), e->time,
		       trace_stack_of(r, e), (uint64_t)weight);
}

void trace_add_sample(struct trace_reader *r, const struct trace_event *e)
{
	struct span name = e->spans[TRACE_NAME];

	if (span_is(&e->s, name, "\"Profile\"") || span_is(&e->s, name, TRACE_WHOLE_PROFILE))
		add_profile(r, e, false);
	else if (span_is(&e->s, name, "\"ProfileChunk\""))
		add_profile(r, e, true);
	else if (e->spans[TRACE_STACK_FRAME].end)
		add_tick(r, e);
	else
		r->f.counts->unread[UNREAD_SAMPLES]++;
}

bool trace_read_samples(struct trace_reader *r, struct json_cursor s)
{
	static const char *const names[] = {"ts", "pid", "tid", "sf", "weight", "name", NULL};
	static const uint8_t members[] = {TRACE_TIME,	     TRACE_PID,	   TRACE_TID,
					  TRACE_STACK_FRAME, TRACE_WEIGHT, TRACE_SAMPLED};

	json_for_each_element_if_any(&s, i) {
		struct trace_event e = {.s = s};
		struct span spans[6] = {{0}};

		json_cursor_find(s, names, spans);
		for (size_t at = 0; at < sizeof(members); at++)
			e.spans[members[at]] = spans[at];
		e.time = trace_ns(&s, spans[0], TRACE_US);
		if (e.time < r->start)
			r->start = e.time;
		add_tick(r, &e);
	}
	return !s.failed;
}
