/* SPDX-License-Identifier: MIT */
#include "lib/live/unwind/deferred_unwind.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/config.h"
#include "lib/base/alloc.h"
#include "lib/record/record.h"
#include "lib/record/stack_record.h"
#include "lib/unwind/walk.h"

struct waiting {
	struct rec_copy *copy; /* owned */
	struct mapping_table *mappings; /* held; NULL: none */
	uint64_t until; /* not before */
};

struct deferred_unwind {
	struct deferred_unwind_options options;
	VEC(struct waiting) waiting;
	uint64_t bytes;
	/* The description that was made last: copies of one process come in a row. */
	const struct mapping_table *described;
	uint64_t described_stamp;
	const struct jit_code *described_code;
	bool is_32bit;
	struct unwind_mappings mappings;
	VEC(struct walk_shard) shards;
	/* The mappings of the copy at hand, for read_code(). */
	const struct mapping_table *current;
	/* The frames of the copy at hand, those of the kernel in front. */
	uint64_t addrs[KERNEL_DEPTH_MAX + USER_DEPTH_MAX];
	uint8_t kinds[KERNEL_DEPTH_MAX + USER_DEPTH_MAX];
};

struct deferred_unwind *deferred_unwind_new(const struct deferred_unwind_options *options)
{
	struct deferred_unwind *l = xcalloc(1, sizeof(*l));

	l->options = *options;
	return l;
}

static void drop(struct deferred_unwind *l, struct waiting *w)
{
	l->bytes -= sizeof(*w) + record_size(&w->copy->rec);
	if (w->mappings)
		l->bytes -= mapping_table_settle(w->mappings);
	free(w->copy);
}

void deferred_unwind_free(struct deferred_unwind *l)
{
	if (!l)
		return;
	vec_for_each(&l->waiting, struct waiting *, w)
		drop(l, w);
	vec_release(&l->waiting);
	vec_release(&l->mappings.rows);
	vec_release(&l->shards);
	free(l);
}

static bool is_ready(const struct deferred_unwind *l, const struct waiting *w)
{
	const struct module_tables *tables = l->options.tables;

	if (!w->mappings)
		return true;
	vec_for_each(&w->mappings->rows, const struct mapping *, mapping) {
		if (mapping->module < tables->rows.count &&
		    tables->rows.items[mapping->module].state == TABLE_PENDING)
			return false;
	}
	return true;
}

/* Code is in the files; what is not cannot be told from a call. */
static bool read_code(void *ctx, uint64_t addr, void *to, size_t size)
{
	const struct deferred_unwind *l = ctx;
	const struct mapping *mapping = l->current ? mapping_table_find(l->current, addr) : NULL;
	int fd;

	if (!mapping || mapping->module == MAPPING_ANON || mapping->end - addr < size)
		return false;
	fd = file_set_find(l->options.files, mapping->module);
	return fd >= 0 &&
	       pread(fd, to, size, (off_t)(addr - mapping->start + mapping->file_offset)) ==
		       (ssize_t)size;
}

static void describe(struct deferred_unwind *l, const struct mapping_table *mappings, uint32_t pid)
{
	struct jit_tables *jit = l->options.jit;
	const struct jit_code *code = jit ? jit_tables_code(jit, pid) : NULL;

	if (mappings == l->described && mappings && mappings->stamp == l->described_stamp &&
	    code == l->described_code)
		return;
	vec_clear(&l->mappings.rows);
	l->described = mappings;
	l->described_code = code;
	l->is_32bit = mappings && module_tables_are_32bit(l->options.tables, mappings);
	if (!mappings)
		return;
	l->described_stamp = mappings->stamp;
	vec_for_each(&mappings->rows, const struct mapping *, mapping)
		module_tables_describe(l->options.tables, mapping, &l->mappings);
	if (code)
		jit_tables_describe(jit, pid, 0, &l->mappings);
}

/* Stores the frames that are known without a walk, and returns how many they are. */
static uint32_t begin_path(struct deferred_unwind *l, const struct rec_copy *copy)
{
	uint32_t depth = copy->kernel_depth;

	memcpy(l->addrs, copy->body, depth * sizeof(uint64_t));
	memset(l->kinds, FRAME_KERNEL, depth);
	if (copy->rec.flags & COPY_LEAF_KERNEL) {
		l->addrs[depth] = copy->pc;
		l->kinds[depth] = FRAME_NATIVE;
		depth++;
	}
	return depth;
}

static void send(struct deferred_unwind *l, const struct rec_copy *copy, uint32_t depth,
		 uint8_t flags, uint64_t now)
{
	uint32_t user_depth = depth - copy->kernel_depth;
	struct rec_stack *stack = stack_record_new(l->addrs, l->kinds, copy->kernel_depth,
						   (uint16_t)user_depth);

	record_init(&stack->rec, REC_STACK, record_size(&stack->rec), now, copy->rec.pid,
		    copy->rec.tid);
	stack->rec.cpu = copy->rec.cpu;
	stack->rec.flags = STACK_LATER | flags;
	if (copy->rec.flags & COPY_LEAF_KERNEL)
		stack->rec.flags |= STACK_USER_PC;
	stack->stack_id = copy->stack_id;
	l->options.sink(l->options.ctx, &stack->rec);
	free(stack);
}

