/* SPDX-License-Identifier: MIT */
#include "tests/bench/walk_classes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"

const char *const walk_verdict_names[VERDICT_COUNT] = {
	[VERDICT_EQUAL] = "equal",	     [VERDICT_LONGER] = "longer",
	[VERDICT_SHORTER] = "shorter",	     [VERDICT_DIFFERENT] = "different",
	[VERDICT_OTHER_KIND] = "other_kind",
};

static void add_reg(struct strbuf *to, unsigned int reg)
{
	static const char *const names[] = {"sp", "fp", "base", "ra"};

	if (reg < UNWIND_REG_OTHER)
		strbuf_adds(to, names[reg]);
	else
		strbuf_addf(to, "r%u", reg - UNWIND_REG_OTHER);
}

static void add_value(struct strbuf *to, const char *name, unsigned int kind, int offset)
{
	static const char *const kinds[] = {"same", "cfa", "at", "?"};

	strbuf_addf(to, " %s=%s%+d", name, kinds[kind], kind == UNWIND_UNKNOWN ? 0 : offset * 8);
}

static void add_rule(struct strbuf *to, const struct unwind_rule *rule)
{
	if (!rule || rule->cfa_kind == UNWIND_CFA_NONE || rule->cfa_kind == UNWIND_CFA_END) {
		strbuf_adds(to, !rule				   ? "no mapping"
				: rule->cfa_kind == UNWIND_CFA_END ? "end"
								   : "no rule");
		return;
	}
	bool is_deref = rule->cfa_kind >= UNWIND_CFA_DEREF &&
			rule->cfa_kind <= UNWIND_CFA_DEREF_TWICE;

	if (rule->cfa_kind == UNWIND_CFA_DEREF_TWICE)
		strbuf_addf(to, "*(%+d+", UNWIND_INDEX_REG(rule->flags) * 8);
	if (is_deref)
		strbuf_addf(to, "*(%+d+", rule->cfa_deref * 8);
	add_reg(to, rule->cfa_reg);
	if (rule->cfa_kind == UNWIND_CFA_INDEXED) {
		strbuf_adds(to, "+8*");
		add_reg(to, UNWIND_INDEX_REG(rule->flags));
	}
	strbuf_addf(to, is_deref ? ")%+d" : "%+d", rule->cfa_offset);
	if (rule->cfa_kind == UNWIND_CFA_DEREF_TWICE)
		strbuf_addc(to, ')');
	if (rule->cfa_kind == UNWIND_CFA_PLT)
		strbuf_adds(to, " plt");
	add_value(to, "ra", UNWIND_RA_KIND(rule->kinds), rule->ra_offset);
	add_value(to, "fp", UNWIND_FP_KIND(rule->kinds), rule->fp_offset);
	add_value(to, "base", UNWIND_BASE_KIND(rule->kinds), rule->base_offset);
	if (rule->flags & UNWIND_SIGNAL_FRAME)
		strbuf_adds(to, " signal");
}

static const char *end_name(const struct walk_path *path)
{
	if (path->flags & STACK_WHOLE)
		return "whole";
	if (path->flags & STACK_TRUNCATED)
		return "truncated";
	return path->flags & STACK_UNKNOWN ? "unknown" : "broken";
}

/* Appends how each walk continues after the last common frame. */
static void add_next(struct strbuf *to, const struct walk_difference *d)
{
	static const char *const kinds[] = {
		[FRAME_NATIVE] = "native",
		[FRAME_KERNEL] = "kernel",
		[FRAME_GUESS] = "guess",
		[FRAME_SIGNAL] = "signal",
	};

	if (d->common < d->ours->depth)
		strbuf_addf(to, " ours: %s", kinds[d->ours->kinds[d->common] & 3]);
	else
		strbuf_addf(to, " ours: %s", end_name(d->ours));
	if (d->common < d->theirs->depth)
		strbuf_adds(to, " libdw: frame");
	else
		strbuf_addf(to, " libdw: %s",
			    d->theirs->is_end	? "whole"
			    : d->theirs->is_cut ? "truncated"
			    : d->theirs->error	? d->theirs->error
						: "?");
	if (d->theirs->left_copy)
		strbuf_adds(to, d->item->is_full ? " (beyond the copy)" : " (beyond the stack)");
	if (d->theirs->below_copy)
		strbuf_adds(to, " (below sp)");
}

