/* SPDX-License-Identifier: MIT */
#include "lib/format/foreign.h"
#include "lib/format/format.h"

/*
 * Files of valgrind's heap tools, dhat and massif, which describe places in code alike.
 */

/* Cuts " (hs.c:3)" or " (in /usr/bin/hs)" from the end. */
static void cut_place(struct foreign *f, char *text, struct foreign_frame *frame)
{
	char *open = strrchr(text, '('), *colon;
	const char *digits;
	uint64_t line;

	if (!open || open == text || open[-1] != ' ' || !text_ends_with(open, ")"))
		return;
	open[strlen(open) - 1] = '\0';
	if (text_starts_with(open, "(in ")) {
		frame->module = foreign_module(f, open + 4, "");
		open[-1] = '\0';
		return;
	}
	colon = strrchr(open, ':');
	digits = colon ? colon + 1 : "";
	if (!colon || !text_scan_decimal(&digits, digits + strlen(digits), &line) || *digits ||
	    line > INT32_MAX) {
		open[strlen(open)] = ')';
		return;
	}
	*colon = '\0';
	open[-1] = '\0';
	frame->file = open + 1;
	frame->line = (uint32_t)line;
}

/*
 * Reads "0x400118D: leaky (hs.c:3)" or "0x4011: ??? (in /usr/bin/hs)"; other texts are names. The
 * text is changed.
 */
static frame_id valgrind_frame(struct foreign *f, char *text)
{
	struct foreign_frame frame = {.module = NO_MODULE};
	const char *at = text + 2;
	uint64_t address;

	text_to_line(text);
	if (text_starts_with(text, "0x") && text_scan_hex(&at, text + strlen(text), &address) &&
	    text_starts_with(at, ": ")) {
		text += at + 2 - text;
		cut_place(f, text, &frame);
		if (strcmp(text, "???") == 0) {
			frame.address = address;
			frame.module = NO_MODULE;
			text = "";
		}
	}
	frame.name = text;
	return foreign_frame(f, &frame);
}

/* dhat's heap profiles: bytes and blocks of each stack in total, at the peak and at the end. */

enum { SUM_COUNT = 6 };

static const char *const sum_members[] = {"tb", "tbk", "gb", "gbk", "eb", "ebk", "fs", NULL};

struct dhat_reader {
	struct foreign f;
	struct json_cursor s; /* cursor over the whole text */
	VEC(frame_id) frames;
	uint8_t events[SUM_COUNT];
};

static int damaged(struct error *err, const char *what)
{
	return error_text(err, -EBADMSG, "the dhat profile is damaged: %s", what);
}

/* Peaks and ends are missing if dhat did not track lifetimes. */
static void add_events(struct dhat_reader *r, struct span unit, struct span units)
{
	static const char *const names[] = {"total", "peak", "end"};
	_cleanup_free_ char *of_bytes = unit.end ? json_members_text_at(&r->s, unit)
						 : xstrdup("bytes");
	_cleanup_free_ char *of_blocks = units.end ? json_members_text_at(&r->s, units)
						   : xstrdup("blocks");

	for (size_t i = 0; i < SUM_COUNT; i++) {
		char *what = i % 2 ? of_blocks : of_bytes;
		_cleanup_free_ char *name = NULL;

		text_to_line(what);
		name = xasprintf("%s %s", names[i / 2], what);
		r->events[i] = foreign_measure(&r->f, name, i % 2 ? "" : what, EVENT_IS_EXACT);
	}
	r->f.profile->events.rows.items[r->events[0]].is_default = true;
}

/* The innermost frame comes first. */
static bool read_stack(struct dhat_reader *r, struct span span, stack_id *stack)
{
	struct json_cursor s = json_cursor_within(&r->s, span);
	VEC(frame_id) path = {0};
	int64_t row;
	bool is_good = true;

	json_for_each_element_if_any(&s, i) {
		if (!json_cursor_i64(&s, &row) || row < 0 || (uint64_t)row >= r->frames.count) {
			is_good = false;
			break;
		}
		vec_push(&path, r->frames.items[row]);
	}
	*stack = NO_STACK;
	while (path.count)
		*stack = stacks_intern(&r->f.profile->stacks, *stack, path.items[--path.count]);
	vec_release(&path);
	return is_good && !s.failed;
}

static int read_point(struct dhat_reader *r, struct json_cursor s, struct error *err)
{
	struct span spans[SUM_COUNT + 1] = {{0}};
	stack_id stack;

	if (!json_cursor_find(s, sum_members, spans) ||
	    (spans[SUM_COUNT].end && !read_stack(r, spans[SUM_COUNT], &stack)))
		return damaged(err, "a stack");
	if (!spans[SUM_COUNT].end)
		stack = NO_STACK;
	for (size_t i = 0; i < SUM_COUNT; i++) {
		double value = json_members_number_at(&r->s, spans[i]);

		if (r->events[i] && value >= 1 && value < 9e18)
			foreign_sample(&r->f, 0, r->events[i], r->f.now, stack, (uint64_t)value);
	}
	foreign_pass(&r->f, 1);
	return 0;
}

