/* SPDX-License-Identifier: MIT */
/*
 * Trace events as written by Chrome, node, clang, PyTorch, Bazel, viztracer, py-spy and others: a
 * JSON array of events, or an object that contains one.
 */
#include "lib/base/infile.h"
#include "lib/format/trace/trace_reader.h"

#include <math.h>

/* Wall clock times are later than this: 2001. */
#define WALL_CLOCK_MIN_NS 1000000000000000000ull
#define SECTION "Trace"

/* The window over the text. */

#define WINDOW_SIZE ((size_t)1 << 20)
/* Maximum size of a value. */
#define WINDOW_MAX ((size_t)64 << 20)
/* The window moves when less than this is left of it. */
#define LEFT_MIN ((size_t)1 << 15)

static void trace_input_of_text(struct trace_input *in, const char *text, size_t size)
{
	*in = (struct trace_input){.fd = -1, .size = size};
	json_cursor_init(&in->s, text, size);
}

static void trace_input_of_file(struct trace_input *in, int fd, uint64_t size)
{
	*in = (struct trace_input){.fd = fd, .size = size, .room = WINDOW_SIZE};
	in->buffer = xmalloc(in->room);
	json_cursor_init(&in->s, in->buffer, 0);
}

static void trace_input_release(struct trace_input *in)
{
	free(in->buffer);
}

/* Returns to the start. */
static void trace_input_rewind(struct trace_input *in)
{
	in->s.at = 0;
	in->s.failed = false;
	if (in->fd >= 0)
		in->s.size = in->base = 0;
}

/* Drops the bytes before the next one, and fills the window. */
static bool fill(struct trace_input *in)
{
	size_t left = in->s.size - in->s.at;
	ssize_t got;

	memmove(in->buffer, in->buffer + in->s.at, left);
	in->base += in->s.at;
	got = read_at(in->fd, in->buffer + left, in->room - left, in->base + left);
	in->s.text = in->buffer;
	in->s.at = 0;
	in->s.size = left + (size_t)MAX(got, 0);
	return got > 0;
}

/* Reads more. Returns false if nothing follows the window, or a value is too large for it. */
static bool trace_input_more(struct trace_input *in)
{
	if (in->fd < 0 || in->base + in->s.size >= in->size)
		return false;
	if (!in->s.at && in->s.size == in->room) {
		if (in->room >= WINDOW_MAX)
			return false;
		in->room *= 2;
		in->buffer = xrealloc(in->buffer, in->room);
	}
	return fill(in);
}

/* Skips white space and these characters. Returns the next one without consuming it; '\0': none. */
static char trace_input_next(struct trace_input *in, const char *skipped)
{
	struct json_cursor *s = &in->s;

	if (s->size - s->at < LEFT_MIN)
		trace_input_more(in);
	if (in->fd < 0 && s->at - in->passed >= WINDOW_SIZE) {
		in->passed = s->at;
		infile_pass(s->text + s->at);
	}
	for (;;) {
		while (s->at < s->size &&
		       (strchr(" \n\r\t", s->text[s->at]) || strchr(skipped, s->text[s->at])) &&
		       s->text[s->at])
			s->at++;
		if (s->at < s->size)
			return s->text[s->at];
		if (!trace_input_more(in))
			return '\0';
	}
}

size_t trace_input_copy(const struct trace_input *in, uint64_t offset, char *to, size_t size)
{
	ssize_t got;

	if (offset >= in->size)
		return 0;
	if (in->fd >= 0) {
		got = read_at(in->fd, to, size, offset);
		return (size_t)MAX(got, 0);
	}
	if (size > in->size - offset)
		size = (size_t)(in->size - offset);
	memcpy(to, in->s.text + offset, size);
	return size;
}

/* Events. */

#define MEMBER(name) name, sizeof(name) - 1

static const struct {
	const char *name;
	size_t size;
	enum trace_member member;
} member_names[] = {
	{MEMBER("ph"), TRACE_PHASE},	  {MEMBER("name"), TRACE_NAME},
	{MEMBER("cat"), TRACE_CATEGORY},  {MEMBER("ts"), TRACE_TIME},
	{MEMBER("dur"), TRACE_DURATION},  {MEMBER("pid"), TRACE_PID},
	{MEMBER("tid"), TRACE_TID},	  {MEMBER("id"), TRACE_ID},
	{MEMBER("id2"), TRACE_ID2},	  {MEMBER("scope"), TRACE_SCOPE},
	{MEMBER("args"), TRACE_ARGS},	  {MEMBER("sf"), TRACE_STACK_FRAME},
	{MEMBER("weight"), TRACE_WEIGHT}, {MEMBER("tdur"), TRACE_CPU_DURATION},
};

