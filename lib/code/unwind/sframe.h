/* SPDX-License-Identifier: MIT */
/*
 * Reads .sframe, which assemblers and linkers write in version 3 since binutils 2.46 ("The SFrame
 * Format"). The bytes are untrusted.
 */
#pragma once

#include "lib/code/unwind/stub_rows.h"

/*
 * Adds rows for the functions that the section, which lies at `vaddr`, describes, in any order; at
 * most one for each of its bytes. Functions with rules of the flexible kind have none.
 */
void sframe_add(struct stubs *stubs, const struct unwind_arch *arch, const uint8_t *data,
		size_t size, uint64_t vaddr);
