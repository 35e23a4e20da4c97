/* SPDX-License-Identifier: MIT */
#include "lib/format/label_tree.h"

/* Readers would parse "worker 5" and the following weight as two weights. */
static void join_last_number(struct strbuf *label)
{
	size_t at = label->size;

	while (at && strchr("0123456789.", label->text[at - 1]))
		at--;
	if (at && at < label->size && label->text[at - 1] == ' ')
		label->text[at - 1] = '_';
}

/* Names are untrusted: a line end or ';' in one could forge stacks or frames. */
static string_id intern_label(struct label_tree *t, struct strbuf *label)
{
	text_to_line(label->text);
	label->size = strlen(label->text);
	for (char *c = label->text; t->is_collapsed && (c = strchr(c, ';'));)
		*c = ':';
	if (t->is_collapsed)
		join_last_number(label);
	return strings_intern_sized(&t->labels, label->text, label->size);
}

static string_id name_label(struct label_tree *t, string_id name, const char *fallback, uint32_t id)
{
	_cleanup_(strbuf_release) struct strbuf label = {0};

	if (strings_size(&t->profile->strings, name))
		strbuf_adds(&label, strings_get(&t->profile->strings, name));
	else
		strbuf_addf(&label, "%s %" PRIu32, fallback, id);
	return intern_label(t, &label);
}

/* Distinguishes equal addresses in different files. */
static void add_module(const struct module *module, const struct strings *strings,
		       struct strbuf *label)
{
	const char *name = strings_get(strings, module->name);

	if (module_is_kernel(module) && *name != '[')
		name = "kernel";
	if (*name)
		strbuf_addf(label, *name == '[' ? " %s" : " [%s]", name);
}

static string_id new_frame_label(struct label_tree *t, const struct frame *frame)
{
	const struct profile *p = t->profile;
	const struct func *func = frame->func == NO_FUNC ? NULL : &p->funcs.rows.items[frame->func];
	const struct module *module = frame->module == NO_MODULE
					      ? NULL
					      : &p->modules.rows.items[frame->module];
	_cleanup_(strbuf_release) struct strbuf label = {0};

	if (func && strings_size(&p->strings, func->name))
		strbuf_adds(&label, strings_get(&p->strings, func->name));
	else
		strbuf_addf(&label, "0x%" PRIx64,
			    modules_address(&p->modules, frame->module, frame->offset));
	if (module && !(func && func->is_named))
		add_module(module, &p->strings, &label);
	return intern_label(t, &label);
}

static string_id frame_label(struct label_tree *t, frame_id id)
{
	if (t->frame_labels[id] == NO_STRING)
		t->frame_labels[id] = new_frame_label(t, &t->profile->frames.rows.items[id]);
	return t->frame_labels[id];
}

static uint8_t intern_kind(struct label_tree *t, const char *name, const char *color)
{
	_cleanup_(strbuf_release) struct strbuf safe = {0};
	struct label_kind kind;
	size_t at = 0;

	strbuf_adds(&safe, name);
	kind.name = intern_label(t, &safe);
	kind.color = strings_intern(&t->labels, color);
	while (at < t->kinds.count &&
	       (t->kinds.items[at].name != kind.name || t->kinds.items[at].color != kind.color))
		at++;
	if (at > UINT8_MAX)
		return LABEL_KIND_NONE;
	if (at == t->kinds.count)
		vec_push(&t->kinds, kind);
	return (uint8_t)at;
}

static uint8_t kind_of_category(struct label_tree *t, uint8_t category)
{
	const struct profile *p = t->profile;
	const char *name = "", *color = "grey";

	if (t->category_kinds[category] >= 0)
		return (uint8_t)t->category_kinds[category];
	if (category < p->categories.count) {
		name = p->categories.items[category].name;
		color = p->categories.items[category].color;
	} else if (!p->categories.count && category < CATEGORY_COUNT) {
		name = categories[category]->name;
		color = categories[category]->color;
	}
	t->category_kinds[category] = intern_kind(t, name, color);
	return (uint8_t)t->category_kinds[category];
}

/* A frame without a category of its own has that of its caller. */
static uint8_t kind_of_frame(struct label_tree *t, stack_id parent, frame_id frame)
{
	uint8_t category = t->frame_categories[frame].category;

	if (category != CATEGORY_OF_CALLER)
		return kind_of_category(t, category);
	return parent == NO_STACK ? LABEL_KIND_NONE : t->nodes.items[parent].kind;
}

static stack_id intern_node(struct label_tree *t, stack_id parent, string_id label, uint8_t kind,
			    bool is_inlined)
{
	stack_id node = stacks_intern(&t->tree, parent, label);

	if (node == t->nodes.count)
		vec_push(&t->nodes, (struct label_node){{0}, NO_STACK, NO_STACK, kind, is_inlined});
	return node;
}

INDEX_EQUAL(place_equal, struct label_tree, places, a->root == b->root && a->stack == b->stack)

