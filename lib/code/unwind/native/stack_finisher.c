/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/native/stack_finisher.h"

#include "bpf/config.h"
#include "bpf/runtime_merge.h"
#include "lib/stream/record/records.h"

void native_tables_init(struct native_tables *t, const struct native_tables_options *options)
{
	*t = (struct native_tables){.machine = options->machine};
	table_arena_init(&t->arena, options->shards, options->max_bytes);
	t->rules = rule_store_new(options->rules);
	module_tables_init(&t->modules, &t->arena, t->machine.page_size);
	jit_tables_init(&t->jit, &t->arena, &t->garbage, t->rules, t->machine.arch);
}

void native_tables_release(struct native_tables *t)
{
	jit_tables_release(&t->jit);
	module_tables_release(&t->modules);
	rule_store_free(t->rules);
	deferred_free_release(&t->garbage);
	table_arena_release(&t->arena);
}

void native_tables_describe(struct native_tables *t, const struct mapping_table *mappings,
			    const struct jit_code *code, uint32_t flags, struct native_space *space)
{
	struct unwind_mappings *out = &space->mappings;

	vec_clear(&out->rows);
	space->is_pending = false;
	space->is_32bit = mappings && module_tables_are_32bit(&t->modules, mappings);
	if (!mappings)
		return;
	vec_for_each(&mappings->rows, const struct mapping *, mapping)
		module_tables_describe(&t->modules, mapping, out);
	vec_for_each(&out->rows, const struct unwind_mapping *, m)
		space->is_pending |= m->flags & UNWIND_PENDING;
	jit_tables_describe(&t->jit, code, flags, out);
}

static void drop_table(struct native_tables *t, struct module_table *table, uint64_t now)
{
	vec_for_each(&table->chunks, const struct table_chunk *, chunk)
		deferred_free_add(&t->garbage, &chunk->piece, now);
	vec_clear(&table->chunks);
	table->state = TABLE_DROPPED;
	table->rows = 0;
}

void native_tables_evict(struct native_tables *t, uint64_t unused_ns, uint64_t now)
{
	vec_for_each(&t->modules.rows, struct module_table *, table) {
		if (table->state == TABLE_READY && !table->last_used_ns)
			table->last_used_ns = now;
		else if (table->state == TABLE_READY && now - table->last_used_ns > unused_ns)
			drop_table(t, table, now);
	}
}

bool native_tables_was_used(const struct native_tables *t, uint32_t module_id, uint64_t since_ns)
{
	const struct module_table *table;

	if (module_id >= t->modules.rows.count)
		return false;
	table = &t->modules.rows.items[module_id];
	return table->last_used_ns >= since_ns || table->state == TABLE_PENDING;
}

void native_tables_forget(struct native_tables *t, uint32_t module_id, uint64_t now)
{
	struct module_table *table;

	if (module_id >= t->modules.rows.count)
		return;
	table = &t->modules.rows.items[module_id];
	drop_table(t, table, now);
	table->state = TABLE_NONE;
	vec_release(&table->segments);
	vec_release(&table->chunks);
}

void native_tables_end_round(struct native_tables *t, uint64_t now)
{
	deferred_free_collect(&t->garbage, &t->arena, now);
	t->garbage.round++;
}

static uint64_t place_of(const struct managed_merge *in, uint32_t i)
{
	return i < in->managed_count ? in->managed[i].place : 0;
}

/* Returns the end of the C frame: the next one's sp. */
static uint64_t end_of(const struct managed_merge *in, uint32_t i)
{
	if (i + 1 < in->depth)
		return in->sps[i + 1];
	return in->is_whole ? UINT64_MAX : 0;
}

static bool is_signal(const struct managed_merge *in, uint32_t i)
{
	return i < in->depth && in->kinds[i] == FRAME_SIGNAL;
}

struct managed_merge_result managed_merge(const struct managed_merge *in, uint64_t *addrs,
					  uint8_t *kinds, uint32_t capacity)
{
	struct managed_merge_result result = {0};
	struct merge m = {
		.native_count = in->depth,
		.managed_count = in->managed_count,
		.keeps_interpreter = in->keeps_interpreter,
		.ends_early = !in->is_whole && in->depth + in->managed_count <= capacity,
	};
	uint64_t first = in->depth ? in->sps[0] : in->is_whole ? UINT64_MAX : 0;

	merge_begin(&m, in->top_sp, first, place_of(in, 0));
	result.leaf_replaced = m.leaf_replaced;
	for (;;) {
		uint64_t sp = m.native < in->depth ? in->sps[m.native] : 0;
		uint64_t end = end_of(in, m.native), place = place_of(in, m.managed);
		enum merge_step step = merge_step(&m, sp, end, place, is_signal(in, m.native));

		if (step == MERGE_END)
			break;
		if (step != MERGE_NOTHING && result.depth == capacity) {
			result.is_truncated = true;
			break;
		}
		if (step == MERGE_NATIVE) {
			addrs[result.depth] = in->addrs[m.native];
			kinds[result.depth++] = in->kinds[m.native];
		} else if (step == MERGE_MANAGED) {
			addrs[result.depth] = in->managed[m.managed].position;
			kinds[result.depth++] = FRAME_MANAGED;
		}
		merge_advance(&m, step, sp, end, place, place_of(in, m.managed + 1));
	}
	result.left = in->managed_count - m.managed;
	return result;
}

