/* SPDX-License-Identifier: MIT */
/*
 * Code with debug information like GHC's, whose blocks lie outside of their function, and GNAT's,
 * whose names are spelled for the linker.
 */
	.text
	.globl	_start
_start:
	ret
main_fib:
	nop
main_fib_end:
	.skip	16, 0x90
	.globl	mark_block
mark_block:
	nop
block_end:
ada_main__work__fib.6:
	.globl	mark_ada
mark_ada:
	nop
ada_main__Oadd.7:
	.globl	mark_operator
mark_operator:
	nop
code_end:

	.section .debug_abbrev, "", @progbits
	.uleb128 1, 0x11	/* DW_TAG_compile_unit */
	.byte	1
	.uleb128 0x13, 0x05	/* DW_AT_language, DW_FORM_data2 */
	.uleb128 0x11, 0x01	/* DW_AT_low_pc, DW_FORM_addr */
	.uleb128 0x12, 0x01	/* DW_AT_high_pc, DW_FORM_addr */
	.uleb128 0, 0
	.uleb128 2, 0x2e	/* DW_TAG_subprogram */
	.byte	1
	.uleb128 0x03, 0x08	/* DW_AT_name, DW_FORM_string */
	.uleb128 0x2007, 0x08	/* DW_AT_MIPS_linkage_name, DW_FORM_string */
	.uleb128 0x11, 0x01
	.uleb128 0x12, 0x01
	.uleb128 0, 0
	.uleb128 3, 0x0b	/* DW_TAG_lexical_block */
	.byte	0
	.uleb128 0x11, 0x01
	.uleb128 0x12, 0x01
	.uleb128 0, 0
	.uleb128 0

	.macro	unit language, start, end
	.long	9f - . - 4
	.short	4
	.long	0
	.byte	8
	.uleb128 1
	.short	\language
	.quad	\start, \end
	.endm
	.macro	function name, linkage_name, start, end
	.uleb128 2
	.asciz	"\name"
	.asciz	"\linkage_name"
	.quad	\start, \end
	.endm

	.section .debug_info, "", @progbits
	unit	0x18, main_fib, block_end
	function fib, r2Bi_info, main_fib, main_fib_end
	.uleb128 3
	.quad	mark_block, block_end
	.byte	0, 0
9:
	unit	0x0d, block_end, code_end
	function ada_main__work__fib, ada_main__work__fib, mark_ada, mark_operator
	.byte	0
	function ada_main__Oadd, ada_main__Oadd, mark_operator, code_end
	.byte	0, 0
9:
	.section .note.GNU-stack, "", @progbits
