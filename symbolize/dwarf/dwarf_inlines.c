/* SPDX-License-Identifier: MIT */
/* Finds the inlined calls of a function at an address and describes their whole chain. */
#include <dwarf.h>

#include "lib/base/alloc.h"
#include "symbolize/dwarf/debug_info.h"

#define NO_CALL UINT32_MAX

/* False for functions and types inside this one, which have code and calls of their own. */
static bool is_part_of_function(int tag)
{
	return tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block ||
	       tag == DW_TAG_try_block || tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt ||
	       tag == DW_TAG_common_block;
}

struct inline_tree *inline_tree_new(struct debug_info *info, const struct unit *unit,
				    const struct function *function)
{
	struct inline_tree *t = xcalloc(1, sizeof(*t));
	uint32_t callers[MAX_DIE_DEPTH + 1] = {NO_CALL}; /* by depth */
	struct intervals intervals = {0};
	struct die_walk walk;
	struct die_entry e;

	if (!unit_walk_open(info, unit, &walk))
		return t;
	die_walk_enter(&walk, function->at);
	while (die_walk_next(&walk, &e)) {
		uint32_t inner;

		if (!is_part_of_function((int)e.tag) || e.depth >= MAX_DIE_DEPTH) {
			die_walk_skip(&walk, &e);
			continue;
		}
		inner = callers[e.depth];
		if (e.tag == DW_TAG_inlined_subroutine) {
			inner = (uint32_t)t->calls.count;
			vec_push(&t->calls, (struct inlined_call){e.at, callers[e.depth]});
			entry_add_ranges(unit, &e, inner, e.depth, &intervals, &info->budget);
		}
		callers[e.depth + 1] = inner;
	}
	segments_build(&t->segments, &intervals);
	vec_release(&intervals.rows);
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

/* Without a row in the line table, the file that declares the function is the best guess. */
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
 * Every level except the innermost is at its call of the next one; the callee's entry has file and
 * line of that call. The file is always the line's own; for included code it differs from the one
 * that declares the function.
 */
void describe_address(struct debug_info *info, struct unit *unit, struct function *function,
		      uint64_t addr, struct answer *answer)
{
	const struct inline_tree *tree;
	uint32_t call = NO_CALL;
	size_t depth = 1;
	Dwarf_Die die;

	if (function && !function->inlines) {
		function->inlines = inline_tree_new(info, unit, function);
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
	if (function)
		die = unit_die_at(unit, function->at);
	describe_place(info, unit, function ? &die : NULL, addr, &answer->chain[depth - 1]);
	if (function)
		answer->chain[0].func = die_function_name(info, &die);
	for (size_t level = depth - 1; level > 0; level--) {
		die = unit_die_at(unit, tree->calls.items[call].at);
		answer->chain[level].func = die_function_name(info, &die);
		describe_call(info, unit, &die, &answer->chain[level - 1]);
		call = tree->calls.items[call].parent;
	}
}
