/* SPDX-License-Identifier: MIT */
/* Facts about the machine of the unwound programs that no file or record contains. */
#pragma once

#include "bpf/record.h"
#include "bpf/unwind.h"
#include "lib/code/unwind/arch.h"

struct unwind_machine {
	const struct unwind_arch *arch; /* for its 64-bit programs */
	uint64_t pc_mask; /* bits of a return address without its signature */
	uint32_t page_size; /* bytes, a power of two */
};

/* Returns the facts about the running machine. */
struct unwind_machine unwind_machine_own(void);
bool unwind_machine_is_arm64(const struct unwind_machine *machine);

/*
 * The walker in user space: takes the same steps (bpf/walk.h) in the same order as
 * bpf/capture_stack.bpf.h, over a copy of registers and stack. Finishes stacks in code whose tables
 * the kernel's walker lacked, and is compared with other unwinders in tests.
 */

/* Memory with tables; `size` is in words, a power of two. */
struct walk_shard {
	const uint32_t *words;
	uint32_t size;
};

/* Memory copied besides the stack. */
struct walk_piece {
	uint64_t start; /* address */
	const void *bytes;
	size_t size;
	bool is_stack; /* the inner end of a stack whose rest was not copied */
};

struct walk_target {
	bool is_arm64;
	bool is_32bit; /* words have 4 bytes; else 8 */
	uint64_t pc_mask; /* bits of a return address without its signature; 0: all */
	uint64_t thread_pointer; /* base of thread-local variables; 0: unknown */
	uint32_t methods; /* UNWIND_BY_CFI, UNWIND_BY_FRAME_POINTER, UNWIND_BY_SCAN */
	const struct unwind_mapping *mappings; /* ascending */
	size_t mapping_count;
	const struct walk_shard *shards;
	size_t shard_count;
	const struct unwind_rule *rules;
	size_t rule_count;
	/* The copied stack. A walk that leaves it ends with STACK_TRUNCATED. */
	uint64_t stack_start;
	const uint8_t *stack;
	size_t stack_size;
	const struct walk_piece *pieces; /* other memory to which rules may lead */
	size_t piece_count;
	/*
	 * Reads code of the process, to look for calls. Returns false if it is unreadable. NULL: no
	 * scan.
	 */
	bool (*read_code)(void *ctx, uint64_t addr, void *to, size_t size);
	void *ctx;
};

/* Registers of the interrupted code; general registers by DWARF number. */
struct walk_regs {
	uint64_t pc, sp;
	uint64_t general[32];
};

struct walk_path {
	uint64_t *addrs; /* callers of the top frame, innermost first */
	uint8_t *kinds; /* enum frame_kind of each */
	uint64_t *sps; /* sp of each: the CFA of the next inner frame; NULL: not wanted */
	uint32_t capacity, depth;
	uint8_t flags; /* STACK_WHOLE, STACK_BROKEN, STACK_UNKNOWN, STACK_TRUNCATED, STACK_GUESSED
			*/
};

/* Returns walk_target.pc_mask for processes of this machine. */
uint64_t walk_own_pc_mask(void);

/*
 * Walks a stack. Fills the caller's arrays path->addrs and kinds up to capacity, and sets depth and
 * flags.
 */
void walk_stack(const struct walk_target *target, const struct walk_regs *regs,
		struct walk_path *path);
