/* SPDX-License-Identifier: MIT */
/*
 * Collapsed stacks for flame graphs: a line per distinct stack, its frames from the outermost on
 * with ';' between them, a blank, the weight in ticks of the clock. The process is the outermost
 * frame, followed by the thread if its name differs. Samples of other events are left out: a line
 * has room for one number without a unit.
 */
#include "lib/format/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/radix.h"
#include "lib/base/text.h"

/* Maps a stack of the profile to its node below a root. */
struct folded_place {
	stack_id root, stack;
	stack_id node;
};

struct folded_node {
	uint64_t weight; /* of samples that end there */
	stack_id first_child, next_sibling; /* in order of the file, or NO_STACK */
};

struct folded {
	const struct profile *profile;
	struct strings labels;
	string_id *frame_labels; /* by frame_id; NO_STRING: not made yet */
	struct stacks tree; /* frames are labels, roots are processes */
	VEC(struct folded_node) nodes; /* by id in tree */
	VEC(struct folded_place) places;
	struct index place_index;
	VEC(stack_id) path; /* scratch space of find_node() */
};

/* Readers would take "worker 5" and the weight after it for two weights. */
static void join_last_number(struct strbuf *label)
{
	size_t at = label->size;

	while (at && strchr("0123456789.", label->text[at - 1]))
		at--;
	if (at && at < label->size && label->text[at - 1] == ' ')
		label->text[at - 1] = '_';
}

/* Names are untrusted: a line end or ';' in one could forge stacks or frames. */
static string_id intern_label(struct folded *f, struct strbuf *label)
{
	text_to_line(label->text);
	label->size = strlen(label->text);
	for (char *c = label->text; (c = strchr(c, ';'));)
		*c = ':';
	join_last_number(label);
	return strings_intern_sized(&f->labels, label->text, label->size);
}

static string_id name_label(struct folded *f, string_id name, const char *fallback, uint32_t id)
{
	_cleanup_(strbuf_release) struct strbuf label = {0};

	if (strings_size(&f->profile->strings, name))
		strbuf_adds(&label, strings_get(&f->profile->strings, name));
	else
		strbuf_addf(&label, "%s %" PRIu32, fallback, id);
	return intern_label(f, &label);
}

/* Tells equal addresses in different files apart. */
static void add_module(const struct module *module, const struct strings *strings,
		       struct strbuf *label)
{
	const char *name = strings_get(strings, module->name);

	if (module_is_kernel(module) && *name != '[')
		name = "kernel";
	if (*name)
		strbuf_addf(label, *name == '[' ? " %s" : " [%s]", name);
}

static string_id new_frame_label(struct folded *f, const struct frame *frame)
{
	const struct profile *p = f->profile;
	const struct func *func = frame->func == NO_FUNC ? NULL : &p->funcs.rows.items[frame->func];
	const struct module *module = frame->module == NO_MODULE
					      ? NULL
					      : &p->modules.rows.items[frame->module];
	_cleanup_(strbuf_release) struct strbuf label = {0};
	uint64_t address = frame->offset;

	if (module)
		module_offset_to_rva(module, frame->offset, &address);
	if (func && strings_size(&p->strings, func->name))
		strbuf_adds(&label, strings_get(&p->strings, func->name));
	else
		strbuf_addf(&label, "0x%" PRIx64, address);
	if (module && !(func && func->is_named))
		add_module(module, &p->strings, &label);
	return intern_label(f, &label);
}

static string_id frame_label(struct folded *f, frame_id id)
{
	if (f->frame_labels[id] == NO_STRING)
		f->frame_labels[id] = new_frame_label(f, &f->profile->frames.rows.items[id]);
	return f->frame_labels[id];
}

static stack_id intern_node(struct folded *f, stack_id parent, string_id label)
{
	stack_id node = stacks_intern(&f->tree, parent, label);

	if (node == f->nodes.count)
		vec_push(&f->nodes, (struct folded_node){0, NO_STACK, NO_STACK});
	return node;
}

static bool place_equal(const void *table, uint32_t id, const void *key)
{
	const struct folded_place *row = &((const struct folded *)table)->places.items[id];
	const struct folded_place *wanted = key;

	return row->root == wanted->root && row->stack == wanted->stack;
}

static uint32_t find_place(const struct folded *f, stack_id root, stack_id stack)
{
	struct folded_place wanted = {.root = root, .stack = stack};

	return index_find(&f->place_index, hash_pair(root, stack), place_equal, f, &wanted);
}

/* Walks outwards to a stack that the tree has, then adds the nodes on the way back. */
static stack_id find_node(struct folded *f, stack_id root, stack_id stack)
{
	const struct stack *stacks = f->profile->stacks.rows.items;
	stack_id node = root;

	for (; stack != NO_STACK; stack = stacks[stack].parent) {
		uint32_t place = find_place(f, root, stack);

		if (place != INDEX_NONE) {
			node = f->places.items[place].node;
			break;
		}
		vec_push(&f->path, stack);
	}
	while (f->path.count) {
		stack = f->path.items[--f->path.count];
		node = intern_node(f, node, frame_label(f, stacks[stack].frame));
		index_add(&f->place_index, hash_pair(root, stack), (uint32_t)f->places.count);
		vec_push(&f->places, (struct folded_place){root, stack, node});
	}
	return node;
}

