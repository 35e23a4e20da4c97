/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "lib/base/json/writer.h"
#include "lib/format/foreign.h"
#include "lib/format/format.h"

#define INTERVAL_MIN_NS 1000
#define INTERVAL_DEFAULT_NS 1000000

/* Function of samples without a stack in prof's own files, in which empty stacks are gaps. */
#define NO_STACK_NAME "(no frame)"

/* Samples of one profile: stacks and weights, or starts and ends of functions. */
struct part {
	struct span name, unit, start, samples, weights, events, end;
	double ns; /* ns per unit; 0: not a unit of time */
	string_id unit_id; /* equal for all units that can be added up */
	string_id thread;
	uint8_t event; /* 0: clock samples */
	uint32_t pid, tid; /* of prof's own files; tid also of py-spy's, or 0 */
	string_id process; /* of prof's own files, or NO_STRING */
};

static const char *const part_names[] = {"name",    "unit",   "startValue", "samples",
					 "weights", "events", "endValue",   NULL};

struct scope_reader {
	struct foreign f;
	struct json_cursor s; /* cursor over the whole text */
	VEC(frame_id) frames;
	VEC(struct part) parts;
	VEC(double) weights; /* weights of the current part */
	VEC(stack_id) open; /* functions that have not ended */
	double interval; /* minimum weight, or a part of it, ns */
	VEC(double) lengths; /* weights of samples that are times, ns */
	double time; /* sum of weights that are times, ns */
	size_t time_count; /* number of these weights; 0 if events measure some */
	bool has_events; /* some part has events, with weights that are times */
	bool has_times, is_own;
	size_t active; /* index of the part shown first */
	struct strings texts; /* distinct stacks as text: most samples repeat an earlier stack */
	VEC(stack_id) stacks; /* stack by text */
};

static int damaged(struct error *err, const char *what)
{
	return error_text(err, -EBADMSG, "not a speedscope profile: %s", what);
}

static void find_unit(struct scope_reader *r, struct part *part)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {
		{"nanoseconds", 1}, {"microseconds", 1e3}, {"milliseconds", 1e6}, {"seconds", 1e9}};
	_cleanup_free_ char *unit = json_members_text_at(&r->s, part->unit);

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(unit, units[i].name) == 0)
			part->ns = units[i].ns;
	}
	if (part->ns > 0)
		part->unit_id = strings_intern(&r->f.profile->strings, "nanoseconds");
	else
		part->unit_id = strings_intern(&r->f.profile->strings,
					       strcmp(unit, "none") == 0 ? "" : unit);
}

static void read_frame(struct scope_reader *r, struct json_cursor *s)
{
	static const char *const names[] = {"name", "file", "line", "col", NULL};
	struct span spans[4] = {{0}};
	_cleanup_free_ char *name = NULL, *file = NULL;
	struct foreign_frame frame = {.module = NO_MODULE};
	double line;

	json_cursor_find(*s, names, spans);
	frame.name = name = json_members_text_at(&r->s, spans[0]);
	frame.file = file = json_members_text_at(&r->s, spans[1]);
	line = json_members_number_at(&r->s, spans[2]);
	frame.func_line = line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
	if (!*name)
		frame.name = "(anonymous)";
	vec_push(&r->frames, r->is_own && strcmp(name, NO_STACK_NAME) == 0
				     ? NO_FRAME
				     : foreign_frame(&r->f, &frame));
}

static int read_frames(struct scope_reader *r, struct span shared, struct error *err)
{
	static const char *const names[] = {"frames", NULL};
	struct json_cursor s = json_cursor_within(&r->s, shared);
	struct span frames = {0};

	if (!shared.end || !json_cursor_find(s, names, &frames) || !frames.end)
		return damaged(err, "no shared frames");
	s = json_cursor_within(&r->s, frames);
	json_for_each_element(&s, i)
		read_frame(r, &s);
	return s.failed ? damaged(err, "damaged frames") : 0;
}

static void read_weights(struct scope_reader *r, const struct part *part)
{
	struct json_cursor s = json_cursor_within(&r->s, part->weights);

	vec_clear(&r->weights);
	for (size_t i = 0; part->weights.end && json_cursor_element(&s, i); i++)
		vec_push(&r->weights, json_members_number(&s));
}

