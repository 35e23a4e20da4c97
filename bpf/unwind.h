/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Unwind tables as the walker reads them, in the kernel and in user space alike. A table covers the
 * code of one ELF file, addressed by the vaddr of the file:
 *
 *	page  = (vaddr - table start) >> UNWIND_PAGE_SHIFT
 *	rows  = index[page] .. index[page + 1]		(row numbers within the table)
 *	row   = the last one of them with pc_low <= (vaddr & page mask),
 *		else row index[page] - 1, which began on an earlier page
 *	rule  = rules[row.rule]
 *
 * A row holds until the next one begins. Rules are shared by all tables; a word in them is that of
 * the file's machine, 4 or 8 bytes.
 */
#pragma once

#include <linux/types.h>

#define UNWIND_PAGE_SHIFT 10
#define UNWIND_PAGE_SIZE (1u << UNWIND_PAGE_SHIFT)

struct unwind_row {
	__u16 pc_low; /* offset in its page */
	__u16 rule; /* number of the rule */
};

/* Registers whose caller's values are tracked; numbered alike on all machines. */
enum unwind_reg {
	UNWIND_REG_SP,
	UNWIND_REG_FP, /* rbp, x29 */
	UNWIND_REG_BASE, /* rbx, x19: the only other register that CFAs of callers use */
	UNWIND_REG_RA, /* arm64: the link register; x86-64: unused */
	/* + n: general register n in DWARF's numbering. Known for the top frame only. */
	UNWIND_REG_OTHER,
};

enum unwind_cfa_kind {
	UNWIND_CFA_NONE, /* no CFI: a gap between FDEs, or too complex a rule */
	UNWIND_CFA_END, /* the return address is undefined: the outermost frame */
	UNWIND_CFA_REG, /* reg + offset */
	UNWIND_CFA_DEREF, /* *(reg + deref * word) + offset */
	/* *(reg + (index + deref) * word) + offset, index the register UNWIND_INDEX_REG(flags) */
	UNWIND_CFA_INDEXED,
	/* *(*(reg + deref * word) + n * word) + offset, n being UNWIND_INDEX_REG(flags) */
	UNWIND_CFA_DEREF_TWICE,
	UNWIND_CFA_PLT, /* reg + (1 + ((pc & 15) >= offset)) * word: lazy binding stubs of x86 */
	/*
	 * reg + offset, after a system call that creates a thread. In the new thread, where the
	 * call's result (general register 0) is 0, the frame is the outermost one.
	 */
	UNWIND_CFA_CLONE,
	/*
	 * From here on, the caller's frame is on another stack. Words of such a rule that are
	 * otherwise unused locate that stack.
	 */
	UNWIND_CFA_OTHER_STACK, /* fp + offset */
	/*
	 * Go: the goroutine's saved sp + offset, for code that its thread runs on the system stack;
	 * "g" is the top frame's register cfa_reg or, if that is UNWIND_REG_SP, cfa_deref words
	 * from the thread pointer; base_offset packs offsets in Go's structures: GO_M_AT,
	 * GO_CURG_AT, GO_SP_AT. With UNWIND_SAME as ra, the pc is the goroutine's saved one.
	 */
	UNWIND_CFA_GOROUTINE,
	/*
	 * Go: upper end of the goroutine's stack - depth + offset, both in this frame at sp:
	 * goroutine at word base_offset, depth at word cfa_deref. Goroutine 0: the word of the
	 * depth is the sp instead.
	 */
	UNWIND_CFA_GO_DEPTH,
	/*
	 * Erlang (x86-64): the process's stack, on which words with the low bits 0 are return
	 * addresses and all others are terms; at sp or, for code that runs at base + offset or just
	 * below, on the scheduler's stack, at fp or, if cfa_deref is not 0, at the process's word
	 * cfa_deref. The first ra_offset words from sp on may not have been set yet.
	 */
	UNWIND_CFA_ERLANG,
};
#define UNWIND_CFA_LAST UNWIND_CFA_ERLANG

/* Offsets in words: of m in a goroutine, of its saved sp there, of the current goroutine in m. */
#define GO_M_AT(packed) (15 & (packed))
#define GO_SP_AT(packed) ((packed) >> 4 & 31)
#define GO_CURG_AT(packed) ((packed) >> 9 & 127)
#define GO_PACK(m, sp, curg) ((m) | (sp) << 4 | (curg) << 9)

/*
 * Location of the caller's value of a register. For ra, UNWIND_SAME means the register ra_offset
 * (enum unwind_reg): UNWIND_REG_RA on arm64 and, in vfork, UNWIND_REG_OTHER + 5 on x86-64.
 */
enum unwind_value_kind {
	UNWIND_SAME, /* still in the register */
	UNWIND_AT_CFA, /* in memory, at CFA + offset * word */
	UNWIND_AT_REG, /* in memory, at register UNWIND_AT_REG_BASE(kinds) + offset * word */
	UNWIND_UNKNOWN,
};

