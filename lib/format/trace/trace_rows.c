/* SPDX-License-Identifier: MIT */
/* Values of a trace, and the rows of its names, processes and threads. */
#include <math.h>

#include "lib/format/trace/trace_reader.h"

/* Limits of distinct names with their categories, and of their bytes. Further ones share a name. */
#define LABELS_MAX (1u << 18)
#define LABEL_BYTES_MAX (32u << 20)
#define THREADS_MAX (1u << 16)
/* Above the largest pid of Linux. */
#define INVENTED_FIRST ((1u << 22) + 1)

/* Values. */

static struct span without_quotes(const struct json_cursor *s, struct span span)
{
	if (span.end - span.start >= 2 && s->text[span.start] == '"')
		return (struct span){span.start + 1, span.end - 1};
	return span;
}

static uint64_t parse_exponent(const char *at, size_t size, int places)
{
	char text[64];
	double number;

	if (size >= sizeof(text))
		return CLOCK_NO_TIME;
	memcpy(text, at, size);
	text[size] = '\0';
	return text_to_double(text, &number) ? clock_time_from(number * pow(10, places))
					     : CLOCK_NO_TIME;
}

/* More than sixteen digits and three decimal places exceed the precision of a double. */
uint64_t trace_ns(const struct json_cursor *s, struct span span, int places)
{
	const struct span digits = without_quotes(s, span);
	const char *first = s->text + digits.start, *end = s->text + digits.end, *at = first;
	uint64_t ns = 0;
	int place = -1;

	for (; at < end; at++) {
		if (*at == '.' && place < 0 && at > first)
			place = 0;
		else if (!decimal_is_digit(*at) || ns > UINT64_MAX / 10 - 1)
			return parse_exponent(first, (size_t)(end - first), places);
		else if (place < places)
			ns = ns * 10 + (uint64_t)(*at - '0'), place += place >= 0;
		else if (place++ == places)
			ns += *at >= '5';
	}
	for (place = place < 0 ? 0 : place; place < places; place++) {
		if (__builtin_mul_overflow(ns, 10, &ns))
			return CLOCK_NO_TIME;
	}
	return at > first && clock_can_show(ns) ? ns : CLOCK_NO_TIME;
}

void trace_text(const struct json_cursor *s, struct span span, struct strbuf *out)
{
	struct json_cursor at = json_cursor_within(s, span);
	size_t size = span.end - span.start;

	strbuf_reset(out);
	if (size && s->text[span.start] == '"')
		json_cursor_string(&at, out);
	else
		strbuf_add(out, s->text + span.start,
			   size < TRACE_TEXT_MAX ? size : TRACE_TEXT_MAX);
	if (!out->text)
		strbuf_adds(out, "");
	out->size = strlen(out->text);
	if (out->size > TRACE_TEXT_MAX) {
		out->size = TRACE_TEXT_MAX;
		out->text[out->size] = '\0';
	}
	text_to_line(out->text);
	out->size = strlen(out->text);
}

/* Names. */

INDEX_EQUAL(label_equal, struct trace_reader, labels,
	    a->name == b->name && a->category == b->category)

static string_id intern_text(struct trace_reader *r, const struct strbuf *text)
{
	struct strings *strings = &r->f.profile->strings;
	string_id known = strings_find(strings, text->text, text->size);

	if (known != NO_STRING)
		return known;
	if (r->labels.count >= LABELS_MAX || r->label_bytes > LABEL_BYTES_MAX)
		return strings_intern(strings, "(other)");
	r->label_bytes += text->size;
	return strings_intern(strings, text->text);
}

static string_id intern(struct trace_reader *r, const struct trace_event *e, struct span span)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	struct strings *strings = &r->f.profile->strings;
	struct span inside = without_quotes(&e->s, span);
	size_t size = inside.end - inside.start;
	string_id known;

	/* Most names are known, and contain no backslash. */
	if (size < TRACE_TEXT_MAX && !memchr(e->s.text + inside.start, '\\', size)) {
		known = strings_find(strings, e->s.text + inside.start, size);
		if (known != NO_STRING)
			return known;
	}
	trace_text(&e->s, span, &text);
	return intern_text(r, &text);
}

/* Returns "name (path:line)" for py-spy, which has the place in arguments. */
static string_id name_with_place(struct trace_reader *r, const struct trace_event *e)
{
	static const char *const names[] = {"filename", "line", NULL};
	_cleanup_(strbuf_release) struct strbuf name = {0}, file = {0};
	struct span spans[2] = {{0}};
	double line;

	if (e->spans[TRACE_ARGS].end)
		json_cursor_find(json_cursor_within(&e->s, e->spans[TRACE_ARGS]), names, spans);
	line = json_members_number_at(&e->s, spans[1]);
	trace_text(&e->s, spans[0], &file);
	if (!file.size || !(line >= 1) || line > INT32_MAX)
		return intern(r, e, e->spans[TRACE_NAME]);
	trace_text(&e->s, e->spans[TRACE_NAME], &name);
	strbuf_addf(&name, " (%s:%.0f)", file.text, line);
	return intern_text(r, &name);
}

