/* SPDX-License-Identifier: MIT */
/* dhat's heap profiles: bytes and blocks of each stack in total, at the peak and at the end. */
#include "lib/format/format.h"

#include "lib/format/valgrind_frame.h"

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
