/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/format/foreign.h"
#include "lib/format/format.h"
#include "lib/format/label_tree.h"
#include "lib/format/text_lines.h"

/* Number of lines that must be stacks for the text to match. */
#define LINES_JUDGED 10

/* A line: "main;work;copy 12". */
struct folded_line {
	const char *stack, *end; /* stack without the trailing blank */
	uint64_t weight;
};

/* False if the line does not end in a count. Fractions of a count are truncated. */
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

/* Frames by function name. */
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
	thread_id thread = foreign_thread(f, 0, 0, NULL, FOREIGN_ALL, false);
	struct text_line line;

	while (text_lines_next(&lines, &line)) {
		struct folded_line parsed;

		if (line.text == line.end || *line.text == '#')
			continue;
		if (!parse(line, &parsed))
			return error_text(err, -EBADMSG,
					  "line %zu is not a stack and a number, such as a;b;c 12",
					  lines.number);
		foreign_sample(f, thread, 0, f->now, find_stack(f, known, &parsed), parsed.weight);
		foreign_pass(f, parsed.weight);
	}
	return foreign_finish(f, false, err);
}

static int folded_read(struct profile **p, const char *text, size_t size,
		       struct import_counts *counts, struct error *err)
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

/*
 * Implement struct format. All stacks belong to one thread. Suffixes _[k], _[i] and _[j] of names,
 * for kernel, inlined and just-in-time compiled code, stay in them; the first two are interpreted.
 */
static bool folded_matches(const char *text, size_t size)
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

/*
 * Collapsed stacks for flame graphs: a line per distinct stack, its frames from the outermost on,
 * joined by ';', a blank, the weight in clock ticks. The process is the outermost frame, followed
 * by the thread if its name differs. Samples of other events are omitted unless there are no ticks:
 * a line has room for one number without a unit.
 */

static void write_node(const struct label_tree *t, stack_id node, struct strbuf *stack,
		       struct outfile *out)
{
	char weight[24];
	int size = snprintf(weight, sizeof(weight), " %" PRIu64 "\n",
			    t->nodes.items[node].weight[0]);

	if (!t->nodes.items[node].weight[0])
		return;
	outfile_write(out, stack->text, stack->size);
	outfile_write(out, weight, (size_t)size);
}

/* Walks the tree without recursion, as it may be deep; `stack` is the text so far. */
static void write_tree(const struct label_tree *t, stack_id node, struct outfile *out)
{
	_cleanup_(strbuf_release) struct strbuf stack = {0};

	while (node != NO_STACK && !outfile_failed(out)) {
		const struct label_node *row = &t->nodes.items[node];

		strbuf_adds(&stack, label_tree_text(t, node));
		write_node(t, node, &stack, out);
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

	/* The options and counts concern contents that such a file lacks. */
	(void)options;
	(void)counts;
	if (!p->threads.rows.count)
		return error_text(err, -ENODATA, "the recording has no threads");
	label_tree_add(&t, p, 0);
	label_tree_link(&t);
	write_tree(&t, t.first_root, out);
	label_tree_release(&t);
	return 0;
}

const struct format format_folded = {
	.name = "folded",
	.suffixes = (const char *const[]){".folded", NULL},
	.is_plain = true,
	.matches = folded_matches,
	.read = folded_read,
	.write = folded_write,
};