uint32_t trace_label(struct trace_reader *r, const struct trace_event *e)
{
	bool has_place = span_is(&e->s, e->spans[TRACE_CATEGORY], TRACE_PY_SPY);
	struct trace_label label = {
		.name = has_place ? name_with_place(r, e) : intern(r, e, e->spans[TRACE_NAME]),
		.category = intern(r, e, e->spans[TRACE_CATEGORY]),
		.has_call_line = has_place,
		.frame = NO_FRAME,
	};
	uint32_t row = index_intern(&r->label_index, hash_pair(label.name, label.category),
				    label_equal, r, &label, r->labels.count);

	if (row == r->labels.count)
		vec_push(&r->labels, label);
	return row;
}

/* Cuts "name (path:line)" of viztracer and "path(line): name" of PyTorch. */
static void cut_place(char *name, struct foreign_frame *frame)
{
	char *colon = strstr(name, "): "), *open = strrchr(name, '('), *end;
	const char *digits;
	uint64_t line;

	frame->name = name;
	if (colon && (open = memrchr(name, '(', (size_t)(colon - name)))) {
		digits = open + 1;
		end = colon;
	} else if (open > name && open[-1] == ' ' && (colon = strrchr(open, ':')) &&
		   text_ends_with(name, ")")) {
		digits = colon + 1;
		end = name + strlen(name) - 1;
	} else {
		return;
	}
	if (!text_scan_decimal(&digits, end, &line) || digits != end || line > INT32_MAX)
		return;
	if (*end == ')' && end[1] == ':') {
		*open = '\0';
		frame->file = name;
		frame->name = end + 3;
	} else {
		open[-1] = *colon = '\0';
		frame->file = open + 1;
	}
	frame->func_line = (uint32_t)line;
}

frame_id trace_label_frame(struct trace_reader *r, uint32_t label)
{
	struct trace_label *row = &r->labels.items[label];

	if (row->frame == NO_FRAME) {
		_cleanup_free_ char *name = xstrdup(strings_get(&r->f.profile->strings, row->name));
		struct foreign_frame frame = {.module = NO_MODULE};

		cut_place(name, &frame);
		if (row->has_call_line) {
			frame.line = frame.func_line;
			frame.func_line = 0;
		}
		if (!*frame.name)
			frame.name = "(anonymous)";
		row->frame = foreign_frame(&r->f, &frame);
	}
	return row->frame;
}

/* Processes and threads. */

static string_id key_of(struct trace_reader *r, const struct trace_event *e, struct span span)
{
	struct span inside = without_quotes(&e->s, span);
	size_t size = inside.end - inside.start;

	return strings_intern_sized(&r->keys, e->s.text + inside.start,
				    size < TRACE_TEXT_MAX ? size : TRACE_TEXT_MAX);
}

/* Sets the number of a key; invents one for strings and for numbers impossible on Linux. */
static bool number_of(struct trace_reader *r, string_id key, uint32_t *number)
{
	const char *text = strings_get(&r->keys, key), *at = text, *end = text + strlen(text);
	uint64_t value = 0;
	bool is_number = at == end || (text_scan_decimal(&at, end, &value) && at == end);

	*number = is_number && value < INVENTED_FIRST ? (uint32_t)value
						      : INVENTED_FIRST + r->invented++;
	return is_number && text != end;
}

INDEX_EQUAL(process_equal, struct trace_reader, processes, a->key == b->key)
INDEX_EQUAL(thread_equal, struct trace_reader, threads,
	    a->key == b->key && a->process == b->process)

uint32_t trace_process_of(struct trace_reader *r, const struct trace_event *e)
{
	struct trace_process process = {
		.key = key_of(r, e, e->spans[TRACE_PID]),
		.name = NO_STRING,
	};
	uint32_t row;

	if (r->last_process < r->processes.count &&
	    r->processes.items[r->last_process].key == process.key)
		return r->last_process;
	row = index_intern(&r->process_index, hash_u64(process.key), process_equal, r, &process,
			   r->processes.count);
	if (row == r->processes.count) {
		process.has_number = number_of(r, process.key, &process.pid);
		vec_push(&r->processes, process);
	}
	r->last_process = row;
	return row;
}

/* An event without a thread belongs to the main thread. */
uint32_t trace_thread_of(struct trace_reader *r, const struct trace_event *e)
{
	struct trace_thread thread = {
		.name = NO_STRING,
		.process = trace_process_of(r, e),
		.id = NO_THREAD,
	};
	uint32_t row;

	thread.key = e->spans[TRACE_TID].end ? key_of(r, e, e->spans[TRACE_TID])
					     : r->processes.items[thread.process].key;
	if (r->last_thread < r->threads.count && thread_equal(r, r->last_thread, &thread))
		return r->last_thread;
	row = index_find(&r->thread_index, hash_pair(thread.process, thread.key), thread_equal, r,
			 &thread);
	if (row == INDEX_NONE) {
		if (r->threads.count == THREADS_MAX)
			return INDEX_NONE;
		row = (uint32_t)r->threads.count;
		thread.has_number = number_of(r, thread.key, &thread.tid);
		index_add(&r->thread_index, hash_pair(thread.process, thread.key), row);
		vec_push(&r->threads, thread);
	}
	r->last_thread = row;
	return row;
}

thread_id trace_thread_use(struct trace_reader *r, uint32_t thread)
{
	struct trace_thread *row = &r->threads.items[thread];

	if (row->id == NO_THREAD)
		row->id = foreign_thread(&r->f, r->processes.items[row->process].pid, row->tid,
					 NULL, NULL, false);
	return row->id;
}