/*
 * rule.flags. The caller of a signal frame has a pc, not a return address. On arm64 its link
 * register is in memory 16 bytes below its pc or, unless the CFA is UNWIND_CFA_DEREF and 0,
 * cfa_deref words above it; with UNWIND_SAME as ra, it is general register cfa_deref, or that many
 * words above the CFA, if negative.
 */
enum {
	UNWIND_SIGNAL_FRAME = 1 << 0, /* CIE augmentation 'S' */
	UNWIND_RA_SIGNED = 1 << 1, /* arm64: DW_CFA_AARCH64_negate_ra_state is in force */
	UNWIND_INDEX_SHIFT = 2, /* the bits from here on: UNWIND_INDEX_REG */
	UNWIND_INDEX_MAX = 63,
};

struct unwind_rule {
	__u8 cfa_kind; /* enum unwind_cfa_kind */
	__u8 cfa_reg; /* enum unwind_reg */
	__u8 kinds; /* enum unwind_value_kind: ra in bits 0-1, fp in 2-3, base in 4-5; in 6-7 the
		       register (sp, fp or base) of UNWIND_AT_REG */
	__u8 flags;
	__s32 cfa_offset; /* bytes */
	__s16 cfa_deref; /* in words, like the next three */
	__s16 ra_offset, fp_offset, base_offset;
};

#define UNWIND_RA_KIND(kinds) (3 & (kinds))
#define UNWIND_FP_KIND(kinds) ((kinds) >> 2 & 3)
#define UNWIND_BASE_KIND(kinds) ((kinds) >> 4 & 3)
#define UNWIND_AT_REG_BASE(kinds) ((kinds) >> 6 & 3)
/* Masks kinds; leaves only UNWIND_AT_CFA if ra is in memory relative to the CFA. */
#define UNWIND_RA_AND_REG_MASK 0xc3
#define UNWIND_INDEX_REG(flags) ((flags) >> UNWIND_INDEX_SHIFT)
#define UNWIND_AT_REG_LAST UNWIND_REG_BASE

/* Rules with fixed numbers. */
enum {
	UNWIND_RULE_NONE, /* UNWIND_CFA_NONE */
	UNWIND_RULE_END, /* UNWIND_CFA_END */
	UNWIND_RULE_FIRST, /* first free number */
};

#define UNWIND_RULES_MAX 65536

/*
 * Tables lie in shards: maps of one large value that user space fills with plain stores. A module
 * whose table does not fit into one shard becomes several mappings, each with a table of its own.
 */
#define UNWIND_SHARD_BYTES (2u << 20)
#define UNWIND_SHARD_WORDS (UNWIND_SHARD_BYTES / 4)
#define UNWIND_SHARDS_MAX 2048

/* unwind_mapping.flags */
enum {
	UNWIND_HAS_TABLE = 1 << 0, /* otherwise code without CFI, e.g. generated at run time */
	UNWIND_PENDING = 1 << 1, /* the table is being compiled */
	UNWIND_PENDING_TICKS = 1 << 2, /* the same, for stacks of ticks and hardware events */
};

/* Executable memory of a process. Positions are in words of 4 bytes within the shard. */
struct unwind_mapping {
	__u64 start, end; /* addresses */
	__u64 bias; /* address - bias = vaddr */
	__u64 table_start; /* vaddr of the first page of the table */
	__u64 entry; /* vaddr of the program's entry point, where stacks end; 0: none */
	__u32 shard, index_at, rows_at, page_count;
	__u32 flags, reserved;
};

/* A runtime in a process. */
struct space_runtime {
	__u8 kind; /* enum runtime_kind; 0: none, and none after it */
	__u8 at; /* position in unwind_space.runtimes */
	__u16 layout; /* number in runtime_layouts */
	__u32 misled; /* consecutive failed walks through its structures */
	__u64 bias; /* address - bias = vaddr of the file with the runtime */
};

/* Maximum number of a process's runtimes to follow. */
#define SPACE_RUNTIMES 4

/* The location of a process's mappings in the shards; ascending. */
struct unwind_space {
	__u32 shard;
	__u32 at; /* first mapping, in words */
	__u32 count;
	__u32 execs; /* execs since the process was tracked; stale if it differs */
	/* Number of this description, not 0. A fork copies it, so two processes may share one. */
	__u32 serial;
	__u32 is_pending; /* tables are being compiled, so a runtime may be unknown yet */
	struct space_runtime runtimes[SPACE_RUNTIMES]; /* in the order in which they add frames */
};

_Static_assert(sizeof(struct unwind_row) == 4, "layout of tables");
_Static_assert(sizeof(struct unwind_rule) == 16, "layout of tables");
_Static_assert(sizeof(struct unwind_mapping) == 64, "layout of tables");
