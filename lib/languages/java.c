/* SPDX-License-Identifier: MIT */
/* HotSpot: names are signatures, "int W.fib(int)", as other languages have them. */
#include "lib/languages/language.h"

static const char *const tiers[] = {"Other", NULL};

const struct language language_java = {
	.category = {"Java", "red", tiers},
	.library = "libjvm.so",
	.program = "java",
	.remedy = "while it runs: jcmd PID Compiler.perfmap",
};
