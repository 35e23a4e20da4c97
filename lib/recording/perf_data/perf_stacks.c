/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <linux/perf_event.h>

#include "bpf/config.h"
#include "lib/code/unwind/native/stack_finisher.h"
#include "lib/recording/perf_data/perf_convert.h"
#include "lib/stream/record/records.h"

#define HEAD_SIZE sizeof(struct perf_event_header)

/* A sample that waits for its chain. */
struct waiting {
	uint32_t row;
	uint64_t cookie;
	uint32_t next; /* older one of the same thread; INDEX_NONE: none */
};

struct thread {
	uint32_t tid;
	uint32_t newest; /* INDEX_NONE: none is waiting */
};

struct matching {
	const struct perf_file *file;
	struct perf_deferred *found;
	VEC(struct thread) threads;
	struct index by_tid;
	VEC(struct waiting) waiting;
};

INDEX_HAS(thread_equal, struct matching, threads, tid)

static struct thread *thread_of(struct matching *m, uint32_t tid)
{
	uint32_t row = index_intern(&m->by_tid, hash_u64(tid), thread_equal, m, &tid,
				    m->threads.count);

	if (row == m->threads.count)
		vec_push(&m->threads, (struct thread){tid, INDEX_NONE});
	return &m->threads.items[row];
}

static void add_sample(struct matching *m, uint32_t row, const struct perf_attr *attr,
		       const uint8_t *record, const struct perf_head *head)
{
	struct waiting waiting = {.row = row};
	struct perf_sample sample;
	struct thread *thread;

	if (!perf_sample_read(&sample, attr, record + HEAD_SIZE, head->size - HEAD_SIZE,
			      m->file->is_swapped) ||
	    sample.chain_count < 2 ||
	    ordered_word(sample.chain, sample.chain_count - 2, sample.is_swapped) !=
		    PERF_CONTEXT_USER_DEFERRED)
		return;
	waiting.cookie = ordered_word(sample.chain, sample.chain_count - 1, sample.is_swapped);
	thread = thread_of(m, sample.tid);
	waiting.next = thread->newest;
	thread->newest = (uint32_t)m->waiting.count;
	vec_push(&m->waiting, waiting);
}

/*
 * A record ends the wait of all samples of its thread, as in perf: those with another cookie have
 * lost theirs.
 */
static void add_record(struct matching *m, uint32_t row, const struct perf_attr *attr,
		       const uint8_t *record)
{
	size_t words = perf_file_words(m->file, record);
	struct ordered_bytes b = ordered_bytes_of(record + HEAD_SIZE, words * 8,
						  m->file->is_swapped);
	uint64_t cookie = ordered_u64(&b);
	struct thread *thread;

	if (!attr->has_trailer || !(attr->sample_type & PERF_SAMPLE_TID) ||
	    words < 2u + attr->trailer_words)
		return;
	b = ordered_bytes_of(record + HEAD_SIZE + (words - attr->trailer_words) * 8, 8,
			     m->file->is_swapped);
	ordered_u32(&b); /* skip the pid */
	thread = thread_of(m, ordered_u32(&b));
	for (uint32_t at = thread->newest; at != INDEX_NONE; at = m->waiting.items[at].next) {
		if (m->waiting.items[at].cookie == cookie)
			vec_push(&m->found->rows,
				 (struct perf_deferred_row){m->waiting.items[at].row, row});
	}
	thread->newest = INDEX_NONE;
}

ORDER(compare_samples, struct perf_deferred_row, COMPARE(a->sample, b->sample))

void perf_deferred_find(struct perf_deferred *d, const struct perf_file *file)
{
	struct matching m = {.file = file, .found = d};

	for (size_t i = 0; file->deferred && i < file->store.order.count; i++) {
		const uint8_t *record = perf_store_get(&file->store, i);
		struct perf_head head = perf_file_head(file, record);
		uint32_t attr = perf_file_attr(file, record);

		if (attr >= file->attrs.rows.count)
			continue;
		if (head.type == PERF_RECORD_SAMPLE)
			add_sample(&m, (uint32_t)i, &file->attrs.rows.items[attr], record, &head);
		else if (head.type == PERF_RECORD_CALLCHAIN_DEFERRED)
			add_record(&m, (uint32_t)i, &file->attrs.rows.items[attr], record);
	}
	vec_sort(&d->rows, compare_samples);
	vec_release(&m.threads);
	index_release(&m.by_tid);
	vec_release(&m.waiting);
}