struct stack_finisher {
	struct stack_finisher_options options;
	/* The mappings of the last description; NULL: none. */
	const struct mapping_table *described;
	uint64_t described_stamp;
	const struct jit_code *described_code;
	struct native_space space;
	VEC(struct walk_shard) shards;
	/* The mappings of the current copy, for read_code(). */
	const struct mapping_table *current;
	/* The frames of the current copy, the kernel's first. */
	uint64_t addrs[KERNEL_DEPTH_MAX + USER_DEPTH_MAX];
	uint8_t kinds[KERNEL_DEPTH_MAX + USER_DEPTH_MAX];
	uint64_t sps[KERNEL_DEPTH_MAX + USER_DEPTH_MAX];
	/* The same, merged with a runtime's frames. */
	uint64_t merged_addrs[KERNEL_DEPTH_MAX + USER_DEPTH_MAX];
	uint8_t merged_kinds[KERNEL_DEPTH_MAX + USER_DEPTH_MAX];
};

struct stack_finisher *stack_finisher_new(const struct stack_finisher_options *options)
{
	struct stack_finisher *f = xcalloc(1, sizeof(*f));

	f->options = *options;
	return f;
}

void stack_finisher_free(struct stack_finisher *f)
{
	if (!f)
		return;
	vec_release(&f->space.mappings.rows);
	vec_release(&f->shards);
	free(f);
}

void stack_finisher_forget(struct stack_finisher *f)
{
	f->described = NULL;
	vec_clear(&f->shards);
}

/* Reads code from its file. Code without a file cannot be checked for calls. */
static bool read_code(void *ctx, uint64_t addr, void *to, size_t size)
{
	const struct stack_finisher *f = ctx;
	const struct mapping *mapping = f->current ? mapping_table_find(f->current, addr) : NULL;

	return mapping && mapping->module != MAPPING_ANON && mapping->end - addr >= size &&
	       f->options.read_file(f->options.ctx, mapping->module,
				    addr - mapping->start + mapping->file_offset, to, size);
}

static void describe(struct stack_finisher *f, const struct mapping_table *mappings,
		     const struct jit_code *code)
{
	const struct table_arena *arena = &f->options.tables->arena;

	for (size_t i = f->shards.count; i < arena->rows.count; i++)
		vec_push(&f->shards,
			 (struct walk_shard){arena->rows.items[i].words, UNWIND_SHARD_WORDS});
	if (mappings && mappings == f->described && mappings->stamp == f->described_stamp &&
	    code == f->described_code)
		return;
	native_tables_describe(f->options.tables, mappings, code, 0, &f->space);
	f->described = mappings;
	f->described_stamp = mappings ? mappings->stamp : 0;
	f->described_code = code;
}

/* Stores the frames known without a walk. Returns their number. */
static uint32_t begin_path(struct stack_finisher *f, const struct rec_copy *copy,
			   uint32_t kernel_depth)
{
	uint32_t depth = kernel_depth;

	memcpy(f->addrs, copy->body, depth * sizeof(uint64_t));
	memset(f->kinds, FRAME_KERNEL, depth);
	if (copy->rec.flags & COPY_LEAF_KERNEL) {
		f->addrs[depth] = copy->pc;
		f->kinds[depth] = FRAME_NATIVE;
		f->sps[depth] = copy->sp;
		depth++;
	}
	return depth;
}

/* Fills in the registers of a 32-bit program by i386's DWARF numbers. */
static void fill_regs_32bit(const struct rec_copy *copy, struct walk_regs *regs)
{
	static const uint8_t numbers[] = {0, 2, 1, 3, 7, 6, 4, 5};

	for (size_t i = 0; i < sizeof(numbers); i++)
		regs->general[i] = (uint32_t)copy->general[numbers[i]];
}

#define PIECES 5

/* Describes the memory copied besides the stack. */
static void describe_pieces(const struct rec_copy *copy, struct walk_piece pieces[PIECES])
{
	const struct copied_go *go = &copy->go;

	pieces[0] = (struct walk_piece){go->thread - 8, &go->g, 8, false};
	pieces[1] = (struct walk_piece){go->g, go->g_words, sizeof(go->g_words), false};
	pieces[2] = (struct walk_piece){go->m, go->m_words, sizeof(go->m_words), false};
	pieces[3] = (struct walk_piece){go->other, go->other_words, sizeof(go->other_words), false};
	pieces[4] = (struct walk_piece){go->other_words[COPIED_SP_AT] - COPIED_BELOW_SP,
					copy->body + copy->kernel_depth + copy->stack_size / 8,
					copy->other_size, true};
}

