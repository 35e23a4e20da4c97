/* SPDX-License-Identifier: MIT */
#include "lib/session/resolve.h"

#include <elf.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/session/code/frame_kinds.h"

/*
 * Lines are overwritten on collision. A miss costs a walk over the stack and nothing else, and a
 * machine full of short-lived processes cannot fill memory. Short recordings touch few lines.
 */
#define FIRST_LINES (1u << 12)
#define LINES_MAX (1u << 15)
/* Places for the last child of a stack, 2 MB. */
#define CHILDREN_MAX (1u << 16)

struct resolved {
	uint64_t stamp, kernel_stamp; /* stamps of the mappings used */
	uint32_t key; /* raw_stack_id plus one; 0: empty */
	stack_id stack;
	struct stack_extent extent;
};

/* A stack with its leaf. */
struct resolved_leaf {
	uint64_t stamp, kernel_stamp, addr;
	stack_id base, stack;
	uint8_t kind;
	bool is_used;
};

/*
 * The frame that was last put on a stack. Stacks of a program repeat each other from the root on,
 * in all its processes: mostly this is the one that is wanted again, without two searches.
 */
struct last_child {
	uint64_t offset;
	module_id module;
	stack_id parent;
	stack_id stack; /* NO_STACK: none yet */
	uint8_t kind;
};

void resolver_init(struct resolver *r, struct profile *profile)
{
	*r = (struct resolver){.profile = profile};
	r->kernel = mapping_table_new();
	r->lines = FIRST_LINES;
	r->cache = xcalloc(r->lines, sizeof(*r->cache));
	r->leaves = xcalloc(r->lines, sizeof(*r->leaves));
}

/* Makes the caches larger, and empty, after as many misses as they have lines. */
static void note_miss(struct resolver *r)
{
	if (++r->misses < r->lines || r->lines == LINES_MAX)
		return;
	r->misses = 0;
	r->lines *= 2;
	free(r->cache);
	free(r->leaves);
	r->cache = xcalloc(r->lines, sizeof(*r->cache));
	r->leaves = xcalloc(r->lines, sizeof(*r->leaves));
}

void resolver_release(struct resolver *r)
{
	mapping_table_drop(r->kernel);
	raw_stacks_release(&r->raw);
	vec_release(&r->addrs);
	vec_release(&r->kinds);
	vec_release(&r->children);
	free(r->cache);
	free(r->leaves);
}

/*
 * Returns the address that stands for a frame. A return address is that of the instruction after
 * the call, which may belong to another line or even another function; one less lies in the call.
 * No other place subtracts it.
 */
static uint64_t frame_addr(uint64_t addr, bool is_pc)
{
	return is_pc || !addr ? addr : addr - 1;
}

/* Made on the first frame in it: most anonymous memory is never executed. */
static module_id anon_module(struct profile *p, struct process *process)
{
	if (process->anon == NO_MODULE) {
		string_id name = strings_intern(&p->strings, "[anon]");

		process->anon = modules_add(&p->modules, PROFILE_MODULE_ANON, name, name);
		modules_get(&p->modules, process->anon)->pid = process->pid;
	}
	return process->anon;
}

/* Returns the place of the stack, which may be another's, too. */
static struct last_child *last_child_of(struct resolver *r, stack_id parent)
{
	size_t at = (parent + 1u) % CHILDREN_MAX; /* NO_STACK comes first */

	while (r->children.count <= at)
		vec_push(&r->children, (struct last_child){.stack = NO_STACK});
	return &r->children.items[at];
}

static stack_id intern(struct resolver *r, stack_id parent, const struct frame *frame)
{
	struct last_child *last = last_child_of(r, parent);

	if (last->stack != NO_STACK && last->parent == parent && last->offset == frame->offset &&
	    last->module == frame->module && last->kind == frame->kind)
		return last->stack;
	*last = (struct last_child){
		.offset = frame->offset,
		.module = frame->module,
		.parent = parent,
		.stack = stacks_intern(&r->profile->stacks, parent,
				       frames_intern(&r->profile->frames, frame)),
		.kind = frame->kind,
	};
	return last->stack;
}

