/* SPDX-License-Identifier: MIT */
/* A program with V8 that exports no constants for debuggers, but the interface of native modules.
 */
const char version[] __attribute__((section(".rodata"))) = "\0" VERSION;

void napi_create_function(void)
{
}
