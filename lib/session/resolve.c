/* SPDX-License-Identifier: MIT */
#include "lib/session/resolve.h"

#include "lib/base/alloc.h"

/*
 * A fixed number of lines, each overwritten by whatever falls on it: a miss costs a walk over the
 * stack and nothing else, and a machine full of short-lived processes must not fill memory.
 */
#define CACHE_LINES (1u << 15)

struct resolved {
	uint64_t stamp, kernel_stamp; /* of the mappings that were used */
	uint32_t key; /* raw_stack_id plus one; 0, as it is in the beginning: empty */
	stack_id stack;
	uint32_t user_depth;
};

void resolver_init(struct resolver *r, struct profile *profile)
{
	*r = (struct resolver){.profile = profile};
	r->kernel = mapping_table_new();
	r->cache = xcalloc(CACHE_LINES, sizeof(*r->cache));
}

void resolver_release(struct resolver *r)
{
	mapping_table_drop(r->kernel);
	raw_stacks_release(&r->raw);
	vec_release(&r->addrs);
	vec_release(&r->kinds);
	free(r->cache);
}

/*
 * The address that stands for a frame. A return address is that of the instruction after the call,
 * which may belong to another line, or even to another function; one less lies in the call. This is
 * the only place that knows.
 */
static uint64_t frame_addr(uint64_t addr, bool is_pc)
{
	return is_pc || !addr ? addr : addr - 1;
}

/* Made when the first frame lies in it: most anonymous memory is never executed. */
static module_id anon_module(struct profile *p, struct process *process)
{
	if (process->anon == NO_MODULE) {
		string_id name = strings_intern(&p->strings, "[anon]");

		process->anon = modules_add(&p->modules, PROFILE_MODULE_ANON, name, name);
		modules_get(&p->modules, process->anon)->pid = process->pid;
	}
	return process->anon;
}

static stack_id push_frame(struct resolver *r, stack_id parent, uint64_t addr, uint8_t kind,
			   struct process *process, const struct mapping_table *mappings)
{
	bool is_kernel = kind == PROFILE_FRAME_KERNEL;
	const struct mapping *mapping = mapping_table_find(is_kernel ? r->kernel : mappings, addr);
	struct frame frame = {
		.module = NO_MODULE,
		.func = NO_FUNC,
		.offset = addr,
		.symbol = NO_SYMBOL,
		.kind = kind,
	};

	if (mapping) {
		frame.offset = addr - mapping->start + mapping->file_offset;
		frame.module = mapping->module;
		if (mapping->module == MAPPING_ANON)
			frame.module = anon_module(r->profile, process);
	}
	return stacks_intern(&r->profile->stacks, parent,
			     frames_intern(&r->profile->frames, &frame));
}

/* A kind that user code can have; the wire may hold anything. */
static uint8_t user_kind(uint8_t kind)
{
	return kind >= FRAME_KIND_COUNT || kind == FRAME_KERNEL ? PROFILE_FRAME_NATIVE : kind;
}

/*
 * Is the address of frame `i`, which is in user space, that of an instruction and not of the one
 * behind a call? Nobody called a signal trampoline, either: the kernel has the handler return to
 * its first instruction. The frame it lies in is the one that comes before the interrupted one.
 */
static bool is_pc(const struct resolver *r, const struct raw_stack *stack, uint32_t i)
{
	const uint8_t *kinds = r->kinds.items;

	if (kinds[i] == FRAME_SIGNAL)
		return true;
	if (i == stack->kernel_depth && stack->flags & STACK_USER_PC)
		return true;
	return i + 1 < stack->depth && kinds[i + 1] == FRAME_SIGNAL;
}

/* Frame `i` of a stack in user space: what lies there, and as what kind of frame. */
static uint64_t user_addr(const struct resolver *r, const struct raw_stack *stack, uint32_t i,
			  uint8_t *kind)
{
	*kind = user_kind(r->kinds.items[i]);
	return frame_addr(r->addrs.items[i], is_pc(r, stack, i));
}

/*
 * How many user frames of the stack are code, as far as the mappings tell. A frame pointer register
 * that holds something else leads the walker into data: where the first address lies in no
 * executable mapping, what is behind it is no chain either.
 */
static uint32_t code_depth(const struct resolver *r, const struct raw_stack *stack,
			   const struct mapping_table *mappings)
{
	uint32_t i = stack->kernel_depth;
	uint8_t kind;

	if (!mappings->rows.count)
		return raw_stack_user_depth(stack); /* nothing is known of this process */
	while (i < stack->depth && mapping_table_find(mappings, user_addr(r, stack, i, &kind)))
		i++;
	return i - stack->kernel_depth;
}

static stack_id walk(struct resolver *r, const struct raw_stack *stack, uint32_t user_depth,
		     struct process *process, const struct mapping_table *mappings)
{
	uint32_t kernel_depth = stack->kernel_depth;
	stack_id id = NO_STACK;

	for (uint32_t i = kernel_depth + user_depth; i-- > kernel_depth;) {
		uint8_t kind;
		uint64_t addr = user_addr(r, stack, i, &kind);

		id = push_frame(r, id, addr, kind, process, mappings);
	}
	for (uint32_t i = kernel_depth; i-- > 0;)
		id = push_frame(r, id, frame_addr(r->addrs.items[i], false), PROFILE_FRAME_KERNEL,
				process, mappings);
	return id;
}

static void unpack(struct resolver *r, const struct raw_stack *stack)
{
	vec_reserve(&r->addrs, stack->depth);
	vec_reserve(&r->kinds, stack->depth);
	raw_stack_unpack(&r->raw, stack, r->addrs.items, r->kinds.items);
}

stack_id resolver_stack(struct resolver *r, raw_stack_id raw, struct process *process,
			const struct mapping_table *mappings, uint32_t *user_depth)
{
	uint64_t hash = hash_pair(mappings->stamp << 32 | raw, r->kernel->stamp);
	struct resolved *line = &r->cache[hash % CACHE_LINES];

	if (line->key != raw + 1 || line->stamp != mappings->stamp ||
	    line->kernel_stamp != r->kernel->stamp) {
		const struct raw_stack *stack = &r->raw.rows.items[raw];

		line->stamp = mappings->stamp;
		line->kernel_stamp = r->kernel->stamp;
		line->key = raw + 1;
		unpack(r, stack);
		line->user_depth = code_depth(r, stack, mappings);
		line->stack = walk(r, stack, line->user_depth, process, mappings);
	}
	*user_depth = line->user_depth;
	return line->stack;
}

stack_id resolver_leaf(struct resolver *r, stack_id base, uint64_t addr, bool is_kernel,
		       struct process *process, const struct mapping_table *mappings)
{
	uint8_t kind = is_kernel ? PROFILE_FRAME_KERNEL : PROFILE_FRAME_NATIVE;

	return push_frame(r, base, frame_addr(addr, true), kind, process, mappings);
}
