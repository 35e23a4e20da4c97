/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "lib/format/foreign.h"
#include "lib/format/format.h"
#include "lib/format/label_tree.h"

/* Lines that decide whether a text matches. */
#define LINES_JUDGED 10
#define NUMBER_MAX 40
/* Decimals of weights that are fractions. */
#define DECIMALS_MAX 6
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* A line: "main;work;copy 12". */
struct folded_line {
	const char *stack, *end; /* stack without the trailing blank */
	const char *number; /* text of the weight */
	size_t decimals; /* digits after its point */
	double weight;
	/* "time,idle,memory" of Austin: bytes, negative if they were freed. */
	bool has_memory, is_idle;
	double memory;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Zeros at the end do not count. */
static size_t count_decimals(const char *number, const char *end)
{
	const char *point = memchr(number, '.', (size_t)(end - number)), *last = point, *at = point;

	while (at && ++at < end && *at >= '0' && *at <= '9')
		last = *at == '0' ? last : at;
	return (size_t)(last - point);
}

/* Reads Austin's "1200,0,-4096": microseconds, whether the thread was idle, and bytes. */
static bool parse_metrics(char *text, struct folded_line *parsed)
{
	const char *time = strsep(&text, ","), *idle = strsep(&text, ",");

	if (!text)
		return false;
	parsed->has_memory = true;
	parsed->is_idle = strcmp(idle, "0") != 0;
	return text_to_double(time, &parsed->weight) && text_to_double(text, &parsed->memory);
}

/* False if the line does not end in a number. The stack may be empty, as from py-spy. */
static bool parse(struct text_line line, struct folded_line *parsed)
{
	char text[NUMBER_MAX] = "";
	const char *at, *scan;
	uint64_t whole;

	while (line.end > line.text && is_blank(line.end[-1]))
		line.end--;
	for (at = line.end; at > line.text && !is_blank(at[-1]);)
		at--;
	if (at == line.end || at == line.text || (size_t)(line.end - at) >= sizeof(text))
		return false;
	memcpy(text, at, (size_t)(line.end - at));
	parsed->stack = line.text;
	parsed->end = parsed->number = at;
	while (parsed->end > parsed->stack && is_blank(parsed->end[-1]))
		parsed->end--;
	parsed->decimals = count_decimals(at, line.end);
	parsed->has_memory = false;
	scan = at;
	parsed->weight = text_scan_decimal(&scan, line.end, &whole) ? (double)whole : 0;
	if (scan == line.end)
		return true;
	if (memchr(text, '\0', (size_t)(line.end - at)))
		return false;
	return text_to_double(text, &parsed->weight) || parse_metrics(text, parsed);
}

/* Frames by the text of lines. */
struct frames_by_name {
	struct strings names;
	VEC(frame_id) frames;
};

/* Event of fractions, before the number by which they are multiplied: a power of ten. */
#define FRACTIONS "weight × "

struct folded_reader {
	struct foreign f;
	/* Frames within stacks, and innermost ones: those of allocations are classes. */
	struct frames_by_name inner, last;
	size_t decimals; /* maximum decimals of the lines */
	bool has_two; /* each line has a weight before and one after: "main;work 10 12" */
	bool has_classes; /* the last frames are classes of async-profiler */
	bool has_allocations; /* some of these classes cannot be those of locks */
	/* Austin measures microseconds and bytes; what is 0 is not stated. */
	bool is_austin, has_memory, has_both;
	uint8_t event, before;
	uint8_t allocated, freed, busy;
};

static bool ends_with(const char *text, size_t size, const char *ending)
{
	size_t length = strlen(ending);

	return size > length && !memcmp(text + size - length, ending, length);
}

/*
 * Returns whether it is "byte[]_[k]" or "java.lang.String_[i]": marks of classes state how they
 * were allocated. Classes of locks have the mark i, and are no arrays but rarely.
 */
static bool is_class(const char *text, size_t size, bool *is_allocation)
{
	const char *dot;
	char mark = foreign_mark(text, size);

	if (mark != 'k' && mark != 'i')
		return false;
	size -= 4;
	if (ends_with(text, size, "[]")) {
		*is_allocation = true;
		return true;
	}
	dot = memrchr(text, '.', size);
	if (!dot || dot + 1 == text + size || dot[1] < 'A' || dot[1] > 'Z' ||
	    memchr(text, '/', size))
		return false;
	*is_allocation |= mark == 'k';
	return true;
}

/* Splits Python's "FILE:FUNCTION:LINE". Cuts the text, and returns false if it has another form. */
static bool split_place(char *text, struct foreign_frame *frame)
{
	char *line = strrchr(text, ':'), *name;
	const char *at = line ? line + 1 : text;
	uint64_t number;

	if (!line || !text_scan_decimal(&at, text + strlen(text), &number) || *at ||
	    number > INT32_MAX)
		return false;
	*line = '\0';
	name = strrchr(text, ':');
	if (!name) {
		*line = ':';
		return false;
	}
	*name = '\0';
	frame->file = text;
	frame->name = name + 1;
	frame->line = (uint32_t)number;
	return true;
}

/*
 * Splits "NAME (FILE:LINE)" of py-spy, "NAME - FILE:LINE" of rbspy, and, for native code, py-spy's
 * "NAME (libx.so.1)". Cuts the text, and leaves any other form.
 */
static void split_suffix(struct folded_reader *r, char *text, struct foreign_frame *frame)
{
	bool has_parens = text_ends_with(text, ")");
	char *place = NULL, *colon;
	const char *at;
	uint64_t line;

	for (char *c = text; (c = strstr(c + 1, has_parens ? " (" : " - "));)
		place = c;
	if (!place)
		return;
	at = place + (has_parens ? 2 : 3);
	colon = strrchr(at, ':');
	if (has_parens)
		text[strlen(text) - 1] = '\0';
	frame->file = at;
	at = colon ? colon + 1 : "";
	if (colon > frame->file && text_scan_decimal(&at, at + strlen(at), &line) && !*at &&
	    line <= INT32_MAX) {
		*colon = '\0';
		frame->line = (uint32_t)line;
	} else if (has_parens && strstr(frame->file, ".so")) {
		frame->module = foreign_module(&r->f, frame->file, "");
		frame->file = NULL;
	} else {
		frame->file = NULL;
		if (has_parens)
			strcat(text, ")");
		return;
	}
	*place = '\0';
}

static frame_id find_frame(struct folded_reader *r, const char *text, size_t size, bool is_last,
			   bool has_places)
{
	struct frames_by_name *known = is_last ? &r->last : &r->inner;
	string_id id = strings_intern_sized(&known->names, text, size);
	struct foreign_frame frame = {.module = NO_MODULE};
	bool is_of_class = is_last && r->has_classes;
	_cleanup_free_ char *name = NULL;
	char mark = foreign_mark(text, size);

	if (id < known->frames.count)
		return known->frames.items[id];
	name = xstrndup(text, size - (mark ? 4 : 0));
	frame.is_kernel = mark == 'k' && !is_of_class;
	frame.inline_depth = mark == 'i' && !is_of_class;
	frame.name = name;
	if (!has_places || !split_place(name, &frame))
		split_suffix(r, name, &frame);
	vec_push(&known->frames, foreign_frame(&r->f, &frame));
	return vec_last(&known->frames);
}

/* Iterates over the frames of a line. */
struct folded_frames {
	const char *at, *end; /* the rest of the stack */
	const char *frame;
	size_t size;
};

static bool next_frame(struct folded_frames *s)
{
	while (s->at < s->end) {
		const char *semicolon = memchr(s->at, ';', (size_t)(s->end - s->at));
		const char *end = semicolon ? semicolon : s->end;

		s->frame = s->at;
		s->size = (size_t)(end - s->at);
		s->at = semicolon ? semicolon + 1 : s->end;
		if (s->size && !memchr(s->frame, '\0', s->size))
			return true;
	}
	return false;
}

/* Reads "PREFIX12", whose end it returns in *at. */
static bool scan_id(const char *text, const char *prefix, const char **at, uint32_t *id)
{
	uint64_t number;

	if (!text_starts_with(text, prefix))
		return false;
	*at = text + strlen(prefix);
	if (!text_scan_decimal(at, text + strlen(text), &number) || number > INT32_MAX)
		return false;
	*id = (uint32_t)number;
	return true;
}

/* Reads Austin's "T12" or "T0:12", after "P12". */
static bool scan_austin(struct folded_frames *s, uint32_t *tid)
{
	_cleanup_free_ char *text = next_frame(s) ? xstrndup(s->frame, s->size) : NULL;
	const char *at;

	return text && scan_id(text, "T", &at, tid) &&
	       (!*at || (scan_id(at, ":", &at, tid) && !*at));
}

/*
 * Reads the thread that profilers put first: "[main tid=1]" of async-profiler, "thread (1): main"
 * of py-spy, "tid:1" of Python, "P1;T1" of Austin. Sets *has_places if frames are
 * "FILE:FUNCTION:LINE". Leaves the frame if there is none.
 */
static void read_thread(struct folded_reader *r, struct folded_frames *s, thread_id *thread,
			bool *has_places)
{
	struct folded_frames first = *s;
	_cleanup_free_ char *text = next_frame(&first) ? xstrndup(first.frame, first.size) : NULL;
	uint32_t pid = 0, tid;
	const char *at, *name;

	if (!text)
		return;
	name = foreign_thread_of(text, &tid);
	if (name) {
		name = *name ? name : NULL;
	} else if (scan_id(text, "thread (", &at, &tid)) {
		name = text_starts_with(at, "): ") ? at + 3 : NULL;
		if (!name && strcmp(at, ")") != 0)
			return;
	} else if (scan_id(text, "P", &at, &pid)) {
		*has_places = !*at && scan_austin(&first, &tid);
		if (!*has_places)
			return;
	} else {
		*has_places = scan_id(text, "tid:", &at, &tid) && !*at;
		if (!*has_places)
			return;
	}
	*thread = foreign_thread(&r->f, pid, tid, NULL, name, true);
	*s = first;
}

static stack_id find_stack(struct folded_reader *r, struct folded_frames *s, bool has_places)
{
	stack_id stack = NO_STACK;

	while (next_frame(s))
		stack = stacks_intern(
			&r->f.profile->stacks, stack,
			find_frame(r, s->frame, s->size, s->at == s->end, has_places));
	return stack;
}

/* Returns a weight in units of the smallest decimal. Negative weights are counted as unread. */
static uint64_t weight_of(struct folded_reader *r, const struct folded_line *line)
{
	double weight = line->weight * pow(10, (double)r->decimals);

	if (weight >= 0 && weight < (double)INT64_MAX)
		return (uint64_t)(weight + 0.5);
	r->f.counts->unread[UNREAD_WEIGHTS]++;
	return 0;
}

/* Adds what Austin measured besides time. */
static void add_memory(struct folded_reader *r, const struct folded_line *line, thread_id thread,
		       stack_id stack)
{
	double bytes = line->has_memory ? line->memory : line->weight;

	foreign_sample(&r->f, thread, bytes < 0 ? r->freed : r->allocated, r->f.now, stack,
		       (uint64_t)fmin(fabs(bytes), (double)INT64_MAX));
	if (r->has_both && !line->is_idle)
		foreign_sample(&r->f, thread, r->busy, r->f.now, stack, weight_of(r, line));
}

static void add_line(struct folded_reader *r, struct folded_line line, thread_id all)
{
	uint64_t weight = r->has_memory ? 0 : weight_of(r, &line), before = 0;
	struct folded_line first = line;
	struct folded_frames s;
	thread_id thread = all;
	bool has_places = false;
	stack_id stack;

	if (r->has_two && parse((struct text_line){line.stack, line.end}, &first))
		before = weight_of(r, &first);
	s = (struct folded_frames){.at = first.stack, .end = r->has_two ? first.end : line.end};
	read_thread(r, &s, &thread, &has_places);
	stack = find_stack(r, &s, has_places);
	if (r->has_memory || line.has_memory)
		add_memory(r, &line, thread, stack);
	foreign_sample(&r->f, thread, r->event, r->f.now, stack, weight);
	if (r->has_two)
		foreign_sample(&r->f, thread, r->before, r->f.now, stack, before);
	foreign_pass(&r->f, r->event || r->has_memory ? 1 : weight);
}

/* Examines a line to find what all lines have in common. */
static void judge(struct folded_reader *r, const struct folded_line *line)
{
	struct folded_frames s = {.at = line->stack, .end = line->end};
	struct folded_line first;

	r->has_two &= parse((struct text_line){line->stack, line->end}, &first);
	r->has_both |= line->has_memory;
	if (line->decimals > r->decimals)
		r->decimals = line->decimals < DECIMALS_MAX ? line->decimals : DECIMALS_MAX;
	while (next_frame(&s)) {
		if (s.at == s.end)
			r->has_classes |= is_class(s.frame, s.size, &r->has_allocations);
	}
}

/* Reads Austin's comments, "# mode: wall" and others. */
static void judge_comment(struct folded_reader *r, struct text_line line)
{
	_cleanup_free_ char *text = xstrndup(line.text, (size_t)(line.end - line.text));

	r->is_austin |= text_starts_with(text, "# austin: ");
	r->has_memory |= strcmp(text, "# mode: memory") == 0;
}

/* Prepares the events that Austin measures. Time is the clock, of microseconds. */
static void begin_austin(struct folded_reader *r)
{
	r->f.profile->meta.interval_ns = 1000;
	if (!r->has_memory && !r->has_both)
		return;
	r->allocated = foreign_measure(&r->f, "allocated", "bytes", EVENT_IS_EXACT);
	r->freed = foreign_measure(&r->f, "freed", "bytes", EVENT_IS_EXACT);
	if (r->has_both)
		r->busy = foreign_measure(&r->f, "not idle", "microseconds", EVENT_IS_EXACT);
}

/* True for empty lines and comments. */
static bool is_skipped(struct text_line line)
{
	return line.text == line.end || *line.text == '#' ||
	       (line.end - line.text > 1 && !memcmp(line.text, "//", 2));
}

static int judge_lines(struct folded_reader *r, const char *text, size_t size, struct error *err)
{
	struct text_lines lines = text_lines_of(text, size);
	struct folded_line parsed;
	struct text_line line;

	r->has_two = true;
	while (text_lines_next(&lines, &line)) {
		if (is_skipped(line)) {
			judge_comment(r, line);
			continue;
		}
		if (!parse(line, &parsed))
			return error_text(err, -EBADMSG,
					  "line %zu is not a stack and a number, such as a;b;c 12",
					  lines.number);
		judge(r, &parsed);
	}
	r->has_memory &= r->is_austin;
	if (r->is_austin || r->has_both) {
		r->has_two = false;
		begin_austin(r);
	} else if (r->has_two) {
		r->before = foreign_measure(&r->f, "before", "", 1);
		r->event = foreign_measure(&r->f, "after", "", 1);
		r->f.profile->events.rows.items[r->event].is_default = true;
	} else if (r->decimals) {
		_cleanup_free_ char *name = xasprintf(FRACTIONS "%.0f",
						      pow(10, (double)r->decimals));

		r->event = foreign_measure(&r->f, name, "", EVENT_IS_EXACT);
	} else if (r->has_classes) {
		r->event = foreign_measure(
			&r->f, r->has_allocations ? "allocations" : "allocations or locks", "",
			EVENT_IS_EXACT);
	}
	return 0;
}

static int read_lines(struct folded_reader *r, const char *text, size_t size, struct error *err)
{
	struct text_lines lines = text_lines_of(text, size);
	int ret = judge_lines(r, text, size, err);
	struct folded_line parsed;
	struct text_line line;
	thread_id all;

	if (ret)
		return ret;
	all = foreign_thread(&r->f, 0, 0, NULL, FOREIGN_ALL, false);
	while (text_lines_next(&lines, &line)) {
		if (!is_skipped(line) && parse(line, &parsed))
			add_line(r, parsed, all);
	}
	return foreign_finish(&r->f, false, err);
}

static const char *skip_mark(const char *text, size_t *size)
{
	size_t mark = strlen(BYTE_ORDER_MARK);

	if (*size < mark || memcmp(text, BYTE_ORDER_MARK, mark) != 0)
		return text;
	*size -= mark;
	return text + mark;
}

static int folded_read(struct profile **p, const char *text, size_t size,
		       struct import_counts *counts, struct error *err)
{
	struct folded_reader r = {0};
	int ret;