static int find_parts(struct scope_reader *r, struct span profiles, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->s, profiles);

	json_for_each_element(&s, i) {
		struct part part = {.name = {0}};

		json_cursor_find(s, part_names, &part.name);
		find_unit(r, &part);
		vec_push(&r->parts, part);
		r->has_times |= part.ns > 0;
		read_weights(r, &part);
		vec_for_each(&r->weights, const double *, weight) {
			double ns = *weight * part.ns;

			if (ns >= INTERVAL_MIN_NS && (!(r->interval > 0) || ns < r->interval))
				r->interval = ns;
			if (ns > 0 && r->lengths.count < FOREIGN_LENGTHS_MAX)
				vec_push(&r->lengths, ns);
			r->time += ns > 0 ? ns : 0;
			r->time_count += ns > 0;
		}
		r->has_events |= part.events.end && part.ns > 0;
	}
	if (r->has_events)
		r->interval = INTERVAL_MIN_NS;
	else if (r->interval > 0)
		r->interval = foreign_interval(r->lengths.items, r->lengths.count, r->interval,
					       INTERVAL_MIN_NS);
	return s.failed ? damaged(err, "damaged profiles") : 0;
}

static bool have_one_unit(const struct scope_reader *r)
{
	return !vec_find(&r->parts, part, part->unit_id != r->parts.items[0].unit_id);
}

/* Cuts a number from the end of "text 12". Returns false, and cuts nothing, if there is none. */
static bool cut_id(char *text, uint32_t *id)
{
	char *blank = strrchr(text, ' ');
	const char *at = blank ? blank + 1 : text;
	uint64_t number;

	if (!blank || !text_scan_decimal(&at, text + strlen(text), &number) || *at ||
	    number > INT32_MAX)
		return false;
	*id = (uint32_t)number;
	*blank = '\0';
	return true;
}

/* Parses "process 12: thread 34", the name of a part in prof's own files. */
static void split_thread(struct scope_reader *r, struct part *part, char *name)
{
	struct strings *strings = &r->f.profile->strings;
	_cleanup_free_ char *copy = xstrdup(name);

	part->thread = strings_intern(strings, name);
	if (!cut_id(copy, &part->tid))
		return;
	for (char *at = copy; (at = strstr(at, ": ")); at++) {
		*at = '\0';
		if (cut_id(copy, &part->pid)) {
			part->process = strings_intern(strings, copy);
			part->thread = strings_intern(strings, at + 2);
			return;
		}
		*at = ':';
	}
}

/*
 * Parts in prof's own files are named "process 12: thread 34" and "process 12: thread 34, event".
 * Parts of the clock are in milliseconds.
 */
static void split_name(struct scope_reader *r, struct part *part, char *name)
{
	bool is_clock = part->ns >= 1e6 && part->ns <= 1e6, is_plain;
	_cleanup_free_ char *unit = json_members_text_at(&r->s, part->unit);
	char *comma = NULL;

	for (char *at = name; !is_clock && (at = strstr(at, ", ")); at++)
		comma = at;
	if (comma) {
		*comma = '\0';
		is_plain = strcmp(unit, "none") == 0;
		part->event = foreign_measure(&r->f, comma + 2, is_plain ? "" : unit,
					      is_plain ? 0 : EVENT_IS_EXACT);
		part->ns = 0;
	}
	split_thread(r, part, name);
}

/* Parses py-spy's 'Thread 12 "MainThread"'. */
static void split_py_spy(struct scope_reader *r, struct part *part, char *name)
{
	char *quote = strstr(name, " \"");

	if (!quote || !text_starts_with(name, "Thread ") || !text_ends_with(quote + 2, "\""))
		return;
	*quote = '\0';
	if (!cut_id(name, &part->tid))
		return;
	quote[strlen(quote + 1)] = '\0';
	part->thread = strings_intern(&r->f.profile->strings, quote + 2);
}

/*
 * Makes the part an event named after the part, unless that is a thread's name, and its unit. Times
 * are in ns. Two measures have different names.
 */
static void make_event(struct scope_reader *r, struct part *part, const char *name)
{
	const char *unit = strings_get(&r->f.profile->strings, part->unit_id);

	if (!*name)
		name = *unit ? unit : "samples";
	part->event = foreign_measure(&r->f, name, unit, EVENT_IS_EXACT);
}

/*
 * Parts of the same unit are threads, with clock samples if the unit is a time. Parts of several
 * units are measures that cannot be added; times become the clock if they are shown.
 */
