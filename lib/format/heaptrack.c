/* SPDX-License-Identifier: MIT */
/*
 * heaptrack's interpreted files: bytes and blocks of each stack in total, at the peak and at the
 * end, and the size of the heap over time as a counter. Lines begin with a letter; numbers are
 * hexadecimal, and indices count from 1.
 */
#include "lib/format/format.h"

#include "lib/format/foreign.h"

/* Files of version 0 name each block by its address, without a table of allocations. */
#define VERSION_MIN 1
/* From this version on, sizes precede strings. */
#define VERSION_SIZED 3
#define DEPTH_MAX 4096

/* An instruction: its frames, innermost first. */
struct place {
	size_t first, count;
};

struct node {
	uint32_t place, parent; /* indices; 0: none */
};

/* Blocks of one size that one stack allocated. */
struct blocks {
	uint64_t size, total, now, at_peak;
	uint32_t node;
	stack_id stack; /* of the node, once all lines are read */
};

struct heaptrack_reader {
	struct foreign f;
	uint64_t version;
	VEC(char *) strings; /* owned */
	VEC(frame_id) frames;
	VEC(struct place) places;
	VEC(struct node) nodes;
	VEC(struct blocks) blocks;
	uint64_t held, peak; /* bytes */
	uint64_t operations, peak_operation;
	uint64_t now, peak_time; /* ns since the start */
};

static int damaged(struct error *err, size_t number)
{
	return error_text(err, -EBADMSG, "the heaptrack recording is damaged: line %zu", number);
}

/* Reads a number after blanks. */
static bool next_number(struct text_line *line, uint64_t *number)
{
	while (line->text < line->end && *line->text == ' ')
		line->text++;
	return text_scan_hex(&line->text, line->end, number);
}

/* Reads an index of up to `count`; 0 stands for none. */
static bool next_index(struct text_line *line, size_t count, uint32_t *index)
{
	uint64_t number;

	if (!next_number(line, &number) || number > count)
		return false;
	*index = (uint32_t)number;
	return true;
}

static bool read_string(struct heaptrack_reader *r, struct text_line line)
{
	uint64_t size;
	char *text;

	if (r->version >= VERSION_SIZED && !next_number(&line, &size))
		return false;
	if (line.text < line.end && *line.text == ' ')
		line.text++;
	text = xstrndup(line.text, (size_t)(line.end - line.text));
	text_to_line(text);
	vec_push(&r->strings, text);
	return true;
}

static const char *string_at(const struct heaptrack_reader *r, uint32_t index)
{
	return index ? r->strings.items[index - 1] : "";
}

/* Reads "FUNCTION FILE LINE". */
static bool next_frame(struct heaptrack_reader *r, struct text_line *line,
		       struct foreign_frame *frame)
{
	uint32_t name, file = 0;
	uint64_t number = 0;

	if (!next_index(line, r->strings.count, &name))
		return false;
	if (line->text < line->end && (!next_index(line, r->strings.count, &file) ||
				       !next_number(line, &number) || number > INT32_MAX))
		return false;
	frame->name = string_at(r, name);
	frame->file = string_at(r, file);
	frame->line = (uint32_t)number;
	return true;
}

/* Reads an address, a module, and the frames at it: the outermost one may be without a name. */
static bool read_place(struct heaptrack_reader *r, struct text_line line)
{
	struct place place = {.first = r->frames.count};
	VEC(struct foreign_frame) frames = {0};
	uint64_t address;
	uint32_t module;
	bool is_good = next_number(&line, &address) && next_index(&line, r->strings.count, &module);

	while (is_good && line.text < line.end && frames.count < DEPTH_MAX) {
		struct foreign_frame frame = {0};

		is_good = next_frame(r, &line, &frame);
		vec_push(&frames, frame);
	}
	if (is_good && !frames.count)
		vec_push(&frames, (struct foreign_frame){.name = ""});
	for (size_t i = 0; is_good && i < frames.count; i++) {
		struct foreign_frame *frame = &frames.items[i];

		frame->module = *frame->name && module
					? foreign_module(&r->f, string_at(r, module), "")
					: NO_MODULE;
		frame->address = *frame->name ? 0 : address;
		frame->inline_depth = (uint16_t)(frames.count - 1 - i);
		vec_push(&r->frames, foreign_frame(&r->f, frame));
	}
	place.count = r->frames.count - place.first;
	vec_push(&r->places, place);
	vec_release(&frames);
	return is_good;
}

