/* SPDX-License-Identifier: MIT */
/*
 * A program with V8 that exports no constants for debuggers, but the interface of native modules or
 * another symbol.
 */
#ifndef MARK
#define MARK napi_create_function
#endif
#ifndef OPTION
#define OPTION "allow natives syntax"
#endif

const char texts[] __attribute__((section(".rodata"))) = OPTION "\0" VERSION;

void MARK(void)
{
}
