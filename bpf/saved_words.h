/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the epilogue of a function to find the registers it has saved. */
#pragma once

#include <linux/types.h>

/*
 * x86-64: a function that saves all callee-saved registers ends with
 *
 *	pop %rbx; pop %r12; pop %r13; pop %r14; pop %r15; ret
 *
 * or, with a frame pointer, "pop %rbp" before the last one; "add $8, %rsp" for stack alignment may
 * precede the first.
 */
#define POP_ALIGNMENT 0x08c48348u
#define POPS 0x415e415d415c415bull
#define POP_RETURN 0xc35fu
#define POP_FP_RETURN 0xc35d5fu

/* Words on the stack below the return address of such a function, at that end. */
struct saved_words {
	__u32 count; /* 0: other epilogue */
	__u32 base_at, fp_at; /* indexes of the caller's values; fp_at may be `count`: none */
};

/* `code` is the first 24 bytes. */
static inline __attribute__((always_inline)) struct saved_words read_pops(const __u64 code[3])
{
	__u64 pops = code[0], end = code[1];
	__u32 base_at = 0;

	if ((__u32)pops == POP_ALIGNMENT) {
		pops = code[0] >> 32 | code[1] << 32;
		end = code[1] >> 32 | code[2] << 32;
		base_at = 1;
	}
	if (pops == POPS && (end & 0xffff) == POP_RETURN)
		return (struct saved_words){base_at + 5, base_at, base_at + 5};
	if (pops == POPS && (end & 0xffffff) == POP_FP_RETURN)
		return (struct saved_words){base_at + 6, base_at, base_at + 5};
	return (struct saved_words){0};
}