static stack_id push_frame(struct resolver *r, stack_id parent, uint64_t addr,
			   const struct frame_kind_info *info, struct process *process,
			   const struct mapping_table *mappings)
{
	const struct mapping *mapping = NULL;
	struct frame frame = {
		.module = NO_MODULE,
		.func = NO_FUNC,
		.offset = addr,
		.symbol = NO_SYMBOL,
		.kind = (uint8_t)info->kind,
	};

	if (info->place != FRAME_PLACE_NONE)
		mapping = mapping_table_find(
			info->place == FRAME_PLACE_KERNEL ? r->kernel : mappings, addr);
	if (mapping) {
		frame.offset = addr - mapping->start + mapping->file_offset;
		frame.module = mapping->module;
		if (mapping->module == MAPPING_ANON)
			frame.module = anon_module(r->profile, process);
	}
	return intern(r, parent, &frame);
}

static bool is_interrupted(const struct resolver *r, uint32_t i)
{
	return frame_kind_info(r->kinds.items[i], false)->is_interrupted;
}

/*
 * True if the address of user frame `i` is an instruction's own and not a return address. A signal
 * trampoline is not called, either: the kernel makes the handler return to its first instruction.
 * Its frame comes just before the interrupted one.
 */
static bool is_pc(const struct resolver *r, const struct raw_stack *stack, uint32_t i)
{
	if (is_interrupted(r, i) || (i == stack->kernel_depth && stack->flags & STACK_USER_PC))
		return true;
	return i + 1 < stack->depth && is_interrupted(r, i + 1);
}

/* Returns the kind of frame `i`, and stores the address that stands for it. */
static const struct frame_kind_info *
get_frame(const struct resolver *r, const struct raw_stack *stack, uint32_t i, uint64_t *addr)
{
	bool is_kernel = i < stack->kernel_depth;
	const struct frame_kind_info *info = frame_kind_info(r->kinds.items[i], is_kernel);

	*addr = r->addrs.items[i];
	if (info->place != FRAME_PLACE_NONE)
		*addr = frame_addr(*addr, !is_kernel && is_pc(r, stack, i));
	return info;
}

/*
 * Returns how many of the user frames before frame `end` are code, judged by the mappings. A frame
 * pointer register with other contents leads the walker into data: if the first native address lies
 * in no executable mapping, the rest is no chain, either.
 */
static uint32_t code_depth(const struct resolver *r, const struct raw_stack *stack, uint32_t end,
			   const struct mapping_table *mappings)
{
	uint32_t i = stack->kernel_depth;
	uint64_t addr;

	if (!mappings->rows.count)
		return end - i; /* no mapping is known */
	while (i < end && (get_frame(r, stack, i, &addr)->place != FRAME_PLACE_PROCESS ||
			   mapping_table_find(mappings, addr)))
		i++;
	return i - stack->kernel_depth;
}

/* Adds the `count` innermost frames of the stack to `base`, without those of unknown kinds. */
static stack_id walk(struct resolver *r, const struct raw_stack *stack, stack_id base,
		     uint32_t count, struct process *process, const struct mapping_table *mappings,
		     struct stack_extent *extent)
{
	stack_id id = base;

	while (count-- > 0) {
		uint64_t addr;
		const struct frame_kind_info *info = get_frame(r, stack, count, &addr);

		if (info->place == FRAME_PLACE_UNKNOWN) {
			extent->unknown_depth++;
			continue;
		}
		extent->has_user_frame |= count >= stack->kernel_depth;
		id = push_frame(r, id, addr, info, process, mappings);
	}
	return id;
}

static void unpack(struct resolver *r, const struct raw_stack *stack)
{
	vec_reserve(&r->addrs, stack->depth);
	vec_reserve(&r->kinds, stack->depth);
	raw_stack_unpack(&r->raw, stack, r->addrs.items, r->kinds.items);
}

static struct resolved *line_of(const struct resolver *r, raw_stack_id raw,
				const struct mapping_table *mappings)
{
	uint64_t hash = hash_pair(mappings->stamp << 32 | raw, r->kernel->stamp);

	return &r->cache[hash % r->lines];
}

static bool is_line_of(const struct resolver *r, const struct resolved *line, raw_stack_id raw,
		       const struct mapping_table *mappings)
{
	return line->key == raw + 1 && line->stamp == mappings->stamp &&
	       line->kernel_stamp == r->kernel->stamp;
}

/* The resolved continuation of a stack. */
struct rest {
	stack_id stack; /* without the skipped frames */
	uint32_t user_depth;
};

/*
 * False if the cached continuation cannot be used: a frame is an instruction's in one stack and
 * after a call in the other, the stack has kernel frames, a frame of an unknown kind was left out,
 * or frames are known to be no code.
 */
