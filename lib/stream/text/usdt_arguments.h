/* SPDX-License-Identifier: MIT */
/*
 * Finds the arguments of a probe that a program declares (USDT) by texts as assemblers have them,
 * "-4@%eax 8@-16(%rbp)" of x86-64, "8@x0 -4@[sp, 12]" of arm64. They come from the program's file,
 * so that anything may stand there.
 */
#ifndef PROF_LIB_STREAM_TEXT_USDT_ARGUMENTS_H
#define PROF_LIB_STREAM_TEXT_USDT_ARGUMENTS_H

#include <stdint.h>

#include "bpf/config.h"

/*
 * Fills in layout->count and the arguments; what is not understood is USDT_UNREADABLE. `machine` is
 * the file's (e_machine). At most USDT_ARGUMENTS_MAX are read.
 */
void usdt_arguments_parse(struct usdt_layout *layout, uint16_t machine, const char *text);

#endif