static bool parse_event(struct json_cursor *s, struct trace_event *e)
{
	struct span value;

	memset(e->spans, 0, sizeof(e->spans));
	if (json_cursor_peek(s) != '{')
		return json_cursor_skip(s);
	json_for_each_member(s, key) {
		size_t size = key.end - key.start;
		const char *name = s->text + key.start;

		if (!json_cursor_value(s, &value))
			return false;
		for (size_t i = 0; i < sizeof(member_names) / sizeof(*member_names); i++) {
			const char *known = member_names[i].name;

			if (name[0] == known[0] && member_names[i].size == size &&
			    !memcmp(name, known, size))
				e->spans[member_names[i].member] = value;
		}
	}
	return !s->failed;
}

static bool has_member(const struct json_cursor *s, struct span object, const char *name)
{
	const char *const names[] = {name, NULL};
	struct span span[1] = {{0}};

	return object.end && json_cursor_find(json_cursor_within(s, object), names, span) &&
	       span[0].end;
}

/*
 * Recognizes clang's sums: it writes the sum of all spans with a name as a span on a separate
 * thread.
 */
static bool is_sum(const struct trace_event *e)
{
	static const char start[] = "\"Total ";
	struct span name = e->spans[TRACE_NAME];

	return e->time == 0 && name.end - name.start >= sizeof(start) &&
	       !memcmp(e->s.text + name.start, start, sizeof(start) - 1) &&
	       has_member(&e->s, e->spans[TRACE_ARGS], "count") &&
	       has_member(&e->s, e->spans[TRACE_ARGS], "avg ms");
}

static void add_counter(struct trace_reader *r, const struct trace_event *e)
{
	_cleanup_(strbuf_release) struct strbuf name = {0}, value = {0};
	struct json_cursor s = json_cursor_within(&e->s, e->spans[TRACE_ARGS]);
	uint32_t pid = r->processes.items[r->threads.items[e->thread].process].pid;

	trace_thread_use(r, e->thread);
	json_for_each_member_if_any(&s, key) {
		struct span span;
		double number;

		trace_text(&e->s, e->spans[TRACE_NAME], &name);
		if (e->spans[TRACE_ID].end) {
			trace_text(&e->s, e->spans[TRACE_ID], &value);
			strbuf_addf(&name, " %s", value.text);
		}
		trace_text(&s, (struct span){key.start - 1, key.end + 1}, &value);
		if (strcmp(value.text, "value") != 0 && strcmp(value.text, name.text) != 0)
			strbuf_addf(&name, " %s", value.text);
		if (!json_cursor_value(&s, &span))
			return;
		trace_text(&s, span, &value);
		if (!text_to_double(value.text, &number) || fabs(number) > 9e18) {
			r->f.counts->unread[UNREAD_COUNTER_VALUES]++;
			continue;
		}
		r->f.counts->unread[UNREAD_COUNTER_VALUES] += fabs(number - round(number)) > 0;
		foreign_level(&r->f, pid, name.text, "", false, e->time, (int64_t)round(number));
	}
}

/* PyTorch reports the memory in use as instants. */
static void add_memory(struct trace_reader *r, const struct trace_event *e)
{
	static const char *const names[] = {"Total Allocated", "Device Type", NULL};
	struct span spans[2] = {{0}};
	double number, device;
	_cleanup_free_ char *name = NULL;

	if (!span_is(&e->s, e->spans[TRACE_NAME], "\"[memory]\"") ||
	    !json_cursor_find(json_cursor_within(&e->s, e->spans[TRACE_ARGS]), names, spans) ||
	    !spans[0].end)
		return;
	number = json_members_number_at(&e->s, spans[0]);
	device = json_members_number_at(&e->s, spans[1]);
	name = device > 0 ? xasprintf("Allocated on device %.0f", device) : xstrdup("Allocated");
	if (number >= 0 && number < 9e18)
		foreign_level(&r->f, r->processes.items[r->threads.items[e->thread].process].pid,
			      name, "bytes", true, e->time, (int64_t)number);
}