static bool find_rest(const struct resolver *r, const struct raw_stack *stack,
		      const struct mapping_table *mappings, struct rest *rest)
{
	const struct raw_stack *outer;
	const struct resolved *line;
	uint32_t skipped;

	if (stack->outer == NO_RAW_STACK || !stack->user_depth)
		return false;
	outer = &r->raw.rows.items[stack->outer];
	line = line_of(r, stack->outer, mappings);
	if (!is_line_of(r, line, stack->outer, mappings) ||
	    stack->prefix_skip <= outer->kernel_depth || line->extent.unknown_depth)
		return false;
	skipped = stack->prefix_skip - outer->kernel_depth;
	if (skipped >= line->extent.user_depth)
		return false;
	rest->user_depth = line->extent.user_depth - skipped;
	rest->stack = line->stack;
	for (uint32_t i = 0; i < stack->prefix_skip; i++)
		rest->stack = r->profile->stacks.rows.items[rest->stack].parent;
	return true;
}

static void resolve(struct resolver *r, const struct raw_stack *stack, struct process *process,
		    const struct mapping_table *mappings, struct resolved *line)
{
	uint32_t own = (uint32_t)stack->kernel_depth + stack->user_depth;
	struct stack_extent *extent = &line->extent;
	struct rest rest = {.stack = NO_STACK};

	unpack(r, stack);
	if (!find_rest(r, stack, mappings, &rest) ||
	    code_depth(r, stack, own, mappings) < stack->user_depth) {
		rest = (struct rest){.stack = NO_STACK};
		extent->user_depth = code_depth(r, stack, stack->depth, mappings);
	} else {
		extent->user_depth = stack->user_depth + rest.user_depth;
		extent->has_user_frame = true;
	}
	line->stack = walk(r, stack, rest.stack,
			   stack->kernel_depth + extent->user_depth - rest.user_depth, process,
			   mappings, extent);
}

stack_id resolver_stack(struct resolver *r, raw_stack_id raw, struct process *process,
			const struct mapping_table *mappings, struct stack_extent *extent)
{
	struct resolved *line = line_of(r, raw, mappings), new;

	if (!is_line_of(r, line, raw, mappings)) {
		new = (struct resolved){
			.stamp = mappings->stamp,
			.kernel_stamp = r->kernel->stamp,
			.key = raw + 1,
		};
		/* Overwrite the line afterwards: it may hold the continuation. */
		resolve(r, &r->raw.rows.items[raw], process, mappings, &new);
		note_miss(r);
		line = line_of(r, raw, mappings);
		*line = new;
	}
	*extent = line->extent;
	return line->stack;
}

stack_id resolver_leaf(struct resolver *r, stack_id base, uint64_t addr, uint8_t kind,
		       struct process *process, const struct mapping_table *mappings)
{
	const struct frame_kind_info *info = frame_kind_info(kind, kind == FRAME_KERNEL);
	uint64_t stamp = mappings ? mappings->stamp : 0;
	uint64_t hash = hash_pair(addr, stamp << 32 | base);
	struct resolved_leaf *line = &r->leaves[hash % r->lines];

	if (line->is_used && line->addr == addr && line->base == base && line->stamp == stamp &&
	    line->kernel_stamp == r->kernel->stamp && line->kind == kind)
		return line->stack;
	note_miss(r);
	line = &r->leaves[hash % r->lines];
	*line = (struct resolved_leaf){
		.stamp = stamp,
		.kernel_stamp = r->kernel->stamp,
		.addr = addr,
		.base = base,
		.stack = push_frame(r, base, frame_addr(addr, true), info, process, mappings),
		.kind = kind,
		.is_used = true,
	};
	return line->stack;
}

void resolver_forget(struct resolver *r)
{
	raw_stacks_forget(&r->raw);
	memset(r->cache, 0, r->lines * sizeof(*r->cache));
}

bool resolver_is_32bit(const struct resolver *r, const struct mapping_table *mappings)
{
	bool is_32bit = false;

	vec_for_each(&mappings->rows, const struct mapping *, mapping) {
		uint16_t machine = 0;

		if (mapping->module < r->profile->modules.rows.count)
			machine = r->profile->modules.rows.items[mapping->module].machine;
		/* The first mapping nearly always decides. */
		if (machine == EM_X86_64 || machine == EM_AARCH64)
			return false;
		is_32bit |= machine == EM_386 || machine == EM_ARM;
	}
	return is_32bit;
}
