/* SPDX-License-Identifier: MIT */
/*
 * V8's heap profiles (--heap-prof): a tree of functions with the bytes held by each. The list of
 * samples, if present, contains less: only samples still held, unscaled.
 */
#include "lib/format/format.h"

#include "lib/format/v8_tree.h"

struct heap_node {
	struct span text;
	stack_id parent;
};

struct heap_reader {
	struct foreign f;
	struct json_cursor s; /* cursor over the whole text */
	struct json_ends *ends;
	VEC(struct heap_node) open;
	uint8_t event;
	thread_id thread;
};

static bool read_node(struct heap_reader *r, struct heap_node node)
{
	static const char *const names[] = {"callFrame", "selfSize", "children", NULL};
	struct span spans[3] = {{0}};
	struct json_cursor s = json_cursor_within(&r->s, node.text);
	size_t first = r->open.count;
	stack_id stack;
	double bytes;

	if (!json_cursor_find(s, names, spans))
		return false;
	stack = stacks_intern(&r->f.profile->stacks, node.parent, v8_frame(&r->f, &r->s, spans[0]));
	bytes = json_members_number_at(&r->s, spans[1]);
	if (bytes > 0 && bytes < 9e18) {
		foreign_sample(&r->f, r->thread, r->event, r->f.now, stack, (uint64_t)bytes);
		foreign_pass(&r->f, 1);
	}
	if (!spans[2].end)
		return true;
	s = json_cursor_within(&r->s, spans[2]);
	json_for_each_element_if_any(&s, i) {
		struct heap_node child = {.parent = stack};

		if (json_cursor_value(&s, &child.text))
			vec_push(&r->open, child);
	}
	/* The first child comes next. */
	for (size_t last = r->open.count; first + 1 < last; first++, last--) {
		struct heap_node child = r->open.items[first];

		r->open.items[first] = r->open.items[last - 1];
		r->open.items[last - 1] = child;
	}
	return !s.failed;
}

static int read_tree(struct heap_reader *r, const char *text, size_t size, struct error *err)
{
	static const char *const names[] = {"head", NULL};
	struct heap_node head = {.parent = NO_STACK};

	if (foreign_json(&r->s, text, size, r->ends, err))
		return -EBADMSG;
	if (!json_cursor_find(r->s, names, &head.text) || !head.text.end)
		return error_text(err, -EBADMSG, "not a V8 heap profile");
	r->f.profile->meta.product = xstrdup("V8");
	r->event = foreign_measure(&r->f, "heap", "bytes", EVENT_IS_EXACT);
	r->thread = foreign_thread(&r->f, 0, 0, "V8", "main", false);
	vec_push(&r->open, head);
	while (r->open.count) {
		head = vec_last(&r->open);
		r->open.count--;
		if (!read_node(r, head))
			return error_text(err, -EBADMSG,
					  "the heap profile is damaged: invalid nodes");
	}
	return foreign_finish(&r->f, false, err);
}

static int heapprofile_read(struct profile **p, const char *text, size_t size,
			    struct import_counts *counts, struct error *err)
{
	_cleanup_free_ struct json_ends *ends = xcalloc(1, sizeof(*ends));
	struct heap_reader r = {.ends = ends};
	int ret;

	foreign_init(&r.f, counts);
	ret = read_tree(&r, text, size, err);
	foreign_end(&r.f, ret, p);
	vec_release(&r.open);
	return ret;
}

static bool heapprofile_matches(const char *text, size_t size)
{
	static const char *const wanted[] = {"head", NULL};
	static const char *const others[] = {"meta", "threads", "shared", "profiles", NULL};

	return json_members_begin(text, size, wanted, others);
}

const struct format format_heapprofile = {
	.name = "heapprofile",
	.suffixes = (const char *const[]){NULL},
	.matches = heapprofile_matches,
	.read = heapprofile_read,
};
