/* SPDX-License-Identifier: MIT */
/* Any bytes as code without CFI. */
#include "lib/code/unwind/arch.h"
#include "lib/code/unwind/frames_x86_64.h"
#include "tests/fuzz/input.h"

#define VADDR 0x401000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct stub_code code = {.code = data, .size = size, .vaddr = VADDR};
	struct stubs rows = {0};
	uint64_t last = 0;

	require(frames_x86_64_size(&code) <= size);
	frames_x86_64(&rows, &code);
	vec_for_each(&rows.rows, const struct stub_row *, row) {
		const struct unwind_rule *rule = &row->rule;

		require(row->vaddr > last && row->vaddr >= VADDR && row->vaddr <= VADDR + size);
		last = row->vaddr;
		if (rule->cfa_kind == UNWIND_CFA_NONE)
			continue;
		if (rule->cfa_kind == UNWIND_CFA_REG)
			require(rule->cfa_reg < UNWIND_REG_OTHER + 16 &&
				rule->cfa_reg != UNWIND_REG_RA);
		else
			require(rule->cfa_kind == UNWIND_CFA_DEREF &&
				rule->cfa_reg <= UNWIND_REG_FP && rule->cfa_deref >= 0);
		require(rule->cfa_offset >= 8 && rule->ra_offset == -1);
		require(rule->fp_offset <= 0 && rule->base_offset <= 0);
	}
	require(!rows.rows.count || vec_last(&rows.rows).rule.cfa_kind == UNWIND_CFA_NONE);
	stubs_release(&rows);
	return 0;
}