static void name_part(struct scope_reader *r, struct part *part, bool has_one_unit)
{
	_cleanup_free_ char *name = json_members_text_at(&r->s, part->name);
	struct strings *strings = &r->f.profile->strings;
	bool is_count = !*strings_get(strings, part->unit_id);

	part->process = NO_STRING;
	part->thread = strings_intern(strings, *name ? name : "all");
	if (r->is_own) {
		split_name(r, part, name);
	} else if (part->ns > 0 ? r->parts.items[r->active].ns > 0 : has_one_unit && is_count) {
		part->event = 0;
		split_py_spy(r, part, name);
	} else {
		make_event(r, part, has_one_unit ? "" : name);
		if (!has_one_unit)
			part->thread = strings_intern(strings, "all");
	}
}

/* The event of the active part comes first, because it is shown. */
static void name_parts(struct scope_reader *r)
{
	struct event_counts *events = &r->f.profile->events;
	bool has_one_unit = have_one_unit(r);
	uint8_t shown;

	for (size_t i = 0; i < r->parts.count; i++)
		name_part(r, &r->parts.items[!i ? r->active : i - (i <= r->active)], has_one_unit);
	shown = r->parts.count ? r->parts.items[r->active].event : 0;
	if (shown)
		events->rows.items[shown].is_default = true;
}

/* Events belong to the row of the thread with that name. */
static uint32_t tid_of(const struct scope_reader *r, size_t number)
{
	const struct part *part = &r->parts.items[number];

	if (part->process != NO_STRING || part->tid)
		return part->tid;
	for (size_t i = 0; part->event && i < number; i++) {
		if (r->parts.items[i].thread == part->thread)
			return (uint32_t)i + 1;
	}
	return (uint32_t)number + 1;
}

/* The clock of a part. The rounding error of a sample is carried to the next one. */
struct scope_clock {
	const struct part *part;
	thread_id thread;
	double now, rest; /* now: ns; rest: remainder of an event in the file's unit */
};

/* Returns the time of the next sample. In a file with times, other measures have none. */
static uint64_t time_now(const struct scope_reader *r, const struct scope_clock *clock)
{
	return clock->part->ns > 0 || !r->has_times ? clock_time_from(clock->now) : CLOCK_NO_TIME;
}

static void add_sample(struct scope_reader *r, struct scope_clock *clock, stack_id stack,
		       double weight)
{
	const struct part *part = clock->part;
	double interval = (double)r->f.profile->meta.interval_ns;
	double unit = part->event ? 1 : interval;
	double amount = weight * (part->ns > 0 ? part->ns : unit);
	uint64_t count;

	if (!(amount > 0) || clock_time_from(amount) == CLOCK_NO_TIME) {
		r->f.counts->unread[UNREAD_WEIGHTS] += amount < 0 || amount > 0;
		return;
	}
	count = (uint64_t)((amount + clock->rest) / unit + 0.5);
	clock->rest += amount - (double)count * unit;
	foreign_sample(&r->f, clock->thread, part->event, time_now(r, clock), stack, count);
	/* Other events have no duration. */
	clock->now += part->event && !(part->ns > 0) ? interval : amount;
}

static bool make_stack(struct scope_reader *r, struct json_cursor s, stack_id *stack)
{
	int64_t frame;

	*stack = NO_STACK;
	json_for_each_element(&s, i) {
		if (!json_cursor_i64(&s, &frame) || frame < 0 || (uint64_t)frame >= r->frames.count)
			return false;
		if (r->frames.items[frame] != NO_FRAME)
			*stack = stacks_intern(&r->f.profile->stacks, *stack,
					       r->frames.items[frame]);
	}
	return !s.failed;
}

static bool read_stack(struct scope_reader *r, struct json_cursor *s, stack_id *stack)
{
	struct span value;
	string_id text;

	if (!json_cursor_value(s, &value))
		return false;
	text = strings_intern_sized(&r->texts, s->text + value.start, value.end - value.start);
	if (text == r->stacks.count) {
		if (!make_stack(r, json_cursor_within(s, value), stack))
			return false;
		vec_push(&r->stacks, *stack);
	}
	*stack = r->stacks.items[text];
	return true;
}

/* True for a time between samples of prof's own files, which has an empty stack. */
static bool is_gap(const struct scope_reader *r, const struct part *part, struct json_cursor s)
{
	struct span value;

	return r->is_own && part->ns > 0 && json_cursor_value(&s, &value) &&
	       value.end - value.start == 2 && !memcmp(s.text + value.start, "[]", 2);
}

