/* SPDX-License-Identifier: MIT */
#include "lib/format/v8_tree.h"

#include "lib/model/meaning/categories.h"

#define INTERVAL_MIN_NS 1000
/* Samples shorter than this fraction of the mean do not count individually. */
#define SHORTEST 100

INDEX_HAS(node_equal, struct v8_tree, nodes, id)

uint32_t v8_tree_find(const struct v8_tree *t, int64_t id)
{
	return index_find(&t->index, hash_u64((uint64_t)id), node_equal, t, &id);
}

void v8_tree_release(struct v8_tree *t)
{
	vec_release(&t->nodes);
	index_release(&t->index);
	vec_release(&t->path);
}

/* Lines and columns of the file count from 0. */
static uint32_t place(double number)
{
	return number >= 0 && number < INT32_MAX ? (uint32_t)number + 1 : 0;
}

frame_id v8_frame(struct foreign *f, const struct json_cursor *whole, struct span span)
{
	static const char *const names[] = {"functionName", "url", "lineNumber", "columnNumber",
					    NULL};
	const struct frame_category idle = {CATEGORY_IDLE, IDLE_OTHER};
	struct span spans[4] = {{0}};
	_cleanup_free_ char *name = NULL, *url = NULL;
	struct foreign_frame frame = {.module = NO_MODULE};

	if (span.end)
		json_cursor_find(json_cursor_within(whole, span), names, spans);
	name = json_members_text_at(whole, spans[0]);
	url = json_members_text_at(whole, spans[1]);
	if (strcmp(name, "(idle)") == 0)
		return label_frames_intern(f->profile, strings_intern(&f->profile->strings, name),
					   idle);
	frame.name = *name ? name : "(anonymous)";
	frame.file = url;
	frame.is_js = *url;
	if (*url) {
		frame.func_line = place(json_members_number_at(whole, spans[2]));
		frame.func_column = place(json_members_number_at(whole, spans[3]));
	}
	return foreign_frame(f, &frame);
}

/* Before version 8 of V8, a node itself has the members of its call frame. */
static void read_node(struct v8_tree *t, struct foreign *f, struct json_cursor s, uint32_t parent)
{
	static const char *const names[] = {"id", "callFrame", "children", "parent", NULL};
	struct v8_node node = {.parent = parent};
	struct span spans[4] = {{0}};
	struct json_cursor whole = s;

	json_cursor_find(s, names, spans);
	node.id = (int64_t)json_members_number_at(&s, spans[0]);
	if (v8_tree_find(t, node.id) != INDEX_NONE)
		return;
	if (!spans[1].end)
		json_cursor_value(&whole, &spans[1]);
	node.children = spans[2];
	node.parent_id = (int64_t)json_members_number_at(&s, spans[3]);
	node.frame = v8_frame(f, &s, spans[1]);
	index_add(&t->index, hash_u64((uint64_t)node.id), (uint32_t)t->nodes.count);
	vec_push(&t->nodes, node);
}

/* Children are ids, or, before version 8, the nodes themselves. */
static void link_children(struct v8_tree *t, struct foreign *f, const struct json_cursor *whole,
			  uint32_t parent)
{
	struct json_cursor s = json_cursor_within(whole, t->nodes.items[parent].children);

	if (!t->nodes.items[parent].children.end || json_cursor_peek(&s) != '[')
		return;
	json_for_each_element(&s, i) {
		uint32_t child;

		if (json_cursor_peek(&s) == '{') {
			read_node(t, f, s, parent);
			continue;
		}
		child = v8_tree_find(t, (int64_t)json_members_number(&s));
		if (child != INDEX_NONE)
			t->nodes.items[child].parent = parent;
	}
}