static uint32_t find_place(const struct label_tree *t, stack_id root, stack_id stack)
{
	struct label_place wanted = {.root = root, .stack = stack};

	return index_find(&t->place_index, hash_pair(root, stack), place_equal, t, &wanted);
}

/* Walks outwards to a stack already in the tree, then adds the nodes on the way back. */
static stack_id find_node(struct label_tree *t, stack_id root, stack_id stack)
{
	const struct stack *stacks = t->profile->stacks.rows.items;
	stack_id node = root;

	for (; stack != NO_STACK; stack = stacks[stack].parent) {
		uint32_t place = find_place(t, root, stack);

		if (place != INDEX_NONE) {
			node = t->places.items[place].node;
			break;
		}
		vec_push(&t->path, stack);
	}
	while (t->path.count) {
		frame_id frame;

		stack = t->path.items[--t->path.count];
		frame = stacks[stack].frame;
		node = intern_node(t, node, frame_label(t, frame), kind_of_frame(t, node, frame),
				   t->profile->frames.rows.items[frame].inline_depth);
		index_add(&t->place_index, hash_pair(root, stack), (uint32_t)t->places.count);
		vec_push(&t->places, (struct label_place){root, stack, node});
	}
	return node;
}

static stack_id find_root(struct label_tree *t, const struct profile_thread *thread)
{
	string_id process, name;
	stack_id root;

	/* Files without processes contain only stacks. */
	if (!t->has_threads ||
	    (!thread->pid && !strings_size(&t->profile->strings, thread->process_name)))
		return NO_STACK;
	process = name_label(t, thread->process_name, "pid", thread->pid);
	name = name_label(t, thread->name, "tid", thread->tid);
	root = intern_node(t, NO_STACK, process, LABEL_KIND_NONE, false);
	return name == process ? root : intern_node(t, root, name, LABEL_KIND_NONE, false);
}

static void add_samples(struct label_tree *t, const struct profile_thread *thread, uint8_t event,
			int side)
{
	stack_id root = find_root(t, thread);

	samples_for_each(&thread->samples, sample) {
		stack_id node;

		if (sample->event != event)
			continue;
		node = find_node(t, root, sample->stack);
		if (node == NO_STACK)
			t->rootless[side] += sample->weight;
		else
			t->nodes.items[node].weight[side] += sample->weight;
	}
}

void label_tree_add(struct label_tree *t, const struct profile *p, int side)
{
	uint8_t event = profile_first_event(p);
	size_t frames = p->frames.rows.count;

	t->profile = p;
	t->frame_labels = xmalloc((frames + 1) * sizeof(*t->frame_labels));
	for (size_t i = 0; i < frames; i++)
		t->frame_labels[i] = NO_STRING;
	t->frame_categories = categories_of_frames(p);
	memset(t->category_kinds, 0xff, sizeof(t->category_kinds));
	if (!t->kinds.count)
		intern_kind(t, "", "");
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread)
		add_samples(t, thread, event, side);
	free(t->frame_labels);
	t->frame_labels = NULL;
	free(t->frame_categories);
	t->frame_categories = NULL;
	vec_release(&t->places);
	index_release(&t->place_index);
	vec_release(&t->path);
}

struct ranked_label {
	const char *text;
	string_id id;
};

ORDER(compare_labels, struct ranked_label, strcmp(a->text, b->text))

/* Returns the rank of each label in byte order. */
static uint32_t *rank_labels(const struct strings *labels)
{
	VEC(struct ranked_label) sorted = {0};
	uint32_t *ranks = xcalloc(labels->rows.count + 1, sizeof(*ranks));

	for (string_id i = 0; i < labels->rows.count; i++)
		vec_push(&sorted, (struct ranked_label){strings_get(labels, i), i});
	vec_sort(&sorted, compare_labels);
	for (size_t i = 0; i < sorted.count; i++)
		ranks[sorted.items[i].id] = (uint32_t)i;
	vec_release(&sorted);
	return ranks;
}

void label_tree_link(struct label_tree *t)
{
	_cleanup_free_ uint32_t *ranks = rank_labels(&t->labels);
	VEC(struct radix_row) order = {0};

	t->first_root = NO_STACK;
	for (stack_id i = 0; i < t->nodes.count; i++)
		vec_push(&order, (struct radix_row){ranks[t->tree.rows.items[i].frame], i});
	if (order.count)
		radix_sort(order.items, order.count);
	for (size_t i = order.count; i-- > 0;) {
		stack_id node = order.items[i].value, parent = t->tree.rows.items[node].parent;
		stack_id *first = parent == NO_STACK ? &t->first_root
						     : &t->nodes.items[parent].first_child;

		t->nodes.items[node].next_sibling = *first;
		*first = node;
	}
	vec_release(&order);
}

void label_tree_release(struct label_tree *t)
{
	strings_release(&t->labels);
	stacks_release(&t->tree);
	vec_release(&t->nodes);
	vec_release(&t->kinds);
	*t = (struct label_tree){0};
}

const char *label_tree_text(const struct label_tree *t, stack_id node)
{
	return strings_get(&t->labels, t->tree.rows.items[node].frame);
}