static void read_frames(struct dhat_reader *r, struct span span)
{
	struct json_cursor s = json_cursor_within(&r->s, span);

	json_for_each_element_if_any(&s, i) {
		_cleanup_free_ char *text = json_cursor_text(&s);

		vec_push(&r->frames, valgrind_frame(&r->f, text));
	}
}

static int read_whole(struct dhat_reader *r, const char *text, size_t size, struct error *err)
{
	static const char *const names[] = {"pps", "ftbl", "cmd", "pid", "bu", "bsu", NULL};
	struct span spans[6] = {{0}};
	struct json_cursor s;
	double pid;
	int ret = foreign_json(&r->s, text, size, NULL, err);

	if (ret)
		return ret;
	if (!json_cursor_find(r->s, names, spans) || !spans[0].end || !spans[1].end)
		return damaged(err, "it has no stacks");
	r->f.profile->meta.product = xstrdup("dhat");
	r->f.profile->meta.command_line = json_members_text_at(&r->s, spans[2]);
	text_to_line(r->f.profile->meta.command_line);
	pid = json_members_number_at(&r->s, spans[3]);
	foreign_thread(&r->f, pid > 0 && pid <= INT32_MAX ? (uint32_t)pid : 1, 1, "dhat",
		       FOREIGN_ALL, false);
	add_events(r, spans[4], spans[5]);
	read_frames(r, spans[1]);
	s = json_cursor_within(&r->s, spans[0]);
	for (size_t i = 0; !ret && json_cursor_element(&s, i); i++)
		ret = read_point(r, s, err);
	if (!ret && s.failed)
		ret = damaged(err, "its stacks");
	return ret ? ret : foreign_finish(&r->f, false, err);
}

static int dhat_read(struct profile **p, const char *text, size_t size,
		     struct import_counts *counts, struct error *err)
{
	struct dhat_reader r = {.events = {0}};
	int ret;

	foreign_init(&r.f, counts);
	ret = read_whole(&r, text, size, err);
	foreign_end(&r.f, ret, p);
	vec_release(&r.frames);
	return ret;
}

static bool dhat_matches(const char *text, size_t size)
{
	static const char *const wanted[] = {"dhatFileVersion", NULL};
	static const char *const others[] = {"meta", "threads", "shared", "profiles", NULL};

	return json_members_begin(text, size, wanted, others);
}

const struct format format_dhat = {
	.name = "dhat",
	.suffixes = (const char *const[]){NULL},
	.has_linker_names = true,
	.matches = dhat_matches,
	.read = dhat_read,
};

/*
 * massif's files: the size of the heap over time, which becomes counters, and allocation trees at
 * some moments; the one at the peak becomes stacks.
 */

#define HEAD_MAX 4096
#define DEPTH_MAX 512

/* A node of the tree whose children are still to come. */
struct node {
	uint64_t bytes; /* without its children's */
	frame_id frame;
};

struct massif_reader {
	struct foreign f;
	uint8_t event;
	uint64_t unit_ns; /* ns per unit of time */
	const char *time_unit; /* NULL: milliseconds */
	uint64_t now;
	const char *peak; /* tree of the peak, or else the last one */
	bool is_peak;
	VEC(struct node) path; /* allocation functions first: innermost first */
};

static bool starts(struct text_line line, const char *prefix)
{
	size_t size = strlen(prefix);

	return (size_t)(line.end - line.text) >= size && !memcmp(line.text, prefix, size);
}

static uint64_t number_after(struct text_line line)
{
	const char *at = memchr(line.text, '=', (size_t)(line.end - line.text));
	uint64_t number = 0;

	if (!at)
		return 0;
	at++;
	return text_scan_decimal(&at, line.end, &number) && number <= INT64_MAX ? number : 0;
}

static void read_snapshot_line(struct massif_reader *r, struct text_line line)
{
	static const char *const levels[][2] = {{"mem_heap_B=", "Heap"},
						{"mem_heap_extra_B=", "Heap overhead"},
						{"mem_stacks_B=", "Stacks"}};
	uint64_t number = number_after(line);

	if (starts(line, "time=")) {
		if (!__builtin_mul_overflow(number, r->unit_ns, &number) && clock_can_show(number))
			r->now = number;
		return;
	}
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		if (starts(line, levels[i][0]))
			foreign_level(&r->f, 1, levels[i][1], "bytes", true, r->now,
				      (int64_t)number);
	}
}

