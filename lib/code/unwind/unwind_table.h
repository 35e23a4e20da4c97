/* SPDX-License-Identifier: MIT */
/*
 * Compiles the call frame information of an ELF file to the compact rows of bpf/unwind.h. Input is
 * .eh_frame (found by section or by PT_GNU_EH_FRAME, using .eh_frame_hdr's sorted table if
 * there is one), else .debug_frame; .sframe if it is larger than .eh_frame; and on x86-64 the code
 * that these do not cover. Malformed input is counted and becomes a gap, never an "end of stack".
 */
#pragma once

#include "bpf/unwind.h"
#include "lib/base/base.h"

/* All rules of all tables, each once; never shrinks. */
struct unwind_rules {
	VEC(struct unwind_rule) rows;
	struct index index;
};

/* Adds the rules with fixed numbers. */
void unwind_rules_init(struct unwind_rules *rules);
void unwind_rules_release(struct unwind_rules *rules);
/* Returns the number of the rule; UNWIND_RULE_NONE when UNWIND_RULES_MAX is reached. */
uint16_t unwind_rules_intern(struct unwind_rules *rules, const struct unwind_rule *rule);

struct unwind_table_stats {
	uint64_t fdes, rows;
	uint64_t malformed; /* unreadable CIEs and FDEs */
	uint64_t unsupported; /* rows that no rule can express */
	uint64_t overlapping; /* FDEs that overlap an earlier one */
	uint64_t outside; /* FDEs for non-executable addresses */
};

struct unwind_table {
	uint64_t start; /* vaddr of the first page, a multiple of UNWIND_PAGE_SIZE */
	uint64_t entry; /* e_entry: a root even if its CFI does not mark it; 0: none */
	bool has_entry; /* the rows describe the entry */
	uint32_t page_count;
	VEC(uint32_t) index; /* page_count + 1 row numbers */
	VEC(struct unwind_row) rows;
	struct unwind_table_stats stats;
};

/* Memory reused between compilations; grows to the largest size needed. */
struct unwind_scratch;

struct unwind_scratch *unwind_scratch_new(void);
/* NULL is fine. */
void unwind_scratch_free(struct unwind_scratch *scratch);

/* Returns a copy of the rows of the table that was compiled last. */
struct unwind_row *unwind_scratch_rows(const struct unwind_scratch *scratch);

/*
 * Compiles the file's CFI; reads only the necessary parts, with pread(). Returns 0 also for a file
 * without CFI (the table then mostly has 0 pages), -ENOEXEC if it is not an ELF file of a supported
 * machine, -EFBIG if limits (rows, size) are exceeded. `scratch` may be NULL.
 */
int unwind_table_compile(int fd, struct unwind_rules *rules, struct unwind_scratch *scratch,
			 struct unwind_table *table, struct error *err);
void unwind_table_release(struct unwind_table *table);