/* Parents precede their children. */
static bool read_node(struct heaptrack_reader *r, struct text_line line)
{
	struct node node;

	if (!next_index(&line, r->places.count, &node.place) ||
	    !next_index(&line, r->nodes.count, &node.parent))
		return false;
	vec_push(&r->nodes, node);
	return true;
}

static bool read_blocks(struct heaptrack_reader *r, struct text_line line)
{
	struct blocks row = {0};

	if (!next_number(&line, &row.size) || row.size > INT64_MAX ||
	    !next_index(&line, r->nodes.count, &row.node))
		return false;
	vec_push(&r->blocks, row);
	return true;
}

/* Counts a block that was allocated or freed. Unlike others, these indices count from 0. */
static bool read_block(struct heaptrack_reader *r, struct text_line line, bool is_new)
{
	struct blocks *row;
	uint64_t index;

	if (!next_number(&line, &index) || index >= r->blocks.count)
		return false;
	row = &r->blocks.items[index];
	r->operations++;
	if (!is_new) {
		r->held -= row->now ? row->size : 0;
		row->now -= row->now > 0;
		return true;
	}
	row->now++;
	row->total++;
	if (__builtin_add_overflow(r->held, row->size, &r->held) || r->held > INT64_MAX)
		return false;
	if (r->held > r->peak) {
		r->peak = r->held;
		r->peak_operation = r->operations;
		r->peak_time = r->now;
	}
	return true;
}

/* Times are ms since the start. */
static bool read_time(struct heaptrack_reader *r, struct text_line line)
{
	uint64_t ms, ns;

	if (!next_number(&line, &ms))
		return false;
	if (!__builtin_mul_overflow(ms, 1000000, &ns) && clock_can_show(ns))
		r->now = ns;
	foreign_level(&r->f, 1, "Heap", "bytes", true, r->now, (int64_t)r->held);
	return true;
}

/* Arguments may have lines of their own, which the line about the system ends. */
static void read_command(struct heaptrack_reader *r, struct text_line line,
			 struct text_lines *lines)
{
	struct profile_meta *meta = &r->f.profile->meta;
	const char *end = memmem(line.end, (size_t)(lines->end - line.end), "\nI ", 3);

	if (meta->command_line)
		return;
	line.text += line.text < line.end;
	if (end) {
		line.end = end;
		lines->at = end + 1;
	}
	meta->command_line = xstrndup(line.text, (size_t)(line.end - line.text));
	text_to_line(meta->command_line);
}

/* Lines of unknown kinds are left out: they are facts about the system and debug output. */
static bool read_line(struct heaptrack_reader *r, struct text_line line, struct text_lines *lines)
{
	char kind = line.text < line.end ? *line.text++ : '\0';

	switch (kind) {
	case 'v':
		/* The version of heaptrack precedes that of the file. */
		return next_number(&line, &r->version) && next_number(&line, &r->version);
	case 'X':
		read_command(r, line, lines);
		return true;
	case 's':
		return read_string(r, line);
	case 'i':
		return read_place(r, line);
	case 't':
		return read_node(r, line);
	case 'a':
		return read_blocks(r, line);
	case '+':
	case '-':
		return read_block(r, line, kind == '+');
	case 'c':
		return read_time(r, line);
	default:
		return true;
	}
}

/* Counts blocks once more, up to the peak. */
static void find_peak(struct heaptrack_reader *r, const char *text, size_t size)
{
	struct text_lines lines = text_lines_of(text, size);
	struct text_line line;
	uint64_t left = r->peak_operation, index;

	while (left && text_lines_next(&lines, &line)) {
		char kind = line.text < line.end ? *line.text++ : '\0';

		if ((kind != '+' && kind != '-') || !next_number(&line, &index))
			continue;
		left--;
		if (kind == '+')
			r->blocks.items[index].at_peak++;
		else
			r->blocks.items[index].at_peak -= r->blocks.items[index].at_peak > 0;
	}
}