static void walk(struct stack_finisher *f, const struct rec_copy *copy, struct walk_path *path)
{
	const struct native_tables *tables = f->options.tables;
	struct walk_regs regs = {.pc = copy->pc, .sp = copy->sp};
	struct walk_piece pieces[PIECES];
	struct walk_target target = {
		.is_arm64 = unwind_machine_is_arm64(&tables->machine),
		.is_32bit = f->space.is_32bit,
		.pc_mask = tables->machine.pc_mask,
		.methods = f->options.methods,
		.mappings = f->space.mappings.rows.items,
		.mapping_count = f->space.mappings.rows.count,
		.shards = f->shards.items,
		.shard_count = f->shards.count,
		.rules = rule_store_rules(tables->rules),
		.rule_count = UNWIND_RULES_MAX,
		.stack_start = copy->sp - copy->below_sp,
		.stack = (const uint8_t *)(copy->body + copy->kernel_depth),
		.stack_size = copy->stack_size,
		.thread_pointer = copy->go.thread,
		.pieces = pieces,
		.piece_count = copy->go.g ? PIECES : 0,
		.read_code = f->options.read_file ? read_code : NULL,
		.ctx = f,
	};

	describe_pieces(copy, pieces);
	if (target.is_32bit)
		fill_regs_32bit(copy, &regs);
	else
		memcpy(regs.general, copy->general, sizeof(regs.general));
	/* AArch32 has neither call frame information nor compatible frame pointers. */
	if (target.is_32bit && target.is_arm64)
		target.methods &= UNWIND_BY_CFI;
	walk_stack(&target, &regs, path);
}

/*
 * Returns the depth without a last frame that is not code: a frame pointer register used for other
 * data leads there, and anything beyond it would be data as well.
 */
static uint32_t without_data(const struct stack_finisher *f, uint32_t kernel_depth,
			     uint32_t user_depth)
{
	const struct mapping_table *t = f->current;

	if (user_depth && t && t->rows.count &&
	    !mapping_table_find(t, f->addrs[kernel_depth + user_depth - 1]))
		user_depth--;
	return user_depth;
}

/*
 * Inserts the copy's runtime frames among the `user_depth` walked ones. Returns the resulting
 * number.
 */
static uint32_t merge(struct stack_finisher *f, const struct rec_copy *copy, uint32_t kernel_depth,
		      uint32_t user_depth, uint8_t *flags)
{
	const struct managed_merge in = {
		.addrs = f->addrs + kernel_depth,
		.sps = f->sps + kernel_depth,
		.kinds = f->kinds + kernel_depth,
		.depth = user_depth,
		.top_sp = copy->rec.flags & COPY_LEAF_KERNEL ? UINT64_MAX : copy->sp,
		.is_whole = *flags & STACK_WHOLE,
		.keeps_interpreter = copy->rec.flags & COPY_KEEPS_INTERPRETER,
		.managed = rec_copy_managed(copy),
		.managed_count = copy->managed_count,
	};
	struct managed_merge_result result = managed_merge(&in, f->merged_addrs, f->merged_kinds,
							   USER_DEPTH_MAX);

	memcpy(f->addrs + kernel_depth, f->merged_addrs, result.depth * sizeof(*f->addrs));
	memcpy(f->kinds + kernel_depth, f->merged_kinds, result.depth);
	if (result.leaf_replaced)
		*flags |= STACK_LEAF_REPLACED;
	if (result.is_truncated)
		*flags = (uint8_t)((*flags & (STACK_GUESSED | STACK_LEAF_REPLACED)) |
				   STACK_TRUNCATED);
	return result.depth;
}

struct rec_stack *stack_finisher_finish(struct stack_finisher *f, const struct rec_copy *copy,
					const struct mapping_table *mappings,
					const struct jit_code *code, uint64_t now)
{
	uint32_t kernel_depth = copy->kernel_depth < KERNEL_DEPTH_MAX ? copy->kernel_depth
								      : KERNEL_DEPTH_MAX;
	uint32_t begin = begin_path(f, copy, kernel_depth);
	struct walk_path path = {
		.addrs = f->addrs + begin,
		.kinds = f->kinds + begin,
		.sps = f->sps + begin,
		.capacity = USER_DEPTH_MAX - 1,
	};
	struct rec_stack *stack;
	uint32_t user_depth;

	describe(f, mappings, code);
	f->current = mappings;
	walk(f, copy, &path);
	user_depth = begin + path.depth - kernel_depth;
	if (copy->managed_count) {
		user_depth = without_data(f, kernel_depth, user_depth);
		user_depth = merge(f, copy, kernel_depth, user_depth, &path.flags);
	}
	stack = stack_record_new(f->addrs, f->kinds, (uint16_t)kernel_depth, (uint16_t)user_depth);
	record_init(&stack->rec, REC_STACK, record_size(&stack->rec), now, copy->rec.pid,
		    copy->rec.tid);
	stack->rec.cpu = copy->rec.cpu;
	stack->rec.flags = STACK_LATER | path.flags;
	if (copy->rec.flags & COPY_LEAF_KERNEL)
		stack->rec.flags |= STACK_USER_PC;
	stack->stack_id = copy->stack_id;
	return stack;
}
