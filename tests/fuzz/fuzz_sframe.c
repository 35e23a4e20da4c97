/* SPDX-License-Identifier: MIT */
/* Any bytes as .sframe, for both machines that it describes. */
#include "lib/code/unwind/arch.h"
#include "lib/code/unwind/sframe.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct unwind_arch *const archs[] = {&unwind_arch_x86_64, &unwind_arch_aarch64};

	for (size_t i = 0; i < 2; i++) {
		struct stubs stubs = {0};

		sframe_add(&stubs, archs[i], data, size, 0x402000);
		require(stubs.rows.count <= size);
		vec_for_each(&stubs.rows, const struct stub_row *, row) {
			require(row->rule.cfa_kind <= UNWIND_CFA_REG);
			require(row->rule.cfa_reg <= UNWIND_REG_FP);
		}
		stubs_sort(&stubs);
		stubs_release(&stubs);
	}
	return 0;
}
