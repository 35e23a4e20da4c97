/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_walker.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#include "bpf/config.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "lib/stream/record/record.h"
#include "lib/stream/record/stack_record.h"
#include "lib/code/unwind/native/stack_finisher.h"

#define TABLES_MAX ((uint64_t)512 << 20)
#define PAGE_SIZE_USUAL 4096
/* Bits of an address on arm64; a signature takes those above. */
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
	VEC(uint64_t) copy; /* struct rec_copy */
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

struct perf_walker *perf_walker_new(struct perf_modules *modules, uint16_t machine)
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

void perf_walker_free(struct perf_walker *w)
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

/* Compiles what the process maps, if that is not done yet. */
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

bool perf_walker_can(const struct perf_walker *w, const struct perf_attr *attr,
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

struct rec_stack *perf_walker_walk(struct perf_walker *w, const struct perf_attr *attr,
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
