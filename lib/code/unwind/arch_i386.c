/* SPDX-License-Identifier: MIT */
/* i386: register numbers of its System V ABI, table 2.14. */
#include "lib/code/unwind/arch.h"

#include <elf.h>

/*
 * GNU ld writes CFI for its stubs. Other code without CFI, such as crti's functions, gets no rows.
 */
static void add_stub(struct stubs *stubs, const struct stub_code *code)
{
	if (code->kind != STUB_PLT_JUMPS ||
	    (!stub_has(code, 0, "\xff\x25") && !stub_has(code, 0, "\xff\xa3") &&
	     !stub_has(code, 0, "\xf3\x0f\x1e\xfb")))
		return;
	stubs_add_row(stubs, code->vaddr, stubs_rule_at_entry(&unwind_arch_i386, 4));
	stubs_add_end(stubs, code);
}

const struct unwind_arch unwind_arch_i386 = {
	.machine = EM_386,
	.ra_column = 8,
	.reg_count = 8,
	.word = 4,
	.sp = 4,
	.fp = 5,
	.base = 3,
	.initial = {.kinds = UNWIND_AT_CFA, .ra_offset = -1},
	.add_stub = add_stub,
};
