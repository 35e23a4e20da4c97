/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_stacks.h"

#include <linux/perf_event.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/recording/perf_data/perf_walker.h"
#include "lib/stream/record/record.h"
#include "lib/stream/record/stack_record.h"

/* perf's default: a chain of so many addresses may have been longer. */
#define CHAIN_FULL 127

void perf_stacks_init(struct perf_stacks *s, struct perf_out *out)
{
	*s = (struct perf_stacks){.out = out};
	s->addrs = xcalloc(PERF_DEPTH_MAX, sizeof(*s->addrs));
	s->kinds = xcalloc(PERF_DEPTH_MAX, sizeof(*s->kinds));
}

void perf_stacks_release(struct perf_stacks *s)
{
	perf_walker_free(s->walker);
	vec_release(&s->sent);
	index_release(&s->by_hash);
	free(s->addrs);
	free(s->kinds);
}

void perf_stacks_walk(struct perf_stacks *s, struct perf_modules *modules, uint16_t machine)
{
	s->walker = perf_walker_new(modules, machine);
}

static bool hash_equal(const void *table, uint32_t row, const void *key)
{
	return ((const struct perf_stacks *)table)->sent.items[row] == *(const uint64_t *)key;
}

/* Returns the stack's id; *is_new: it is to be sent. */
static uint32_t find(struct perf_stacks *s, uint64_t hash, bool *is_new)
{
	uint32_t row = index_find(&s->by_hash, hash, hash_equal, s, &hash);

	*is_new = row == INDEX_NONE;
	if (*is_new) {
		row = (uint32_t)s->sent.count;
		index_add(&s->by_hash, hash, row);
		vec_push(&s->sent, hash);
	}
	return row + 1;
}

static void send(struct perf_stacks *s, struct rec_stack *stack, uint32_t id,
		 const struct perf_sample *sample)
{
	stack->stack_id = id;
	stack->rec.time = sample->time;
	stack->rec.pid = sample->pid;
	stack->rec.tid = sample->tid;
	perf_out_copy(s->out, &stack->rec);
}

/* A chain as it will be sent: the kernel's frames first, the leaf among them. */
struct chain {
	uint32_t kernel, user; /* frames */
	bool is_full;
};

static bool is_context(uint64_t addr)
{
	return addr >= (uint64_t)PERF_CONTEXT_MAX;
}

/* Markers in a chain say what the addresses after them are of. */
static struct chain read_chain(struct perf_stacks *s, const struct perf_sample *sample,
			       bool is_kernel)
{
	struct chain chain = {0};
	bool is_user = !is_kernel, is_known = true;

	for (uint64_t i = 0; i < sample->chain_count; i++) {
		uint64_t addr = ordered_word(sample->chain, i, sample->is_swapped);

		if (is_context(addr)) {
			is_user = addr == (uint64_t)PERF_CONTEXT_USER;
			is_known = is_user || addr == (uint64_t)PERF_CONTEXT_KERNEL;
			continue;
		}
		/* The user's side is the outer one. */
		if (!is_known || (!is_user && chain.user))
			continue;
		if (chain.kernel + chain.user == PERF_DEPTH_MAX)
			break;
		s->addrs[chain.kernel + chain.user] = addr;
		chain.user += is_user;
		chain.kernel += !is_user;
	}
	chain.is_full = chain.kernel + chain.user >= CHAIN_FULL;
	return chain;
}

/*
 * The processor's stack of calls (--call-graph lbr) in place of the user's side: the addresses of
 * the calls themselves, so that one more is a return address's.
 */
static void use_branches(struct perf_stacks *s, const struct perf_sample *sample,
			 struct chain *chain)
{
	uint32_t depth = chain->kernel;

