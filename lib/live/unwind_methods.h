/* SPDX-License-Identifier: MIT */
/* Methods to find user stacks, by name and in words. */
#pragma once

#include "lib/live/recorder.h"

/* Returns "auto", "cfi", "fp" or "none", the values of --unwind. */
const char *unwind_method_name(enum recorder_unwind method);
/* Returns a description: "fp: frame pointers alone". */
const char *unwind_method_text(enum recorder_unwind method);
/* The values of --unwind, NULL-terminated. */
extern const char *const unwind_method_names[];
/* Returns 0, or -EINVAL for any other name. */
int unwind_method_parse(const char *name, enum recorder_unwind *method);
/* Returns whether the method shows how a stack ended. Frame pointers do not. */
bool unwind_method_tells_ends(enum recorder_unwind method);