static void add_instant(struct trace_reader *r, const struct trace_event *e)
{
	const struct trace_marker marker = {
		.start = e->time,
		.end = e->time,
		.args = e->spans[TRACE_ARGS].end ? e->offset + e->spans[TRACE_ARGS].start : 0,
		.label = trace_label(r, e),
		.thread = e->thread,
		.stack = trace_stack_of(r, e),
		.from = INDEX_NONE,
		.kind = KIND_INSTANT,
	};

	trace_marker_add(r, &marker);
	add_memory(r, e);
}

/* Names and labels, the only reliable facts about a process or thread. */
static void add_metadata(struct trace_reader *r, const struct trace_event *e)
{
	static const char *const names[] = {"name", NULL};
	_cleanup_(strbuf_release) struct strbuf text = {0};
	struct span name[1] = {{0}};
	uint32_t process = trace_process_of(r, e), thread;
	bool is_process = span_is(&e->s, e->spans[TRACE_NAME], "\"process_name\"");
	string_id id;

	if (!is_process && !span_is(&e->s, e->spans[TRACE_NAME], "\"thread_name\""))
		return;
	json_cursor_find(json_cursor_within(&e->s, e->spans[TRACE_ARGS]), names, name);
	trace_text(&e->s, name[0], &text);
	if (!name[0].end || !text.size)
		return;
	id = strings_intern(&r->f.profile->strings, text.text);
	if (is_process) {
		r->processes.items[process].name = id;
		return;
	}
	thread = trace_thread_of(r, e);
	if (thread != INDEX_NONE)
		r->threads.items[thread].name = id;
}

static void add_timed(struct trace_reader *r, const struct trace_event *e)
{
	if (e->time < r->start)
		r->start = e->time;
	if (e->time > r->end)
		r->end = e->time;
	if (e->phase == 'X')
		trace_add_span(r, e);
	else if (e->phase == 'B' || e->phase == 'E')
		trace_add_edge(r, e);
	else if (strchr("bneSTpF", e->phase))
		trace_add_async(r, e);
	else if (strchr("iIR", e->phase))
		add_instant(r, e);
	else if (e->phase == 'C')
		add_counter(r, e);
	else if (strchr("stf", e->phase))
		trace_add_flow(r, e);
	else
		r->f.counts->unread[UNREAD_MARKERS]++;
}

static void add_event(struct trace_reader *r, struct trace_event *e)
{
	struct span phase = e->spans[TRACE_PHASE];

	if (phase.end - phase.start != 3 || e->s.text[phase.start + 1] == '\\') {
		r->f.counts->unread[UNREAD_MEMBERS]++;
		return;
	}
	e->phase = e->s.text[phase.start + 1];
	e->time = trace_ns(&e->s, e->spans[TRACE_TIME], TRACE_US);
	r->events++;
	if (e->phase == 'M')
		add_metadata(r, e);
	else if (e->phase == 'P' || span_is(&e->s, e->spans[TRACE_NAME], TRACE_WHOLE_PROFILE))
		trace_add_sample(r, e);
	else if (is_sum(e))
		return;
	else if (e->time == CLOCK_NO_TIME || (e->thread = trace_thread_of(r, e)) == INDEX_NONE)
		r->f.counts->unread[UNREAD_MARKERS]++;
	else
		add_timed(r, e);
}

/* Files. */

enum pass {
	PASS_EVENTS,
	PASS_FRAMES, /* only the stack frames, which may follow the events that need them */
};

/* Reads the array of events. Returns false if it is cut off or damaged. */
static bool read_events(struct trace_reader *r, enum pass pass)
{
	struct trace_input *in = &r->in;
	struct trace_event e;
	struct json_cursor s;
	bool is_whole;

	in->s.at++;
	/* Interrupted writers leave a comma at the end. */
	while (trace_input_next(in, ",") != ']') {
		do {
			s = in->s;
			is_whole = s.at < s.size && parse_event(&s, &e);
		} while (!is_whole && trace_input_more(in));
		if (!is_whole)
			return false;
		e.s = s;
		e.offset = in->base;
		in->s.at = s.at;
		if (pass == PASS_EVENTS)
			add_event(r, &e);
	}
	in->s.at++;
	return true;
}

/* Reads the wall clock in the form of clang, PyTorch and Bazel. */
static void read_base(struct trace_reader *r, const struct json_cursor *s, struct span key,
		      struct span value)
{
	static const char *const names[] = {"profile_start_ts", NULL};
	struct span start[1] = {{0}};