void perf_deferred_set(const struct perf_deferred *d, const struct perf_file *file, size_t row,
		       struct perf_sample *sample)
{
	size_t at = vec_count_front(&d->rows, it, it->sample < row);
	struct ordered_bytes b;
	const uint8_t *record;
	size_t words;

	if (at == d->rows.count || d->rows.items[at].sample != row)
		return;
	record = perf_store_get(&file->store, d->rows.items[at].record);
	words = perf_file_words(file, record);
	b = ordered_bytes_of(record + HEAD_SIZE, words * 8, file->is_swapped);
	ordered_u64(&b); /* skip the cookie */
	sample->deferred_count = ordered_u64(&b);
	if (b.bytes.failed || sample->deferred_count > bytes_left(&b.bytes) / 8)
		sample->deferred_count = 0;
	sample->deferred = b.bytes.at;
}

/* Walks stacks that perf copied (--call-graph dwarf) with prof's own tables and walker. */

struct perf_walker;

#define TABLES_MAX ((uint64_t)512 << 20)
#define PAGE_SIZE_USUAL 4096
/* Bits of an address on arm64; pointer authentication uses the higher bits. */
#define ARM64_PC_MASK ((1ull << 48) - 1)

/* perf's numbers of registers, see asm/perf_regs.h of these machines. */
#define X86_SP 7
#define X86_PC 8
#define ARM64_SP 31
#define ARM64_PC 32

/* By DWARF number. */
static const uint8_t x86_general[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23};

struct perf_walker {
	struct perf_modules *modules;
	struct native_tables tables;
	struct rule_numbers rules;
	struct unwind_scratch *scratch;
	struct stack_finisher *finisher;
	VEC(bool) is_compiled; /* by module */
	VEC(uint64_t) copy; /* buffer for a struct rec_copy */
	bool is_arm64;
};

