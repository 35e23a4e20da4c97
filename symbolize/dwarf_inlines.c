/* SPDX-License-Identifier: MIT */
/* Which inlined calls of a function lie at an address, and what a whole chain of them looks like.
 */
#include <dwarf.h>

#include "lib/base/alloc.h"
#include "symbolize/debug_info.h"

#define NO_CALL UINT32_MAX

struct inline_walk {
	const struct unit *unit;
	struct inline_tree *tree;
	struct intervals intervals;
	struct work *work;
};

/* Other functions and types inside of this one have code and calls of their own. */
static bool is_part_of_function(int tag)
{
	return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
	       tag == DW_TAG_try_block || tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt ||
	       tag == DW_TAG_common_block;
}

static void walk_inlines(struct inline_walk *walk, Dwarf_Die *parent, uint32_t caller,
			 unsigned int depth)
{
	Dwarf_Die die, next;

	if (depth > MAX_DIE_DEPTH || dwarf_child(parent, &die) != 0)
		return;
	for (;;) {
		int tag = dwarf_tag(&die);
		uint32_t inner = caller;

		if (!work_take(walk->work, 1))
			return;
		if (tag == DW_TAG_inlined_subroutine) {
			inner = (uint32_t)walk->tree->calls.count;
			vec_push(&walk->tree->calls, (struct inlined_call){die, caller});
			die_add_ranges(walk->unit, &die, inner, depth, &walk->intervals,
				       walk->work);
		}
		if (is_part_of_function(tag))
			walk_inlines(walk, &die, inner, depth + 1);
		if (dwarf_siblingof(&die, &next) != 0)
			return;
		die = next;
	}
}

struct inline_tree *inline_tree_new(const struct unit *unit, Dwarf_Die *function, struct work *work)
{
	struct inline_tree *t = xcalloc(1, sizeof(*t));
	struct inline_walk walk = {.unit = unit, .tree = t, .work = work};

	walk_inlines(&walk, function, NO_CALL, 0);
	segments_build(&t->segments, &walk.intervals);
	vec_release(&walk.intervals.rows);
	return t;
}

void inline_tree_free(struct inline_tree *t)
{
	if (!t)
		return;
	vec_release(&t->calls);
	segments_release(&t->segments);
	free(t);
}

static size_t inline_tree_bytes(const struct inline_tree *t)
{
	return sizeof(*t) + t->calls.capacity * sizeof(struct inlined_call) +
	       t->segments.rows.capacity * sizeof(struct segment);
}

static uint64_t attribute_number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0)
		return 0;
	return value;
}

/* Where the line table is silent, the file that declares the function is the best guess. */
static void describe_place(struct debug_info *info, struct unit *unit, Dwarf_Die *function,
			   uint64_t addr, struct location *at)
{
	const struct line_row *row = line_table_find(&unit->detail->lines, addr);

	if (row) {
		at->file = unit_file(info, unit, row->file);
		at->line = row->line;
	} else if (function) {
		at->file = unit_file(info, unit, attribute_number(function, DW_AT_decl_file));
	}
}

static void describe_call(struct debug_info *info, struct unit *unit, Dwarf_Die *call,
			  struct location *at)
{
	uint64_t line = attribute_number(call, DW_AT_call_line);

	at->file = unit_file(info, unit, attribute_number(call, DW_AT_call_file));
	at->line = line <= UINT32_MAX ? (uint32_t)line : 0;
}

/*
 * Every level but the innermost is where it calls the next one: file and line of that call stand
 * with the entry of the callee. The file is always the one that the line is in, which for included
 * code is not the one that declares the function.
 */
void describe_address(struct debug_info *info, struct unit *unit, struct function *function,
		      uint64_t addr, struct answer *answer)
{
	const struct inline_tree *tree;
	uint32_t call = NO_CALL;
	size_t depth = 1;

	if (function && !function->inlines) {
		function->inlines = inline_tree_new(unit, &function->die, &info->work);
		info->detail_bytes += inline_tree_bytes(function->inlines);
	}
	tree = function ? function->inlines : NULL;
	if (tree)
		call = segments_find(&tree->segments, addr);
	for (uint32_t at = call; at != NO_CALL; at = tree->calls.items[at].parent)
		depth++;
	answer->depth = depth;
	answer->chain = arena_alloc(&info->arena, depth * sizeof(*answer->chain));
	memset(answer->chain, 0, depth * sizeof(*answer->chain));
	describe_place(info, unit, function ? &function->die : NULL, addr,
		       &answer->chain[depth - 1]);
	for (size_t level = depth - 1; level > 0; level--) {
		Dwarf_Die *die = &tree->calls.items[call].die;

		answer->chain[level].func = die_function_name(info, die);
		describe_call(info, unit, die, &answer->chain[level - 1]);
		call = tree->calls.items[call].parent;
	}
	if (function)
		answer->chain[0].func = die_function_name(info, &function->die);
}