static stack_id find_root(struct folded *f, const struct profile_thread *thread)
{
	string_id process = name_label(f, thread->process_name, "pid", thread->pid);
	string_id name = name_label(f, thread->name, "tid", thread->tid);
	stack_id root = intern_node(f, NO_STACK, process);

	return name == process ? root : intern_node(f, root, name);
}

static void add_samples(struct folded *f, const struct profile_thread *thread)
{
	stack_id root = find_root(f, thread);

	vec_for_each(&thread->samples, const struct sample *, sample) {
		stack_id node;

		if (sample->event)
			continue;
		node = find_node(f, root, sample->stack);
		f->nodes.items[node].weight += sample->weight;
	}
}

struct folded_label {
	const char *text;
	string_id id;
};

static int compare_labels(const void *a, const void *b)
{
	return strcmp(((const struct folded_label *)a)->text,
		      ((const struct folded_label *)b)->text);
}

/* Rank of each label in byte order. */
static uint32_t *rank_labels(const struct strings *labels)
{
	VEC(struct folded_label) sorted = {0};
	uint32_t *ranks = xcalloc(labels->rows.count + 1, sizeof(*ranks));

	for (string_id i = 0; i < labels->rows.count; i++)
		vec_push(&sorted, (struct folded_label){strings_get(labels, i), i});
	vec_sort(&sorted, compare_labels);
	for (size_t i = 0; i < sorted.count; i++)
		ranks[sorted.items[i].id] = (uint32_t)i;
	vec_release(&sorted);
	return ranks;
}

/* Links siblings in order of labels. Returns the first root. */
static stack_id link_nodes(struct folded *f)
{
	_cleanup_free_ uint32_t *ranks = rank_labels(&f->labels);
	VEC(struct radix_row) order = {0};
	stack_id first_root = NO_STACK;

	for (stack_id i = 0; i < f->nodes.count; i++)
		vec_push(&order, (struct radix_row){ranks[f->tree.rows.items[i].frame], i});
	if (order.count)
		radix_sort(order.items, order.count);
	for (size_t i = order.count; i-- > 0;) {
		stack_id node = order.items[i].value, parent = f->tree.rows.items[node].parent;
		stack_id *first = parent == NO_STACK ? &first_root
						     : &f->nodes.items[parent].first_child;

		f->nodes.items[node].next_sibling = *first;
		*first = node;
	}
	vec_release(&order);
	return first_root;
}

static void write_node(const struct folded *f, stack_id node, struct strbuf *stack,
		       struct outfile *out)
{
	char weight[24];
	int size = snprintf(weight, sizeof(weight), " %" PRIu64 "\n", f->nodes.items[node].weight);

	if (!f->nodes.items[node].weight)
		return;
	outfile_write(out, stack->text, stack->size);
	outfile_write(out, weight, (size_t)size);
}

/* Walks the tree without recursion, whatever its depth; `stack` is the text so far. */
static void write_tree(const struct folded *f, stack_id node, struct outfile *out)
{
	_cleanup_(strbuf_release) struct strbuf stack = {0};

	while (node != NO_STACK && !outfile_failed(out)) {
		const struct folded_node *row = &f->nodes.items[node];

		strbuf_adds(&stack, strings_get(&f->labels, f->tree.rows.items[node].frame));
		write_node(f, node, &stack, out);
		if (row->first_child != NO_STACK) {
			strbuf_addch(&stack, ';');
			node = row->first_child;
			continue;
		}
		for (; node != NO_STACK; node = f->tree.rows.items[node].parent) {
			stack.size -= strings_size(&f->labels, f->tree.rows.items[node].frame);
			if (f->nodes.items[node].next_sibling != NO_STACK)
				break;
			stack.size -= stack.size > 0;
		}
		if (node != NO_STACK)
			node = f->nodes.items[node].next_sibling;
	}
}

static int folded_write(const struct profile *p, const struct export_options *options,
			struct outfile *out, struct export_counts *counts, struct error *err)
{
	size_t frames = p->frames.rows.count;
	struct folded f = {.profile = p};

	/* Such a file has nothing that options or counts are about. */
	(void)options;
	(void)counts;
	if (!p->threads.rows.count)
		return error_text(err, -ENODATA, "the recording has no thread");
	f.frame_labels = xmalloc((frames + 1) * sizeof(*f.frame_labels));
	for (size_t i = 0; i < frames; i++)
		f.frame_labels[i] = NO_STRING;
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread)
		add_samples(&f, thread);
	write_tree(&f, link_nodes(&f), out);

	strings_release(&f.labels);
	free(f.frame_labels);
	stacks_release(&f.tree);
	vec_release(&f.nodes);
	vec_release(&f.places);
	index_release(&f.place_index);
	vec_release(&f.path);
	return 0;
}

const struct format format_folded = {
	.name = "folded",
	.suffixes = (const char *const[]){".folded", NULL},
	.is_plain = true,
	.write = folded_write,
};
