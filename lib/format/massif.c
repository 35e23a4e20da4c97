/* SPDX-License-Identifier: MIT */
/*
 * massif's files: the size of the heap over time, which becomes counters, and allocation trees at
 * some moments; the one at the peak becomes stacks.
 */
#include "lib/format/format.h"

#include "lib/format/text_lines.h"
#include "lib/format/valgrind_frame.h"

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
