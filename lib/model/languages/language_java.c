/* SPDX-License-Identifier: MIT */
#include "lib/model/languages/language.h"

/*
 * HotSpot: names in perf maps are signatures such as "int W.fib(int)", which do not identify the
 * language.
 */

static const char *const tiers[] = {"Other",  "Interpreter", "C1",	  "C2",
				    "Native", "Stub",	     "Uncertain", NULL};

const struct language language_java = {
	.category = {"Java", "red", tiers},
	.library = "libjvm.so",
	.program = "java",
	.remedy = "while it runs: jcmd PID Compiler.perfmap",
};
