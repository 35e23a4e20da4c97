/* SPDX-License-Identifier: MIT */
/*
 * Probes that a program declares (USDT), with all that may be wrong with one. BASE is where the
 * notes of "moved" say that the base is.
 */
#ifdef __aarch64__
#define RETURN ret
#define ARGUMENTS "-4@w1 8@[sp, 16]"
#else
#define RETURN ret
#define ARGUMENTS "-4@%eax 8@16(%rsp)"
#endif
#ifdef __i386__
#define WORD .long
#else
#define WORD .quad
#endif

	.macro note owner, type, pc, base, semaphore, provider, name, arguments
	.balign 4
	.long 2f - 1f, 4f - 3f, \type
1:	.asciz "\owner"
2:	.balign 4
3:	WORD \pc, \base, \semaphore
	.asciz "\provider"
	.asciz "\name"
	.asciz "\arguments"
4:	.balign 4
	.endm

	.text
	.globl _start
_start:
first:	nop
second:	nop
third:	RETURN

	.section .probes, "aw", %progbits
semaphore: .short 0, 0

	.section .stapsdt.base, "a", %progbits
base:	.byte 0

	.section .note.stapsdt, "", %note
	note "stapsdt", 3, first, 0, 0, "one", "first", ARGUMENTS
	note "stapsdt", 3, second, base, semaphore, "one", "second", ""
	note "stapsdt", 3, second+0x1000, base+0x1000, semaphore+0x1000, "one", "moved", ""
	note "stapsdt", 3, third, 0, 0, "one", "no nop", ""
	note "stapsdt", 3, semaphore, 0, 0, "one", "no code", ""
	note "stapsdt", 3, first, 0, 0x7fffffff, "one", "no semaphore", ""
	note "stapsdt", 3, first, 0, 0, "", "no provider", ""
	note "stapsdt", 3, first, 0, 0, "no name", "", ""
	note "stapsdt", 4, first, 0, 0, "one", "other type", ""
	note "another", 3, first, 0, 0, "one", "other owner", ""
	note "stapsdt", 3, second, 0, 0, "two", "last", "8@$-7"
	/* Longer than the section. */
	.long 8, 0x1000, 3
	.asciz "stapsdt"