static int read_samples(struct scope_reader *r, const struct part *part, struct scope_clock *clock,
			struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->s, part->samples);
	stack_id stack;

	read_weights(r, part);
	json_for_each_element(&s, i) {
		if (is_gap(r, part, s)) {
			clock->now += i < r->weights.count ? r->weights.items[i] * part->ns : 0;
			continue;
		}
		if (!read_stack(r, &s, &stack))
			return damaged(err, "a sample has an index out of range");
		add_sample(r, clock, stack, i < r->weights.count ? r->weights.items[i] : 1);
	}
	return s.failed ? damaged(err, "damaged samples") : 0;
}

static frame_id stack_frame(const struct scope_reader *r, stack_id stack)
{
	return r->f.profile->stacks.rows.items[stack].frame;
}

/* Starts or ends a function. The open functions get the time since the last event. */
static int take_event(struct scope_reader *r, struct json_cursor event, struct scope_clock *clock,
		      double *before, struct error *err)
{
	static const char *const names[] = {"type", "frame", "at", NULL};
	struct span spans[3] = {{0}};
	_cleanup_free_ char *type = NULL;
	stack_id top = r->open.count ? vec_last(&r->open) : NO_STACK;
	double frame, at;

	if (!json_cursor_find(event, names, spans))
		return damaged(err, "damaged event");
	type = json_members_text_at(&r->s, spans[0]);
	frame = json_members_number_at(&r->s, spans[1]);
	at = json_members_number_at(&r->s, spans[2]);
	if (clock_time_from(at * clock->part->ns) == CLOCK_NO_TIME)
		at = *before;
	if (top != NO_STACK)
		add_sample(r, clock, top, at - *before);
	else
		clock->now += (at - *before) * clock->part->ns;
	*before = at;
	if (!(frame >= 0) || frame >= (double)r->frames.count)
		return damaged(err, "an event has an index out of range");
	if (*type != 'O') {
		if (top == NO_STACK || stack_frame(r, top) != r->frames.items[(size_t)frame])
			return damaged(err, "a function ends that is not the innermost one");
		r->open.count--;
		return 0;
	}
	vec_push(&r->open,
		 stacks_intern(&r->f.profile->stacks, top, r->frames.items[(size_t)frame]));
	return 0;
}

static int read_events(struct scope_reader *r, const struct part *part, struct scope_clock *clock,
		       struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->s, part->events);
	double before = json_members_number_at(&r->s, part->start), end;
	int ret = 0;

	vec_clear(&r->open);
	for (size_t i = 0; !ret && json_cursor_element(&s, i); i++)
		ret = take_event(r, s, clock, &before, err);
	/* Functions may still be open at the end. */
	end = json_members_number_at(&r->s, part->end);
	if (!ret && r->open.count && clock_time_from(end * part->ns) != CLOCK_NO_TIME)
		add_sample(r, clock, vec_last(&r->open), fmax(end - before, 0));
	return !ret && s.failed ? damaged(err, "damaged events") : ret;
}

/* A part lasts from its start to its end, or to the end of its samples if that is later. */
static void include_range(struct scope_reader *r, const struct part *part, double now)
{
	uint64_t start = clock_time_from(json_members_number_at(&r->s, part->start) * part->ns);
	uint64_t end = clock_time_from(json_members_number_at(&r->s, part->end) * part->ns);
	uint64_t last = clock_time_from(now);

	if (!(part->ns > 0) || start == CLOCK_NO_TIME)
		return;
	if (!r->f.stated.end || start < r->f.stated.start)
		r->f.stated.start = start;
	if (end != CLOCK_NO_TIME && end > r->f.stated.end)
		r->f.stated.end = end;
	if (last != CLOCK_NO_TIME && last > r->f.stated.end)
		r->f.stated.end = last;
}