	text = skip_mark(text, &size);
	foreign_init(&r.f, counts);
	r.f.profile->meta.product = xstrdup("folded stacks");
	r.f.profile->meta.interval_ns = 1000000;
	ret = read_lines(&r, text, size, err);
	foreign_end(&r.f, ret, p);
	strings_release(&r.inner.names);
	vec_release(&r.inner.frames);
	strings_release(&r.last.names);
	vec_release(&r.last.frames);
	return ret;
}

/* True for lines with which no stack begins: JSON, and binary data. */
static bool is_other(struct text_line line)
{
	static const char *const starts[] = {"{", "[{", "[\"", "[]"};
	_cleanup_free_ char *text = xstrndup(line.text, (size_t)(line.end - line.text));

	return array_find(starts, it, text_starts_with(text, *it)) ||
	       strlen(text) < (size_t)(line.end - line.text);
}

/*
 * Implement struct format. Stacks belong to one thread unless they begin with one. Marks at the end
 * of names, for kernel, inlined and just-in-time compiled code, are interpreted. The first line
 * must be a stack, and most of the next: reading names the one that is not.
 */
static bool folded_matches(const char *text, size_t size)
{
	struct text_lines lines;
	size_t good = 0, bad = 0;
	struct folded_line parsed;
	struct text_line line;

	if (format_unread(text, size))
		return false;
	text = skip_mark(text, &size);
	lines = text_lines_of(text, size);
	while (good + bad < LINES_JUDGED && text_lines_next(&lines, &line)) {
		if (is_skipped(line))
			continue;
		if (is_other(line))
			return false;
		if (parse(line, &parsed) && parsed.end > parsed.stack)
			good++;
		else if (!good)
			return false;
		else
			bad++;
	}
	return good && good >= bad;
}

/*
 * Collapsed stacks for flame graphs: a line per distinct stack, its frames from the outermost on,
 * joined by ';', a blank, the weight in clock ticks. The process is the outermost frame, followed
 * by the thread if its name differs. Samples of other events are omitted unless there are no ticks:
 * a line has room for one number without a unit.
 */

/* Returns the decimals of the shown event if it has fractions of folded stacks. */
static size_t decimals_of(const struct profile *p)
{
	uint8_t event = profile_first_event(p);
	const char *name = event ? strings_get(&p->strings, p->events.rows.items[event].name) : "";
	size_t decimals = 0;

	if (!text_starts_with(name, FRACTIONS "1"))
		return 0;
	name += strlen(FRACTIONS "1");
	while (name[decimals] == '0')
		decimals++;
	return name[decimals] || decimals > DECIMALS_MAX ? 0 : decimals;
}

static void write_node(const struct label_tree *t, stack_id node, size_t decimals,
		       struct strbuf *stack, struct outfile *out)
{
	uint64_t weight = t->nodes.items[node].weight[0], unit = 1;
	char text[48];
	int size;

