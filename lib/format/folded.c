/* SPDX-License-Identifier: MIT */
/*
 * Collapsed stacks for flame graphs: a line per distinct stack, its frames from the outermost on
 * with ';' between them, a blank, the weight in ticks of the clock. The process is the outermost
 * frame, followed by the thread if its name differs. Samples of other events are left out, unless
 * there are none of the clock: a line has room for one number without a unit.
 */
#include "lib/format/folded_read.h"
#include "lib/format/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/format/label_tree.h"

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

/* Walks the tree without recursion, whatever its depth; `stack` is the text so far. */
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

	/* The options and counts are about contents that such a file lacks. */
	(void)options;
	(void)counts;
	if (!p->threads.rows.count)
		return error_text(err, -ENODATA, "the recording has no thread");
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
