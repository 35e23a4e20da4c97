/* SPDX-License-Identifier: MIT */
#include "lib/format/folded_read.h"

#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/text.h"
#include "lib/format/foreign.h"
#include "lib/format/text_lines.h"

/* Lines that must be stacks if the text is to be such a file. */
#define LINES_JUDGED 10

/* A line: "main;work;copy 12". */
struct folded_line {
	const char *stack, *end; /* without the blank */
	uint64_t weight;
};

/* False if the line has no count at its end. A count may have a fraction, which is cut off. */
static bool parse(struct text_line line, struct folded_line *parsed)
{
	const char *at = line.end, *number;

	while (at > line.text && strchr("0123456789.", at[-1]) && at[-1])
		at--;
	number = at;
	if (at == line.end || at - line.text < 2 || at[-1] != ' ')
		return false;
	parsed->stack = line.text;
	parsed->end = at - 1;
	return text_scan_decimal(&number, line.end, &parsed->weight) &&
	       (number == line.end || *number == '.');
}

/* Frames by what their functions are called. */
struct frames_by_name {
	struct strings names;
	VEC(frame_id) frames;
};

static bool ends_with(const char *text, size_t size, const char *ending)
{
	size_t length = strlen(ending);

	return size > length && !memcmp(text + size - length, ending, length);
}

static frame_id find_frame(struct foreign *f, struct frames_by_name *known, const char *text,
			   size_t size)
{
	string_id id = strings_intern_sized(&known->names, text, size);
	struct foreign_frame frame = {.module = NO_MODULE};

	if (id < known->frames.count)
		return known->frames.items[id];
	frame.name = strings_get(&known->names, id);
	frame.is_kernel = ends_with(text, size, "_[k]");
	frame.inline_depth = ends_with(text, size, "_[i]");
	vec_push(&known->frames, foreign_frame(f, &frame));
	return vec_last(&known->frames);
}

static stack_id find_stack(struct foreign *f, struct frames_by_name *known,
			   const struct folded_line *line)
{
	stack_id stack = NO_STACK;

	for (const char *at = line->stack; at < line->end;) {
		const char *semicolon = memchr(at, ';', (size_t)(line->end - at));
		const char *end = semicolon ? semicolon : line->end;

		if (end > at && !memchr(at, '\0', (size_t)(end - at)))
			stack = stacks_intern(&f->profile->stacks, stack,
					      find_frame(f, known, at, (size_t)(end - at)));
		at = semicolon ? semicolon + 1 : line->end;
	}
	return stack;
}

static int read_lines(struct foreign *f, struct frames_by_name *known, const char *text,
		      size_t size, struct error *err)
{
	struct text_lines lines = text_lines_of(text, size);
	thread_id thread = foreign_thread(f, 0, 0, NULL, "all", false);
	struct text_line line;

	while (text_lines_next(&lines, &line)) {
		struct folded_line parsed;

		if (line.text == line.end || *line.text == '#')
			continue;
		if (!parse(line, &parsed))
			return error_text(err, -EBADMSG,
					  "line %zu is not a stack and a number: a;b;c 12",
					  lines.number);
		foreign_sample(f, thread, 0, f->now, find_stack(f, known, &parsed), parsed.weight);
		foreign_pass(f, parsed.weight);
	}
	return foreign_finish(f, false, err);
}

int folded_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
		struct error *err)
{
	struct frames_by_name known = {0};
	struct import_counts own;
	struct foreign f;
	int ret;

	foreign_init(&f, counts, &own);
	f.profile->meta.product = xstrdup("folded stacks");
	f.profile->meta.interval_ns = 1000000;
	ret = read_lines(&f, &known, text, size, err);
	if (!ret)
		*p = f.profile;
	foreign_release(&f, ret);
	strings_release(&known.names);
	vec_release(&known.frames);
	return ret;
}

bool folded_matches(const char *text, size_t size)
{
	struct text_lines lines = text_lines_of(text, size);
	size_t found = 0;
	struct text_line line;

	while (found < LINES_JUDGED && text_lines_next(&lines, &line)) {
		struct folded_line parsed;

		if (line.text == line.end || *line.text == '#')
			continue;
		if (strchr("{[\n", *line.text) || !parse(line, &parsed) ||
		    memchr(line.text, '\0', (size_t)(line.end - line.text)))
			return false;
		found++;
	}
	return found;
}