static bool read_file(void *ctx, uint32_t module, uint64_t offset, void *to, size_t size)
{
	const struct perf_walker *w = ctx;
	int fd = file_set_find(w->modules->files, module);

	return fd >= 0 && pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

static void on_module(void *ctx, const struct rec_module *rec)
{
	struct perf_walker *w = ctx;

	module_tables_add(&w->tables.modules, rec, TABLE_NONE);
}

/*
 * Borrows `modules`, the source of files. Returns NULL if the machine's stacks are not supported.
 */
static struct perf_walker *perf_walker_new(struct perf_modules *modules, uint16_t machine)
{
	struct native_tables_options options = {
		.max_bytes = TABLES_MAX,
		.machine = unwind_machine_own(),
	};
	struct stack_finisher_options finisher = {
		.methods = UNWIND_BY_CFI | UNWIND_BY_FRAME_POINTER | UNWIND_BY_SCAN,
		.read_file = read_file,
	};
	struct perf_walker *w;

	if (machine != EM_X86_64 && machine != EM_AARCH64)
		return NULL;
	if (machine != options.machine.arch->machine)
		options.machine = (struct unwind_machine){
			.arch = unwind_arch_find(machine),
			.pc_mask = machine == EM_AARCH64 ? ARM64_PC_MASK : UINT64_MAX,
			.page_size = PAGE_SIZE_USUAL,
		};
	w = xcalloc(1, sizeof(*w));
	w->modules = modules;
	w->is_arm64 = machine == EM_AARCH64;
	w->scratch = unwind_scratch_new();
	native_tables_init(&w->tables, &options);
	rule_numbers_init(&w->rules);
	finisher.tables = &w->tables;
	finisher.ctx = w;
	w->finisher = stack_finisher_new(&finisher);
	modules->on_module = on_module;
	modules->listener = w;
	return w;
}

/* Accepts NULL. */
static void perf_walker_free(struct perf_walker *w)
{
	if (!w)
		return;
	stack_finisher_free(w->finisher);
	rule_numbers_release(&w->rules);
	unwind_scratch_free(w->scratch);
	native_tables_release(&w->tables);
	vec_release(&w->is_compiled);
	vec_release(&w->copy);
	free(w);
}

static void compile(struct perf_walker *w, uint32_t module)
{
	struct unwind_table table = {0};
	struct error err = {0};
	int fd = file_set_find(w->modules->files, module);

	if (fd < 0)
		return;
	if (unwind_table_compile(fd, &w->rules.rules, w->scratch, &table, &err))
		log_debug("no unwind table: %s", err.text);
	rule_store_number(w->tables.rules, &w->rules);
	vec_for_each(&table.rows, struct unwind_row *, row)
		row->rule = w->rules.numbers.items[row->rule];
	module_tables_store(&w->tables.modules, module, &table);
	unwind_table_release(&table);
	stack_finisher_forget(w->finisher);
}

/* Compiles tables for the process's mappings unless that is done already. */
static void prepare(struct perf_walker *w, struct perf_process *process)
{
	const struct mapping_table *mappings = process->mappings;

	if (!mappings || process->ready_stamp == mappings->stamp)
		return;
	vec_for_each(&mappings->rows, const struct mapping *, mapping) {
		uint32_t id = mapping->module;

		if (id >= w->tables.modules.rows.count)
			continue;
		if (w->is_compiled.count <= id)
			vec_add_zeroed(&w->is_compiled, id + 1 - w->is_compiled.count);
		if (!w->is_compiled.items[id])
			compile(w, id);
		w->is_compiled.items[id] = true;
	}
	process->ready_stamp = mappings->stamp;
}

/* Returns true if the sample has the registers and stack for a walk. */
static bool perf_walker_can(const struct perf_walker *w, const struct perf_attr *attr,
			    const struct perf_sample *sample)
{
	uint64_t wanted = w && w->is_arm64 ? 1ull << ARM64_SP | 1ull << ARM64_PC
					   : 1ull << X86_SP | 1ull << X86_PC;

	return w && sample->stack_size && sample->regs && !sample->is_swapped &&
	       (attr->user_regs & wanted) == wanted;
}

static void fill_registers(const struct perf_walker *w, const struct perf_attr *attr,
			   const struct perf_sample *sample, struct rec_copy *copy)
{
	if (w->is_arm64) {
		copy->sp = perf_sample_reg(sample, attr, ARM64_SP);
		copy->pc = perf_sample_reg(sample, attr, ARM64_PC);
		for (unsigned int i = 0; i < ARM64_SP; i++)
			copy->general[i] = perf_sample_reg(sample, attr, i);
		return;
	}
	copy->sp = perf_sample_reg(sample, attr, X86_SP);
	copy->pc = perf_sample_reg(sample, attr, X86_PC);
	for (unsigned int i = 0; i < sizeof(x86_general); i++)
		copy->general[i] = perf_sample_reg(sample, attr, x86_general[i]);
}

/*
 * Makes the stack record of a sample, without id and time: `kernel`, the kernel's return addresses,
 * innermost first, then the walked frames. `leaf_is_kernel`: the first user frame is part of the
 * stack; otherwise it is the leaf, stored in *leaf. The caller frees it.
 */
static struct rec_stack *perf_walker_walk(struct perf_walker *w, const struct perf_attr *attr,
					  const struct perf_sample *sample, const uint64_t *kernel,
					  uint16_t kernel_depth, bool leaf_is_kernel,
					  struct perf_process *process, uint64_t *leaf)
{
	size_t size = sizeof(struct rec_copy) + kernel_depth * sizeof(uint64_t) +
		      sample->stack_size;
	struct rec_copy *copy;

	prepare(w, process);
	vec_clear(&w->copy);
	copy = (struct rec_copy *)vec_add_zeroed(&w->copy, (size + 7) / 8);
	record_init(&copy->rec, REC_COPY, (size + 7) & ~(size_t)7, sample->time, sample->pid,
		    sample->tid);
	copy->rec.flags = leaf_is_kernel ? COPY_LEAF_KERNEL : 0;
	copy->kernel_depth = kernel_depth;
	copy->stack_size = (uint32_t)sample->stack_size;
	fill_registers(w, attr, sample, copy);
	memcpy(copy->body, kernel, kernel_depth * sizeof(uint64_t));
	memcpy(copy->body + kernel_depth, sample->stack, sample->stack_size);
	if (leaf)
		*leaf = copy->pc;
	return stack_finisher_finish(w->finisher, copy, process->mappings, NULL, sample->time);
}

/* perf's default limit: a chain of this length may be truncated. */
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

INDEX_EQUAL(hash_equal, struct perf_stacks, sent, *a == *b)

/* Returns the stack's id. *is_new: it must be sent. */
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

/* A chain to send: the kernel's frames first, including the leaf. */
struct chain {
	uint32_t kernel, user; /* numbers of frames */
	bool is_full;
};

static void add_frame(struct perf_stacks *s, struct chain *chain, uint64_t addr, bool is_user)
{
	/* User frames must be the outermost ones. */
	if ((!is_user && chain->user) || chain->kernel + chain->user == PERF_DEPTH_MAX)
		return;
	s->addrs[chain->kernel + chain->user] = addr;
	chain->user += is_user;
	chain->kernel += !is_user;
}

/*
 * Markers in a chain give the kind of the addresses after them. The user side may be deferred; if
 * it never arrived, the stack ends too early.
 */
static struct chain read_chain(struct perf_stacks *s, const struct perf_sample *sample,
			       bool is_kernel)
{
	bool is_user = !is_kernel, is_known = true, is_deferred = false;
	struct chain chain = {0};

	for (uint64_t i = 0; i < sample->chain_count && !is_deferred; i++) {
		uint64_t addr = ordered_word(sample->chain, i, sample->is_swapped);

		if (addr >= (uint64_t)PERF_CONTEXT_MAX) {
			is_user = addr == (uint64_t)PERF_CONTEXT_USER;
			is_known = is_user || addr == (uint64_t)PERF_CONTEXT_KERNEL;
			is_deferred = addr == PERF_CONTEXT_USER_DEFERRED;
		} else if (is_known) {
			add_frame(s, &chain, addr, is_user);
		}
	}
	for (uint64_t i = 0; is_deferred && i < sample->deferred_count; i++)
		add_frame(s, &chain, ordered_word(sample->deferred, i, sample->is_swapped), true);
	chain.is_full = chain.kernel + chain.user >= CHAIN_FULL ||
			(is_deferred && !sample->deferred_count);
	return chain;
}

/*
 * Replaces the user frames by the CPU's call stack (--call-graph lbr). It contains the addresses of
 * the calls themselves; adding 1 makes them return addresses.
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
	place.stack = find(
		s,
		hash_bytes(s->addrs + 1, depth * sizeof(*s->addrs),
			   (uint64_t)kernel << 2 | (uint64_t)chain->is_full << 1 | !!chain->kernel),
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

/* Walks the copied stack below the chain's kernel frames. */
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

/* Code after the newest branch has not run to an end, so its end is stated as before its start. */
struct perf_place perf_stacks_branch(struct perf_stacks *s, const struct perf_sample *sample,
				     uint64_t number)
{
	const uint64_t from = ordered_word(sample->branches, number * 3, sample->is_swapped);
	const uint64_t to = ordered_word(sample->branches, number * 3 + 1, sample->is_swapped);
	const struct chain chain = {.user = 3};

	s->addrs[0] = number ? ordered_word(sample->branches, number * 3 - 3, sample->is_swapped)
			     : to - 1;
	s->addrs[1] = to + 1;
	s->addrs[2] = from + 1;
	return send_chain(s, sample, &chain);
}