bool v8_tree_add(struct v8_tree *t, struct foreign *f, struct json_cursor s)
{
	uint32_t first = (uint32_t)t->nodes.count;
	struct json_cursor whole = s;

	if (json_cursor_peek(&s) == '{') {
		read_node(t, f, s, INDEX_NONE);
	} else {
		json_for_each_element(&s, i)
			read_node(t, f, s, INDEX_NONE);
	}
	for (uint32_t i = first; i < t->nodes.count; i++)
		link_children(t, f, &whole, i);
	return !s.failed;
}

/* A parent may have been added after its children. */
static uint32_t parent_of(const struct v8_tree *t, uint32_t row)
{
	const struct v8_node *node = &t->nodes.items[row];

	return node->parent_id ? v8_tree_find(t, node->parent_id) : node->parent;
}

/* Walks up to a node whose stack is known. A cycle ends at its start. */
stack_id v8_tree_stack(struct v8_tree *t, struct foreign *f, uint32_t at)
{
	stack_id stack = NO_STACK;

	vec_clear(&t->path);
	for (; at != INDEX_NONE && !t->nodes.items[at].is_known; at = parent_of(t, at)) {
		t->nodes.items[at].is_known = true;
		t->nodes.items[at].stack = NO_STACK;
		vec_push(&t->path, at);
	}
	if (at != INDEX_NONE)
		stack = t->nodes.items[at].stack;
	while (t->path.count) {
		struct v8_node *node = &t->nodes.items[t->path.items[--t->path.count]];

		stack = stacks_intern(&f->profile->stacks, stack, node->frame);
		node->stack = stack;
	}
	return stack;
}

/* A walk over samples, which needs the time of the next one. */
struct next_sample {
	struct sample_iterator rows;
	const struct sample *next;
	struct sample sample;
	uint64_t length;
};

static struct next_sample next_begin(struct sample_iterator rows)
{
	struct next_sample n = {.rows = rows};

	n.next = sample_iterator_next(&n.rows);
	return n;
}

/* Finds the time until the next sample. The last one lasts until the end, if that is known. */
static bool next_step(const struct v8_samples *samples, struct next_sample *n)
{
	if (!n->next) {
		sample_iterator_release(&n->rows);
		return false;
	}
	n->sample = *n->next;
	n->next = sample_iterator_next(&n->rows);
	if (n->next)
		n->length = n->next->time - n->sample.time;
	else if (samples->end)
		n->length = samples->end > n->sample.time ? samples->end - n->sample.time : 0;
	else
		n->length = samples->mean;
	return true;
}

uint64_t v8_samples_interval(const struct v8_samples *samples)
{
	uint64_t mean = samples->mean;
	uint64_t least = mean / SHORTEST > INTERVAL_MIN_NS ? mean / SHORTEST : INTERVAL_MIN_NS;
	uint64_t shortest = mean > least ? mean : least;
	struct next_sample n = next_begin(samples_begin(&samples->rows));
	VEC(double) lengths = {0};

	while (next_step(samples, &n)) {
		uint64_t length = n.length;

		if (length && lengths.count < FOREIGN_LENGTHS_MAX)
			vec_push(&lengths, (double)length);
		if (length && length < shortest)
			shortest = length > least ? length : least;
	}
	shortest = (uint64_t)foreign_interval(lengths.items, lengths.count, (double)shortest,
					      (double)least);
	vec_release(&lengths);
	return shortest;
}

/* The rounding error is carried to the next sample. */
void v8_samples_add(struct v8_samples *samples, struct foreign *f, thread_id thread, bool has_times)
{
	int64_t interval = (int64_t)f->profile->meta.interval_ns, rest = 0;
	struct next_sample n = next_begin(samples_begin_free(&samples->rows));

	while (next_step(samples, &n)) {
		int64_t ticks = 1;

		if (has_times) {
			rest += (int64_t)n.length;
			ticks = rest > 0 ? (rest + interval / 2) / interval : 0;
			rest -= ticks * interval;
		}
		foreign_sample(f, thread, 0, has_times ? n.sample.time : f->now, n.sample.stack,
			       (uint64_t)ticks);
		foreign_pass(f, (uint64_t)ticks);
	}
}