	if (!weight)
		return;
	for (size_t i = 0; i < decimals; i++)
		unit *= 10;
	if (decimals)
		size = snprintf(text, sizeof(text), " %" PRIu64 ".%0*" PRIu64 "\n", weight / unit,
				(int)decimals, weight % unit);
	else
		size = snprintf(text, sizeof(text), " %" PRIu64 "\n", weight);
	outfile_write(out, stack->text, stack->size);
	outfile_write(out, text, (size_t)size);
}

/* Walks the tree without recursion, as it may be deep; `stack` is the text so far. */
static void write_tree(const struct label_tree *t, stack_id node, size_t decimals,
		       struct outfile *out)
{
	_cleanup_(strbuf_release) struct strbuf stack = {0};

	while (node != NO_STACK && !outfile_failed(out)) {
		const struct label_node *row = &t->nodes.items[node];

		strbuf_adds(&stack, label_tree_text(t, node));
		write_node(t, node, decimals, &stack, out);
		if (row->first_child != NO_STACK) {
			strbuf_addch(&stack, ';');
			node = row->first_child;
			continue;
		}
		for (; node != NO_STACK; node = t->tree.rows.items[node].parent) {
			stack.size -= strings_size(&t->labels, t->tree.rows.items[node].frame);
			if (t->nodes.items[node].next_sibling != NO_STACK)
				break;
			stack.size -= stack.size > 0;
		}
		if (node != NO_STACK)
			node = t->nodes.items[node].next_sibling;
	}
}

static int folded_write(const struct profile *p, const struct export_options *options,
			struct outfile *out, struct export_counts *counts, struct error *err)
{
	struct label_tree t = {.has_threads = true, .is_collapsed = true};

	if (!p->threads.rows.count)
		return error_text(err, -ENODATA, "the recording has no threads");
	label_tree_add(&t, p, 0);
	label_tree_link(&t);
	write_tree(&t, t.first_root, decimals_of(p), out);
	label_tree_release(&t);
	return 0;
}

const struct format format_folded = {
	.name = "folded",
	.suffixes = (const char *const[]){".folded", NULL},
	.has_linker_names = true,
	.is_plain = true,
	.matches = folded_matches,
	.read = folded_read,
	.write = folded_write,
};