static int read_part(struct scope_reader *r, size_t number, struct error *err)
{
	const struct part *part = &r->parts.items[number];
	const struct strings *strings = &r->f.profile->strings;
	bool is_own = part->process != NO_STRING;
	struct scope_clock clock = {.part = part};
	int ret;

	clock.thread = foreign_thread(&r->f, is_own ? part->pid : 0, tid_of(r, number),
				      is_own ? strings_get(strings, part->process) : "speedscope",
				      strings_get(strings, part->thread), is_own);
	clock.now = json_members_number_at(&r->s, part->start) * part->ns;
	ret = part->events.end ? read_events(r, part, &clock, err)
			       : read_samples(r, part, &clock, err);
	if (!r->has_times && clock_can_show(time_now(r, &clock)) && time_now(r, &clock) > r->f.now)
		r->f.now = time_now(r, &clock);
	include_range(r, part, clock.now);
	return ret;
}

/* If weights are times, a sample represents their mean. Those of events are measured. */
static void set_sample_ticks(struct scope_reader *r)
{
	struct profile_meta *meta = &r->f.profile->meta;
	double ticks = r->time / (double)meta->interval_ns;

	if (r->has_events)
		meta->sample_ticks = EVENT_IS_EXACT;
	else if (!r->is_own && r->time_count && ticks / (double)r->time_count >= 1.5)
		meta->sample_ticks = (uint64_t)(ticks / (double)r->time_count + 0.5);
}

static int read_file(struct scope_reader *r, const char *text, size_t size, struct error *err)
{
	static const char *const names[] = {"shared",	"profiles", "name", "activeProfileIndex",
					    "exporter", NULL};
	struct span spans[5] = {{0}};
	_cleanup_free_ char *exporter = NULL;
	double active;
	int ret;

	ret = foreign_json(&r->s, text, size, NULL, err);
	if (ret)
		return ret;
	if (!json_cursor_find(r->s, names, spans) || !spans[1].end)
		return damaged(err, "no profiles");
	exporter = json_members_text_at(&r->s, spans[4]);
	r->is_own = strcmp(exporter, "prof") == 0;
	ret = read_frames(r, spans[0], err) ?: find_parts(r, spans[1], err);
	r->f.profile->meta.product = json_members_text_at(&r->s, spans[2]);
	r->f.profile->meta.interval_ns = r->interval > 0 && r->interval < 1e12
						 ? (uint64_t)r->interval
						 : INTERVAL_DEFAULT_NS;
	if (!*r->f.profile->meta.product) {
		free(r->f.profile->meta.product);
		r->f.profile->meta.product = xstrdup("speedscope");
	}
	active = json_members_number_at(&r->s, spans[3]);
	if (active > 0 && active < (double)r->parts.count)
		r->active = (size_t)active;
	set_sample_ticks(r);
	name_parts(r);
	for (size_t i = 0; i < r->parts.count && !ret; i++)
		ret = read_part(r, i, err);
	return ret ? ret : foreign_finish(&r->f, r->has_times, err);
}

static int speedscope_read(struct profile **p, const char *text, size_t size,
			   struct import_counts *counts, struct error *err)
{
	struct scope_reader r = {0};
	int ret;

	foreign_init(&r.f, counts);
	ret = read_file(&r, text, size, err);
	foreign_end(&r.f, ret, p);
	vec_release(&r.frames);
	vec_release(&r.parts);
	vec_release(&r.weights);
	vec_release(&r.lengths);
	vec_release(&r.open);
	strings_release(&r.texts);
	vec_release(&r.stacks);
	return ret;
}

/*
 * Implement struct format. Each profile of the file is a thread. Weights in a unit of time become
 * clock ticks at the rate of the shortest one; others make a profile without times.
 */
static bool speedscope_matches(const char *text, size_t size)
{
	static const char *const wanted[] = {"$schema", "profiles", NULL};
	static const char *const others[] = {"meta", "threads", "nodes", "libs", NULL};

	return json_members_begin(text, size, wanted, others);
}

/*
 * speedscope's own format: one profile per thread with its samples in time order, and one per other
 * event. Weights of the clock are milliseconds. Times without a sample of the clock have an empty
 * stack, so that samples stand at their times and the thread lasts as long as the recording.
 */

/* Functions with the same name and file are one. */
struct speedscope_frame {
	string_id name, file; /* ids in `strings` below */
	uint32_t line;
};

struct speedscope {
	const struct profile *profile;
	struct strings strings;
	VEC(struct speedscope_frame) frames;
	struct index index;
	uint32_t *of_frames; /* row by frame_id */
	uint32_t no_stack; /* row of samples without a stack */
	struct jsonw json;
};

INDEX_EQUAL(frame_equal, struct speedscope, frames,
	    a->name == b->name && a->file == b->file && a->line == b->line)