	if (span_is(s, key, "beginningOfTime"))
		r->base_ns = trace_ns(s, value, TRACE_US);
	else if (span_is(s, key, "baseTimeNanoseconds"))
		r->base_ns = trace_ns(s, value, TRACE_NS);
	else if (span_is(s, key, "otherData") &&
		 json_cursor_find(json_cursor_within(s, value), names, start))
		r->base_ns = trace_ns(s, start[0], TRACE_MS);
}

static bool read_member(struct trace_reader *r, struct span key, struct span value,
			const struct json_cursor *whole, enum pass pass)
{
	struct json_cursor s = json_cursor_within(whole, value);

	if (span_is(whole, key, "stackFrames"))
		return r->has_frames || trace_read_frames(r, s);
	if (pass == PASS_FRAMES)
		return true;
	if (span_is(whole, key, "samples"))
		return trace_read_samples(r, s);
	read_base(r, whole, key, value);
	return true;
}

/* Reads a member of the object. Returns false if it is cut off or damaged. */
static bool read_top(struct trace_reader *r, enum pass pass)
{
	struct trace_input *in = &r->in;
	struct span key, value;
	struct json_cursor s;
	bool is_whole;

	do {
		s = in->s;
		is_whole = json_cursor_value(&s, &key) && s.text[key.start] == '"' &&
			   json_cursor_peek(&s) == ':';
		key.start++;
		key.end--;
		s.at++;
		if (is_whole && json_cursor_peek(&s) == '[' && span_is(&s, key, "traceEvents")) {
			in->s.at = s.at;
			return read_events(r, pass);
		}
		is_whole = is_whole && json_cursor_value(&s, &value);
	} while (!is_whole && trace_input_more(in));
	if (!is_whole)
		return false;
	in->s.at = s.at;
	return read_member(r, key, value, &s, pass);
}

/* Reads the intact part of the file: traces of interrupted programs have no end. */
static void read_text(struct trace_reader *r, enum pass pass)
{
	struct trace_input *in = &r->in;
	bool is_whole;

	trace_input_rewind(in);
	if (trace_input_next(in, "") == '[') {
		is_whole = read_events(r, pass);
	} else {
		in->s.at++;
		do {
			is_whole = trace_input_next(in, ",") == '"' && read_top(r, pass);
		} while (is_whole);
		is_whole = trace_input_next(in, "") == '}';
	}
	r->left_out = is_whole ? 0 : in->size - in->base - in->s.at;
}

/* Names a row as in the file, or by its index if it has neither name nor number. */
static void name_thread(struct trace_reader *r, const struct trace_thread *from)
{
	struct strings *strings = &r->f.profile->strings;
	const struct trace_process *process = &r->processes.items[from->process];
	struct profile_thread *thread = threads_get(&r->f.profile->threads, from->id);
	const char *key = strings_get(&r->keys, from->key);
	bool is_main = from->tid == process->pid;

	thread->name = from->name;
	thread->process_name = process->name;
	if (process->name == NO_STRING && !process->has_number)
		thread->process_name = strings_intern_line(strings,
							   strings_get(&r->keys, process->key));
	if (from->name == NO_STRING && from->tid != (uint32_t)strtoul(key, NULL, 10))
		thread->name = strings_intern_line(strings, key);
	if (!is_main)
		return;
	vec_for_each(&r->f.profile->threads.rows, struct profile_thread *, other) {
		if (other->pid == thread->pid)
			other->is_main = other == thread;
	}
}

static void finish_names(struct trace_reader *r)
{
	struct profile *p = r->f.profile;

	vec_for_each(&r->threads, const struct trace_thread *, thread) {
		if (thread->id != NO_THREAD)
			name_thread(r, thread);
	}
	for (size_t i = 0; i < r->processes.count && !p->meta.product; i++) {
		if (r->processes.items[i].name != NO_STRING)
			p->meta.product =
				xstrdup(strings_get(&p->strings, r->processes.items[i].name));
	}
	if (!p->meta.product)
		p->meta.product = xstrdup("trace");
}

static void add_extra(struct trace_reader *r, const char *label, const char *format, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	if (value)
		profile_add_extra(r->f.profile, SECTION, label, format, text);
}

