/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Shows what R's interpreter exports, and the calls between what evaluates, as in builds of Debian:
 * compiled by tests/fuzz/make-r-seeds. VERSION is its version; HAS_WRAPPER: the loop for bytecode is
 * called by a function of its own, and closures by one that is not exported.
 */
#define HIDDEN __attribute__((noinline, noclone, noipa)) static

void *R_GlobalContext, *R_SrcrefSymbol, *R_DoubleColonSymbol, *R_TripleColonSymbol, *R_DollarSymbol,
	*R_Bracket2Symbol;

int Rf_eval(int value);
HIDDEN int force(int value) { return value * 3; }

#ifdef HAS_WRAPPER
HIDDEN int apply(int value) { return value * 5; }
#else
__attribute__((noipa)) int Rf_applyClosure(int value) { return value * 5; }
#define apply Rf_applyClosure
#endif

HIDDEN int loop(int value)
{
	__asm__ volatile("jmp 1f\n\t.fill 512, 1, 0x90\n1:");
	return force(value) + apply(value + 1) + 1;
}

#ifdef HAS_WRAPPER
HIDDEN int run(int value) { return loop(value) + 7; }
#else
#define run loop
#endif

int Rf_eval(int value)
{
#ifdef LACKS_LOOP
	return force(value) + apply(value) + 1;
#else
	return force(value) + run(value) + apply(value) + 1;
#endif
}
int R_forceAndCall(int value) { return apply(value) + loop(value); }

void R_Serialize(void)
{
	__asm__ volatile("" ::"S"(VERSION));
	__asm__ volatile("" ::"S"(0x020300));
}
void R_last(void) {}