static uint32_t intern(struct speedscope *w, const struct speedscope_frame *frame)
{
	uint64_t hash = hash_pair(hash_pair(frame->name, frame->file), frame->line);
	uint32_t id = index_find(&w->index, hash, frame_equal, w, frame);

	if (id != INDEX_NONE)
		return id;
	id = (uint32_t)w->frames.count;
	vec_push(&w->frames, *frame);
	index_add(&w->index, hash, id);
	return id;
}

static string_id text_of(struct speedscope *w, string_id id)
{
	return strings_intern(&w->strings, strings_get(&w->profile->strings, id));
}

static struct speedscope_frame make_frame(struct speedscope *w, const struct frame *frame)
{
	const struct profile *p = w->profile;
	const struct func *func = frame->func == NO_FUNC ? NULL : &p->funcs.rows.items[frame->func];
	struct speedscope_frame row = {.file = NO_STRING};
	char address[32];

	if (func) {
		row.name = text_of(w, func->name);
		row.line = func->line;
	} else {
		snprintf(address, sizeof(address), "0x%" PRIx64,
			 modules_address(&p->modules, frame->module, frame->offset));
		row.name = strings_intern(&w->strings, address);
	}
	if (func && func->file != NO_SOURCE_FILE)
		row.file = text_of(w, p->source_files.rows.items[func->file].path);
	else if (frame->module != NO_MODULE)
		row.file = text_of(w, p->modules.rows.items[frame->module].name);
	return row;
}

static void make_frames(struct speedscope *w)
{
	const struct profile *p = w->profile;

	w->of_frames = xcalloc(p->frames.rows.count + 1, sizeof(*w->of_frames));
	for (frame_id id = 0; id < p->frames.rows.count; id++) {
		struct speedscope_frame row = make_frame(w, &p->frames.rows.items[id]);

		w->of_frames[id] = intern(w, &row);
	}
	w->no_stack = intern(
		w, &(struct speedscope_frame){.name = strings_intern(&w->strings, NO_STACK_NAME),
					      .file = NO_STRING});
}

static void write_raw(struct jsonw *w, const char *text)
{
	jsonw_raw_value(w, text, strlen(text));
}

static void write_number(struct jsonw *w, double value)
{
	char text[40];

	snprintf(text, sizeof(text), "%.12g", value);
	write_raw(w, text);
}

static void write_frames(struct speedscope *w)
{
	struct jsonw *json = &w->json;

	jsonw_member(json, "shared", object_begin);
	jsonw_member(json, "frames", array_begin);
	vec_for_each(&w->frames, const struct speedscope_frame *, frame) {
		jsonw_object_begin(json);
		jsonw_member(json, "name", cstring, strings_get(&w->strings, frame->name));
		if (frame->file != NO_STRING)
			jsonw_member(json, "file", cstring, strings_get(&w->strings, frame->file));
		if (frame->line) {
			jsonw_key(json, "line");
			write_number(json, frame->line);
		}
		jsonw_object_end(json);
	}
	jsonw_array_end(json);
	jsonw_object_end(json);
}

static void write_stack(struct speedscope *w, stack_id stack)
{
	const struct stack *stacks = w->profile->stacks.rows.items;
	VEC(uint32_t) path = {0};

	if (stack == NO_STACK)
		vec_push(&path, w->no_stack);
	for (; stack != NO_STACK; stack = stacks[stack].parent)
		vec_push(&path, w->of_frames[stacks[stack].frame]);
	jsonw_array_begin(&w->json);
	while (path.count) {
		char text[16];

		snprintf(text, sizeof(text), "%" PRIu32, path.items[--path.count]);
		write_raw(&w->json, text);
	}
	jsonw_array_end(&w->json);
	vec_release(&path);
}

static void write_samples(struct speedscope *w, const struct scope_rows *rows, double unit)
{
	jsonw_member(&w->json, "samples", array_begin);
	vec_for_each(&rows->list, const struct scope_row *, row) {
		if (row->is_gap)
			write_raw(&w->json, "[]");
		else
			write_stack(w, row->stack);
	}
	jsonw_array_end(&w->json);
	jsonw_member(&w->json, "weights", array_begin);
	vec_for_each(&rows->list, const struct scope_row *, row)
		write_number(&w->json, (double)row->weight * unit);
	jsonw_array_end(&w->json);
}

