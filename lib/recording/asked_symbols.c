/* SPDX-License-Identifier: MIT */
#include "lib/recording/asked_symbols.h"

#include <stdlib.h>

#include "lib/recording/recording_facts.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/stream/record/record.h"
#include "lib/stream/record/stack_record.h"

#define ASK_NS 200000000ull
/* More distinct addresses than a kernel has functions. */
#define ADDRESSES_MAX (1u << 20)

void asked_symbols_release(struct asked_symbols *k)
{
	address_ranges_release(&k->functions);
	kernel_table_free(k->answers);
	index_release(&k->known);
	vec_release(&k->addresses);
}

static bool is_equal(const void *table, uint32_t id, const void *key)
{
	return ((const uint64_t *)table)[id] == *(const uint64_t *)key;
}

static void note(struct asked_symbols *k, uint64_t addr)
{
	uint64_t hash = hash_u64(addr);

	if (k->addresses.count >= ADDRESSES_MAX || address_ranges_cover(&k->functions, addr) ||
	    index_find(&k->known, hash, is_equal, k->addresses.items, &addr) != INDEX_NONE)
		return;
	index_add(&k->known, hash, (uint32_t)k->addresses.count);
	vec_push(&k->addresses, addr);
}

/* The kernel's frames are the innermost ones; the call is before its return address. */
static void note_stack(struct asked_symbols *k, const struct rec_stack *rec)
{
	struct stack_body body = stack_record_body(rec);
	uint32_t depth = body.depth;
	_cleanup_free_ uint64_t *addrs = NULL;
	_cleanup_free_ uint8_t *kinds = NULL;

	if (!rec->kernel_depth)
		return;
	addrs = xcalloc(depth, sizeof(*addrs));
	kinds = xcalloc(depth, sizeof(*kinds));
	depth = stack_body_unpack(&body, 0, addrs, kinds);
	for (uint32_t i = 0; i < depth; i++) {
		if (kinds[i] == FRAME_KERNEL && addrs[i])
			note(k, addrs[i] - 1);
	}
}

static void note_leaf(struct asked_symbols *k, const struct rec_sample *rec)
{
	if (rec->rec.flags & SAMPLE_LEAF_KERNEL)
		note(k, rec->leaf);
}

static void note_marker(struct asked_symbols *k, const struct rec_marker *rec)
{
	const struct rec_marker_stack *stacks = rec_marker_stacks(rec);

	for (unsigned int i = 0; i < rec->stack_count; i++) {
		if (stacks[i].flags & SAMPLE_LEAF_KERNEL)
			note(k, stacks[i].leaf);
	}
}

void asked_symbols_note(struct asked_symbols *k, const struct rec *rec)
{
	switch (rec->kind) {
	case REC_SAMPLE:
	case REC_EVENT: /* begin with a sample */
	case REC_WAIT:
	case REC_ALLOC:
		note_leaf(k, (const struct rec_sample *)rec);
		break;
	case REC_STACK:
		note_stack(k, (const struct rec_stack *)rec);
		break;
	case REC_MARKER:
		note_marker(k, (const struct rec_marker *)rec);
		break;
	case REC_MODULE:
		k->has_image |= ((const struct rec_module *)rec)->kind == MODULE_KERNEL;
		break;
	}
}

struct answer {
	struct asked_symbols *asked;
	uint64_t time;
	record_sink_fn *sink;
	void *ctx;
};

/* Drops functions in the place of older ones: their addresses were seen when it had gone. */
static void take_answer(void *ctx, const struct kernel_symbol_text *symbol)
{
	const struct answer *a = ctx;
	struct asked_symbols *k = a->asked;

	if (!address_ranges_add(&k->functions, symbol->start, symbol->start + symbol->size))
		return;
	if (!k->answers)
		k->answers = kernel_table_new();
	kernel_table_add(k->answers, symbol->start, symbol->size, symbol->name, symbol->name_size,
			 symbol->module);
	if (a->sink)
		recording_facts_send_kernel_symbol(a->time, symbol, a->sink, a->ctx);
}

void asked_symbols_ask(struct asked_symbols *k, struct recorder *recorder, bool now,
		       record_sink_fn *sink, void *ctx)
{
	struct answer answer = {k, clock_monotonic_ns(), sink, ctx};
	size_t count = k->addresses.count - k->asked;
	_cleanup_free_ uint64_t *sorted = NULL;

	/* If the kernel hides symbols, it hides the address of its image, too: the owner's wish. */
	if (!count || !k->has_image || k->is_hidden || (!now && answer.time - k->asked_ns < ASK_NS))
		return;
	k->asked_ns = answer.time;
	sorted = xmemdup(k->addresses.items + k->asked, count * sizeof(*sorted));
	k->asked = k->addresses.count;
	qsort(sorted, count, sizeof(*sorted), u64_compare);
	if (!recorder_find_symbols(recorder, sorted, count, take_answer, &answer))
		k->is_hidden = true;
}

const struct kernel_table *asked_symbols_seal(struct asked_symbols *k)
{
	if (k->answers)
		kernel_table_seal(k->answers);
	return k->answers;
}
