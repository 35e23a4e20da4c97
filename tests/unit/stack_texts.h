/* SPDX-License-Identifier: MIT */
/*
 * Profiles written as stacks of functions. A function is "NAME MODULE FILE", with "-" for a module
 * or file that is not known; "fun_…" counts as no name. A stack has a line for each, the outermost
 * first.
 */
#pragma once

#include "lib/model/tables/profile.h"

frame_id stack_texts_add_frame(struct profile *p, const char *text);
/* Adds a process of one thread. */
void stack_texts_add_thread(struct profile *p, const char *name);
/* Adds a sample to the last thread, which is added if there is none. */
void stack_texts_add_sample(struct profile *p, uint32_t weight, const char *text);
/* Adds a wait to the last thread, which must be there. Its innermost frame is a label, `call`. */
void stack_texts_add_call(struct profile *p, uint32_t weight, const char *text, const char *call,
			  uint8_t subcategory);