static void read_head(struct massif_reader *r, struct text_line line)
{
	struct profile_meta *meta = &r->f.profile->meta;

	if (starts(line, "cmd: ") && !meta->command_line) {
		meta->command_line = xstrndup(line.text + 5, (size_t)(line.end - line.text - 5));
		text_to_line(meta->command_line);
	} else if (starts(line, "time_unit: ")) {
		r->unit_ns = starts(line, "time_unit: ms") ? 1000000 : 1;
		r->time_unit = starts(line, "time_unit: i")   ? "instructions"
			       : starts(line, "time_unit: B") ? "bytes allocated and freed"
							      : NULL;
	}
}

/*
 * Adds a node's bytes without its children's to its stack. The root stands for all allocation
 * functions.
 */
static void leave(struct massif_reader *r)
{
	stack_id stack = NO_STACK;

	for (size_t i = r->path.count; i-- > (r->path.count > 1);)
		stack = stacks_intern(&r->f.profile->stacks, stack, r->path.items[i].frame);
	foreign_sample(&r->f, 0, r->event, r->now, stack, vec_last(&r->path).bytes);
	r->path.count--;
}

/* Parses " n1: 327680 0x400118D: leaky (hs.c:3)", indented by its depth. */
static bool read_node(struct massif_reader *r, struct text_line line)
{
	_cleanup_free_ char *text = NULL;
	const char *at = line.text;
	struct node node;
	uint64_t children;
	size_t depth;

	while (at < line.end && *at == ' ')
		at++;
	depth = (size_t)(at - line.text);
	if (at == line.end || *at++ != 'n' || !text_scan_decimal(&at, line.end, &children) ||
	    line.end - at < 2 || *at++ != ':' || *at++ != ' ' ||
	    !text_scan_decimal(&at, line.end, &node.bytes) || node.bytes > INT64_MAX)
		return false;
	while (r->path.count && r->path.count > depth)
		leave(r);
	if (depth > r->path.count || depth >= DEPTH_MAX)
		return false;
	text = xstrndup(at + (at < line.end), (size_t)(line.end - at - (at < line.end)));
	node.frame = valgrind_frame(&r->f, text);
	if (depth) {
		uint64_t *outer = &vec_last(&r->path).bytes;

		*outer -= node.bytes < *outer ? node.bytes : *outer;
	}
	vec_push(&r->path, node);
	return true;
}

static int read_lines(struct massif_reader *r, const char *text, size_t size, struct error *err)
{
	struct text_lines lines = text_lines_of(text, size);
	struct text_line line;
	uint64_t at_peak = 0;

	foreign_thread(&r->f, 0, 0, "massif", FOREIGN_ALL, false);
	r->f.profile->meta.product = xstrdup("massif");
	r->event = foreign_measure(&r->f, "heap", "bytes", EVENT_IS_EXACT);
	while (text_lines_next(&lines, &line)) {
		bool is_peak = starts(line, "heap_tree=peak");

		read_head(r, line);
		read_snapshot_line(r, line);
		if (is_peak || (starts(line, "heap_tree=detailed") && !r->is_peak)) {
			r->peak = lines.at;
			r->is_peak = is_peak;
			at_peak = r->now;
		}
	}
	if (!r->f.profile->counters.rows.count)
		return error_text(err, -EBADMSG, "the massif file has no snapshots");
	r->f.stated.end = r->now;
	if (r->time_unit) {
		profile_add_text(r->f.profile, FACT_NO_TIMES, NULL, NO_TIMES_AT_ALL);
		profile_add_extra(r->f.profile, "massif", "Unit of time, shown as ns", "string",
				  r->time_unit);
	}
	r->now = at_peak;
	lines = text_lines_of(r->peak ? r->peak : text + size,
			      r->peak ? size - (size_t)(r->peak - text) : 0);
	while (text_lines_next(&lines, &line) && read_node(r, line))
		continue;
	while (r->path.count)
		leave(r);
	return foreign_finish(&r->f, true, err);
}

static int massif_read(struct profile **p, const char *text, size_t size,
		       struct import_counts *counts, struct error *err)
{
	struct massif_reader r = {.unit_ns = 1};
	int ret;

	foreign_init(&r.f, counts);
	ret = read_lines(&r, text, size, err);
	foreign_end(&r.f, ret, p);
	vec_release(&r.path);
	return ret;
}

static bool massif_matches(const char *text, size_t size)
{
	static const char start[] = "desc: ", word[] = "\ntime_unit: ";

	return size >= sizeof(start) && !memcmp(text, start, sizeof(start) - 1) &&
	       memmem(text, size < HEAD_MAX ? size : HEAD_MAX, word, sizeof(word) - 1);
}

const struct format format_massif = {
	.name = "massif",
	.suffixes = (const char *const[]){NULL},
	.is_timeline = true,
	.has_linker_names = true,
	.matches = massif_matches,
	.read = massif_read,
};