	if (!sample->branch_count || depth == PERF_DEPTH_MAX)
		return;
	s->addrs[depth++] = ordered_word(sample->branches, 1, sample->is_swapped);
	for (uint64_t i = 0; i < sample->branch_count && depth < PERF_DEPTH_MAX; i++)
		s->addrs[depth++] = 1 + ordered_word(sample->branches, i * 3, sample->is_swapped);
	chain->user = depth - chain->kernel;
	chain->is_full = false;
}

static struct perf_place send_chain(struct perf_stacks *s, const struct perf_sample *sample,
				    const struct chain *chain)
{
	struct perf_place place = {.leaf = s->addrs[0]};
	uint32_t depth = chain->kernel + chain->user - 1;
	uint32_t kernel = chain->kernel ? chain->kernel - 1 : 0;
	_cleanup_free_ struct rec_stack *stack = NULL;
	bool is_new;

	place.flags = chain->kernel ? SAMPLE_LEAF_KERNEL : 0;
	if (!depth) {
		place.flags |= SAMPLE_NO_STACK;
		return place;
	}
	place.stack = find(s,
			   hash_bytes(s->addrs + 1, depth * sizeof(*s->addrs),
				      (uint64_t)kernel << 1 | !!chain->kernel),
			   &is_new);
	if (!is_new)
		return place;
	memset(s->kinds, FRAME_KERNEL, kernel);
	memset(s->kinds + kernel, FRAME_NATIVE, depth - kernel);
	stack = stack_record_new(s->addrs + 1, s->kinds, (uint16_t)kernel,
				 (uint16_t)(depth - kernel));
	record_init(&stack->rec, REC_STACK, record_size(&stack->rec), 0, 0, 0);
	stack->rec.flags = (chain->is_full ? STACK_TRUNCATED : 0) |
			   (chain->kernel ? STACK_USER_PC : 0);
	send(s, stack, place.stack, sample);
	return place;
}

/* Walks the copied stack below the kernel's frames that the chain has. */
static struct perf_place send_walk(struct perf_stacks *s, const struct perf_attr *attr,
				   const struct perf_sample *sample, const struct chain *chain,
				   struct perf_process *process)
{
	bool in_kernel = chain->kernel;
	struct perf_place place = {.leaf = s->addrs[0],
				   .flags = in_kernel ? SAMPLE_LEAF_KERNEL : 0};
	_cleanup_free_ struct rec_stack *stack =
		perf_walker_walk(s->walker, attr, sample, s->addrs + 1,
				 (uint16_t)(in_kernel ? chain->kernel - 1 : 0), in_kernel, process,
				 in_kernel ? NULL : &place.leaf);
	uint64_t hash;
	bool is_new;

	if (!stack_record_depth(stack)) {
		place.flags |= SAMPLE_NO_STACK;
		return place;
	}
	hash = hash_bytes(stack->lows, record_size(&stack->rec) - sizeof(*stack),
			  hash_pair(stack->rec.flags, stack->kernel_depth));
	place.stack = find(s, hash, &is_new);
	if (is_new)
		send(s, stack, place.stack, sample);
	return place;
}

struct perf_place perf_stacks_place(struct perf_stacks *s, const struct perf_attr *attr,
				    const struct perf_sample *sample, bool is_kernel,
				    struct perf_tasks *tasks)
{
	struct chain chain = read_chain(s, sample, is_kernel);

	if (!chain.kernel && !chain.user && is_kernel && sample->has_ip) {
		s->addrs[0] = sample->ip;
		chain.kernel = 1;
	}
	if (perf_walker_can(s->walker, attr, sample))
		return send_walk(s, attr, sample, &chain, perf_tasks_process(tasks, sample->pid));
	if (attr->branch_type & PERF_SAMPLE_BRANCH_CALL_STACK)
		use_branches(s, sample, &chain);
	if (!chain.kernel && !chain.user) {
		s->addrs[0] = sample->ip;
		chain.user = 1;
		if (!sample->has_ip)
			return (struct perf_place){.flags = SAMPLE_NO_STACK | SAMPLE_NO_LEAF};
	}
	return send_chain(s, sample, &chain);
}
