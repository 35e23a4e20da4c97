/* SPDX-License-Identifier: MIT */
/* HotSpot: names are signatures such as "int W.fib(int)", which do not tell the language. */
#include "lib/languages/language.h"

static const char *const tiers[] = {"Other", NULL};

const struct language language_java = {
	.category = {"Java", "red", tiers},
	.library = "libjvm.so",
	.program = "java",
	.remedy = "while it runs: jcmd PID Compiler.perfmap",
};