/* A 32-bit program's, as DWARF numbers i386's registers. */
static void fill_regs_32bit(const struct rec_copy *copy, struct walk_regs *regs)
{
	static const uint8_t numbers[] = {0, 2, 1, 3, 7, 6, 4, 5};

	for (size_t i = 0; i < sizeof(numbers); i++)
		regs->general[i] = (uint32_t)copy->general[numbers[i]];
}

static void finish(struct deferred_unwind *l, const struct waiting *w, uint64_t now)
{
	const struct rec_copy *copy = w->copy;
	struct walk_regs regs = {.pc = copy->pc, .sp = copy->sp};
	uint32_t begin = begin_path(l, copy);
	struct walk_path path = {
		.addrs = l->addrs + begin,
		.kinds = l->kinds + begin,
		.capacity = USER_DEPTH_MAX - 1,
	};
	struct walk_target target = {
#if defined(__aarch64__)
		.is_arm64 = true,
#endif
		.pc_mask = walk_own_pc_mask(),
		.methods = l->options.methods,
		.shards = l->shards.items,
		.shard_count = l->shards.count,
		.rules = l->options.rules,
		.rule_count = UNWIND_RULES_MAX,
		.stack_start = copy->sp - copy->below_sp,
		.stack = (const uint8_t *)(copy->body + copy->kernel_depth),
		.stack_size = copy->stack_size,
		.read_code = read_code,
		.ctx = l,
	};

	describe(l, w->mappings, copy->rec.pid);
	target.is_32bit = l->is_32bit;
	if (target.is_32bit)
		fill_regs_32bit(copy, &regs);
	else
		memcpy(regs.general, copy->general, sizeof(regs.general));
	/* AArch32 has no call frame information, and other frame pointers than these. */
	if (target.is_32bit && target.is_arm64)
		target.methods &= UNWIND_BY_CFI;
	target.mappings = l->mappings.rows.items;
	target.mapping_count = l->mappings.rows.count;
	l->current = w->mappings;
	walk_stack(&target, &regs, &path);
	send(l, copy, begin + path.depth, path.flags, now);
}

static void collect_shards(struct deferred_unwind *l)
{
	const struct table_arena *arena = l->options.tables->arena;

	vec_clear(&l->shards);
	vec_for_each(&arena->rows, const struct shard *, shard)
		vec_push(&l->shards, (struct walk_shard){shard->words, UNWIND_SHARD_WORDS});
}

/* Those whose tables are there; of the others, the oldest, until no more bytes are left. */
static void finish_ready(struct deferred_unwind *l, uint64_t now, uint64_t max_bytes)
{
	const struct mapping_table *last = NULL;
	bool last_is_ready = false;
	size_t kept = 0;

	if (!l->waiting.count)
		return;
	collect_shards(l);
	l->described = NULL; /* tables may have come since */
	for (size_t i = 0; i < l->waiting.count; i++) {
		struct waiting *w = &l->waiting.items[i];

		if (!i || w->mappings != last)
			last_is_ready = is_ready(l, w);
		last = w->mappings;
		if (l->bytes <= max_bytes && (!last_is_ready || w->until > now)) {
			l->waiting.items[kept++] = *w;
			continue;
		}
		finish(l, w, now);
		drop(l, w);
	}
	l->waiting.count = kept;
	l->described = NULL;
}

void deferred_unwind_flush(struct deferred_unwind *l, uint64_t now, bool all)
{
	finish_ready(l, now, all ? 0 : LATER_BYTES_MAX);
}

uint64_t deferred_unwind_finish(struct deferred_unwind *l, uint32_t pid, uint64_t before,
				uint64_t now)
{
	uint64_t oldest = 0;

	vec_for_each(&l->waiting, struct waiting *, w) {
		uint64_t time = w->copy->rec.time;

		if (w->copy->rec.pid != pid)
			continue;
		if (time < before)
			w->until = 0;
		else if (!oldest || time < oldest)
			oldest = time;
	}
	finish_ready(l, now, LATER_BYTES_MAX);
	return oldest;
}

void deferred_unwind_add(struct deferred_unwind *l, const struct rec_copy *copy,
			 struct mapping_table *mappings, uint64_t until, uint64_t now)
{
	struct waiting w = {
		.copy = xmemdup(copy, record_size(&copy->rec)),
		.mappings = mappings,
		.until = until,
	};

	vec_push(&l->waiting, w);
	l->bytes += sizeof(w) + record_size(&copy->rec);
	if (mappings)
		l->bytes += mapping_table_await(mappings);
	/* By half: each time all that wait are looked at. */
	if (l->bytes > LATER_BYTES_MAX)
		finish_ready(l, now, LATER_BYTES_MAX / 2);
}

uint64_t deferred_unwind_size(const struct deferred_unwind *l)
{
	return l->bytes;
}