/* Address of the last common frame, to look up its function and rule. */
static uint64_t last_common(const struct walk_difference *d, bool *is_return)
{
	*is_return = d->common && d->ours->kinds[d->common - 1] != FRAME_SIGNAL;
	return d->common ? d->ours->addrs[d->common - 1] : d->item->regs.pc;
}

static void describe(struct strbuf *to, const struct walk_spaces *spaces,
		     const struct walk_difference *d)
{
	const struct unwind_mapping *mapping;
	const char *path, *name;
	uint64_t addr;
	bool is_return;

	addr = last_common(d, &is_return);
	addr -= is_return;
	path = walk_spaces_path(spaces, d->space, addr);
	name = strrchr(path, '/');
	strbuf_addf(to, "%s in %s %s%s, by ", walk_verdict_names[d->verdict],
		    name ? name + 1 : path, libdw_function(d->space->libdw, addr),
		    d->common ? "" : " (top)");
	add_rule(to, walk_tables_rule(&spaces->tables, addr, &mapping));
	add_next(to, d);
}

static void add_place(struct strbuf *to, const struct walk_spaces *spaces,
		      const struct walk_difference *d, const char *what, uint64_t addr)
{
	const struct unwind_mapping *mapping;

	strbuf_addf(to, " %s %#" PRIx64, what, addr);
	if (walk_tables_rule(&spaces->tables, addr, &mapping))
		strbuf_addf(to, " (%s %#" PRIx64 ")", libdw_function(d->space->libdw, addr),
			    addr - (uint64_t)mapping->bias);
}

static char *make_example(const struct walk_spaces *spaces, const struct walk_difference *d)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	const struct unwind_mapping *mapping;
	bool is_return;

	strbuf_addf(&text, "pid %u sp %#" PRIx64 "+%zu frame %u of %u and %u:", d->item->pid,
		    d->item->regs.sp, d->item->stack_size, d->common, d->ours->depth,
		    d->theirs->depth);
	add_place(&text, spaces, d, "top", d->item->regs.pc);
	strbuf_adds(&text, " by ");
	add_rule(&text, walk_tables_rule(&spaces->tables, d->item->regs.pc, &mapping));
	add_place(&text, spaces, d, "at", last_common(d, &is_return));
	if (d->common < d->ours->depth)
		add_place(&text, spaces, d, "ours", d->ours->addrs[d->common]);
	if (d->common < d->theirs->depth)
		add_place(&text, spaces, d, "libdw", d->theirs->addrs[d->common]);
	return strbuf_take(&text);
}

void walk_classes_add(struct walk_classes *c, const struct walk_spaces *spaces,
		      const struct walk_difference *d)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	struct walk_class *class = NULL;

	describe(&text, spaces, d);
	vec_for_each(&c->rows, struct walk_class *, row) {
		if (strcmp(row->text, text.text) == 0)
			class = row;
	}
	if (!class) {
		class = vec_add_zeroed(&c->rows, 1);
		class->text = strbuf_take(&text);
		class->example = make_example(spaces, d);
	}
	class->samples++;
	class->frames += d->theirs->depth - d->common;
}

static int compare(const void *a, const void *b)
{
	const struct walk_class *left = a, *right = b;

	return left->samples < right->samples ? 1 : left->samples > right->samples ? -1 : 0;
}

void walk_classes_print(const struct walk_classes *c, size_t max)
{
	if (c->rows.count)
		qsort(c->rows.items, c->rows.count, sizeof(*c->rows.items), compare);
	for (size_t i = 0; i < c->rows.count && i < max; i++) {
		const struct walk_class *row = &c->rows.items[i];

		printf("# %" PRIu64 " samples, %" PRIu64 " frames: %s\n#\t%s\n", row->samples,
		       row->frames, row->text, row->example);
	}
	if (c->rows.count > max)
		printf("# and %zu more classes\n", c->rows.count - max);
}

void walk_classes_release(struct walk_classes *c)
{
	vec_for_each(&c->rows, struct walk_class *, row) {
		free(row->text);
		free(row->example);
	}
	vec_release(&c->rows);
}