static int finish(struct trace_reader *r, struct error *err)
{
	struct profile_meta *meta = &r->f.profile->meta;
	int ret;

	if (!r->events && !r->has_samples)
		return error_text(err, -EBADMSG, "the trace has no events");
	trace_edges_finish(r);
	if (r->has_samples)
		trace_profiles_finish(r);
	else
		trace_spans_finish(r);
	finish_names(r);
	trace_markers_finish(r);
	meta->start_realtime_ns = r->base_ns == CLOCK_NO_TIME ? 0 : r->base_ns;
	if (r->end > r->start)
		r->f.stated = (struct time_range){r->start, r->end};
	ret = foreign_finish(&r->f, true, err);
	if (!meta->start_realtime_ns && meta->start_ns >= WALL_CLOCK_MIN_NS)
		meta->start_realtime_ns = meta->start_ns;
	add_extra(r, "Events", "integer", r->events);
	add_extra(r, "Bytes left out at a damaged place", "bytes", r->left_out);
	return ret;
}

static void release(struct trace_reader *r)
{
	vec_for_each(&r->threads, struct trace_thread *, thread) {
		samples_release(&thread->edges);
		samples_release(&thread->spans);
	}
	strings_release(&r->keys);
	strings_release(&r->frame_keys);
	strings_release(&r->schema_keys);
	vec_release(&r->processes);
	vec_release(&r->threads);
	index_release(&r->process_index);
	index_release(&r->thread_index);
	vec_release(&r->labels);
	index_release(&r->label_index);
	vec_release(&r->markers);
	vec_release(&r->asyncs.rows);
	index_release(&r->asyncs.index);
	vec_release(&r->flows.rows);
	index_release(&r->flows.index);
	trace_profiles_release(r);
	vec_release(&r->stacks);
	vec_release(&r->schemas);
	trace_input_release(&r->in);
}

/* Sets *needs_frames and stops if events have stacks whose frames follow later. */
static int read_once(struct profile **p, struct trace_input in, bool frames_first,
		     bool *needs_frames, struct import_counts *counts, struct error *err)
{
	struct trace_reader r = {.in = in, .start = CLOCK_NO_TIME};
	int ret = 0;

	foreign_init(&r.f, counts);
	if (frames_first)
		read_text(&r, PASS_FRAMES);
	r.needs_frames = false;
	read_text(&r, PASS_EVENTS);
	*needs_frames = !frames_first && r.needs_frames && r.has_frames;
	ret = *needs_frames ? -EAGAIN : finish(&r, err);
	foreign_end(&r.f, ret, p);
	release(&r);
	return ret;
}

static int trace_read(struct profile **p, const char *text, size_t size,
		      struct import_counts *counts, struct error *err)
{
	struct trace_input in;
	bool needs_frames;
	int ret;

	trace_input_of_text(&in, text, size);
	ret = read_once(p, in, false, &needs_frames, counts, err);
	return needs_frames ? read_once(p, in, true, &needs_frames, counts, err) : ret;
}

static int trace_read_file(struct profile **p, int fd, uint64_t size, struct import_counts *counts,
			   struct error *err)
{
	struct trace_input in;
	bool needs_frames;
	int ret;

	trace_input_of_file(&in, fd, size);
	ret = read_once(p, in, false, &needs_frames, counts, err);
	if (!needs_frames)
		return ret;
	trace_input_of_file(&in, fd, size);
	return read_once(p, in, true, &needs_frames, counts, err);
}

/*
 * In an array, the first event has a phase; in an object, the events come before members of other
 * formats.
 */
static bool trace_matches(const char *text, size_t size)
{
	static const char *const phase[] = {"ph", NULL}, *const none[] = {NULL};
	static const char *const wanted[] = {"traceEvents", "stackFrames", NULL};
	static const char *const others[] = {"meta",	 "threads", "shared",
					     "profiles", "nodes",   NULL};
	size_t at = 0;

	while (at < size && strchr(" \n\r\t", text[at]) && text[at])
		at++;
	if (at == size || text[at] != '[')
		return json_members_begin(text, size, wanted, others);
	do {
		at++;
	} while (at < size && strchr(" \n\r\t", text[at]) && text[at]);
	return json_members_begin(text + at, size - at, phase, none);
}

const struct format format_trace = {
	.name = "trace",
	.suffixes = (const char *const[]){NULL},
	.is_timeline = true,
	.matches = trace_matches,
	.read = trace_read,
	.read_file = trace_read_file,
};