static stack_id stack_of(struct heaptrack_reader *r, uint32_t node)
{
	VEC(uint32_t) path = {0};
	stack_id stack = NO_STACK;

	for (; node && path.count < DEPTH_MAX; node = r->nodes.items[node - 1].parent)
		vec_push(&path, r->nodes.items[node - 1].place);
	while (path.count) {
		uint32_t index = path.items[--path.count];
		struct place place = index ? r->places.items[index - 1] : (struct place){0};

		while (place.count)
			stack = stacks_intern(&r->f.profile->stacks, stack,
					      r->frames.items[place.first + --place.count]);
	}
	vec_release(&path);
	return stack;
}

/* A block has a weight of its size; sizes of 0 count as blocks only. */
static void add_samples(struct heaptrack_reader *r, const char *name, size_t member, uint64_t time)
{
	_cleanup_free_ char *bytes = xasprintf("%s bytes", name);
	_cleanup_free_ char *count_name = xasprintf("%s blocks", name);
	uint8_t of_bytes = foreign_measure(&r->f, bytes, "bytes", EVENT_IS_EXACT);
	uint8_t of_blocks = foreign_measure(&r->f, count_name, "", EVENT_IS_EXACT);

	vec_for_each(&r->blocks, const struct blocks *, row) {
		uint64_t count, weight;

		memcpy(&count, (const char *)row + member, sizeof(count));
		if (!count || __builtin_mul_overflow(count, row->size, &weight))
			continue;
		foreign_sample(&r->f, 0, of_bytes, time, row->stack, weight);
		foreign_sample(&r->f, 0, of_blocks, time, row->stack, count);
	}
	r->f.profile->events.rows.items[of_bytes].is_default = strcmp(name, "peak") == 0;
}

static int read_lines(struct heaptrack_reader *r, const char *text, size_t size, struct error *err)
{
	struct text_lines lines = text_lines_of(text, size);
	struct text_line line;

	foreign_thread(&r->f, 0, 0, "heaptrack", FOREIGN_ALL, false);
	r->f.profile->meta.product = xstrdup("heaptrack");
	while (text_lines_next(&lines, &line)) {
		if (!read_line(r, line, &lines))
			return damaged(err, lines.number);
		if (r->version < VERSION_MIN)
			return error_text(
				err, -ENOTSUP,
				"heaptrack recordings from before 1.0 have another format");
	}
	if (!r->blocks.count)
		return error_text(err, -EBADMSG, "the heaptrack recording has no allocations");
	find_peak(r, text, size);
	vec_for_each(&r->blocks, struct blocks *, row)
		row->stack = row->total ? stack_of(r, row->node) : NO_STACK;
	r->f.stated.end = r->now;
	add_samples(r, "peak", offsetof(struct blocks, at_peak), r->peak_time);
	add_samples(r, "total", offsetof(struct blocks, total), r->now);
	add_samples(r, "end", offsetof(struct blocks, now), r->now);
	return foreign_finish(&r->f, true, err);
}

static int heaptrack_read(struct profile **p, const char *text, size_t size,
			  struct import_counts *counts, struct error *err)
{
	struct heaptrack_reader r = {0};
	int ret;

	foreign_init(&r.f, counts);
	ret = read_lines(&r, text, size, err);
	foreign_end(&r.f, ret, p);
	vec_for_each(&r.strings, char **, string)
		free(*string);
	vec_release(&r.strings);
	vec_release(&r.frames);
	vec_release(&r.places);
	vec_release(&r.nodes);
	vec_release(&r.blocks);
	return ret;
}

/* Raw data has a line of the program's path, "x PATH", before its command. */
static bool heaptrack_matches(const char *text, size_t size)
{
	struct text_lines lines = text_lines_of(text, size);
	struct text_line line;
	uint64_t number;

	if (!text_lines_next(&lines, &line) || line.end - line.text < 2 || line.text[0] != 'v' ||
	    line.text[1] != ' ')
		return false;
	line.text++;
	return next_number(&line, &number) && next_number(&line, &number) &&
	       line.text == line.end && text_lines_next(&lines, &line) &&
	       line.end - line.text > 2 && line.text[0] == 'X' && line.text[1] == ' ';
}

const struct format format_heaptrack = {
	.name = "heaptrack",
	.suffixes = (const char *const[]){NULL},
	.is_timeline = true,
	.has_linker_names = true,
	.matches = heaptrack_matches,
	.read = heaptrack_read,
};