/* Times in milliseconds are the clock's. Sets the factor of weights. */
static const char *unit_of(const struct profile *p, uint8_t event, double *factor)
{
	double size;
	enum measure measure = event_measure(p, event, &size);

	*factor = measure == MEASURE_BYTES ? size : 1;
	if (measure != MEASURE_TIME)
		return measure == MEASURE_BYTES ? "bytes" : "none";
	if (event)
		return size < 1e3   ? "nanoseconds"
		       : size < 1e6 ? "microseconds"
		       : size < 1e9 ? "milliseconds"
				    : "seconds";
	*factor = size / 1e6;
	return "milliseconds";
}

static void write_profile(struct speedscope *w, const struct profile_thread *thread, uint8_t event)
{
	const struct profile *p = w->profile;
	const char *event_name = event ? strings_get(&p->strings, p->events.rows.items[event].name)
				       : "";
	bool is_time = !event && p->meta.interval_ns;
	bool has_times = is_time && !profile_fact(p, FACT_NO_TIMES, NULL);
	double unit, end;
	const char *unit_name = unit_of(p, event, &unit);
	struct scope_rows rows = {0};
	_cleanup_free_ char *name = xasprintf("%s %" PRIu32 ": %s %" PRIu32 "%s%s",
					      strings_get(&p->strings, thread->process_name),
					      thread->pid, strings_get(&p->strings, thread->name),
					      thread->tid, event ? ", " : "", event_name);

	jsonw_object_begin(&w->json);
	jsonw_member(&w->json, "type", cstring, "sampled");
	jsonw_member(&w->json, "name", cstring, name);
	jsonw_member(&w->json, "unit", cstring, unit_name);
	scope_rows_collect(&rows, p, thread, event, has_times);
	write_samples(w, &rows, unit);
	end = (double)rows.sum * unit;
	if (has_times && p->meta.end_ns > p->meta.start_ns)
		end = fmax(end, (double)(p->meta.end_ns - p->meta.start_ns) / 1e6);
	jsonw_key(&w->json, "startValue");
	write_number(&w->json, 0);
	jsonw_key(&w->json, "endValue");
	write_number(&w->json, end);
	jsonw_object_end(&w->json);
	vec_release(&rows.list);
}

static void write_profiles(struct speedscope *w)
{
	uint8_t shown = profile_first_event(w->profile);
	size_t count = 0, active = SIZE_MAX;

	jsonw_member(&w->json, "profiles", array_begin);
	vec_for_each(&w->profile->threads.rows, const struct profile_thread *, thread) {
		bool has[UINT8_MAX + 1] = {false};

		samples_for_each(&thread->samples, sample)
			has[sample->event] = true;
		for (size_t event = 0; event <= UINT8_MAX; event++) {
			if (!has[event] || (event && event >= w->profile->events.rows.count))
				continue;
			if (event == shown && active == SIZE_MAX)
				active = count;
			write_profile(w, thread, (uint8_t)event);
			count++;
		}
	}
	jsonw_array_end(&w->json);
	if ((shown || active) && active != SIZE_MAX)
		jsonw_member(&w->json, "activeProfileIndex", u64, active);
}

static int speedscope_write(const struct profile *p, const struct export_options *options,
			    struct outfile *out, struct export_counts *counts, struct error *err)
{
	struct speedscope w = {.profile = p};

	if (!p->threads.rows.count)
		return error_text(err, -ENODATA, "the recording has no threads");
	make_frames(&w);
	jsonw_init(&w.json, out);
	jsonw_object_begin(&w.json);
	jsonw_member(&w.json, "$schema", cstring,
		     "https://www.speedscope.app/file-format-schema.json");
	jsonw_member(&w.json, "exporter", cstring, "prof");
	jsonw_member(&w.json, "name", cstring, p->meta.product ? p->meta.product : "profile");
	write_frames(&w);
	write_profiles(&w);
	jsonw_object_end(&w.json);
	jsonw_release(&w.json);
	strings_release(&w.strings);
	vec_release(&w.frames);
	index_release(&w.index);
	free(w.of_frames);
	return 0;
}

const struct format format_speedscope = {
	.name = "speedscope",
	.suffixes = (const char *const[]){".speedscope.json", ".speedscope", NULL},
	.is_timeline = true,
	.is_plain = true,
	.matches = speedscope_matches,
	.read = speedscope_read,
	.write = speedscope_write,
};
