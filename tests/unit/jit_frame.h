/* SPDX-License-Identifier: MIT */
/* .eh_frame of generated code, as jitdumps contain it. */
#pragma once

#include <stdint.h>
#include <string.h>

#define JIT_FRAME_CIE 24
#define JIT_FRAME_SIZE (JIT_FRAME_CIE + 24 + 4)
#if defined(__aarch64__)
#define JIT_FRAME_RA 30
#define JIT_FRAME_SP 31
#define JIT_FRAME_ENTRY_CFA 0
#else
#define JIT_FRAME_RA 16
#define JIT_FRAME_SP 7
#define JIT_FRAME_ENTRY_CFA 8
#endif

/*
 * Describes code of `size` bytes whose first four bytes make a frame of `frame` bytes, including
 * the return address, and which never leaves it.
 */
static inline void jit_frame_make(uint8_t to[JIT_FRAME_SIZE], uint32_t size, uint8_t frame)
{
	static const uint8_t cie[JIT_FRAME_CIE] = {
		20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, JIT_FRAME_RA, 1, 0x1b,
		/* DW_CFA_def_cfa; the return address is just below the CFA */
		0x0c, JIT_FRAME_SP, JIT_FRAME_ENTRY_CFA,
		JIT_FRAME_ENTRY_CFA ? 0x80 + JIT_FRAME_RA : 0, !!JIT_FRAME_ENTRY_CFA};
	uint8_t *fde = to + JIT_FRAME_CIE;
	const uint32_t head[] = {20, JIT_FRAME_CIE + 4,
				 0u - ((size + 7) / 8 * 8 + JIT_FRAME_CIE + 8), size};

	memset(to, 0, JIT_FRAME_SIZE);
	memcpy(to, cie, sizeof(cie));
	memcpy(fde, head, sizeof(head));
	fde[17] = 0x44; /* DW_CFA_advance_loc: 4 */
	fde[18] = 0x0e; /* DW_CFA_def_cfa_offset */
	fde[19] = frame;
	fde[20] = 0x80 + JIT_FRAME_RA; /* DW_CFA_offset */
	fde[21] = 1;
}
