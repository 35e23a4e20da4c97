/* SPDX-License-Identifier: MIT */
/*
 * Parses the arguments of USDT probes, texts in assembler syntax: "-4@%eax 8@-16(%rbp)" on x86-64,
 * "8@x0 -4@[sp, 12]" on arm64. They come from the program's file and are untrusted.
 */
#pragma once

#include "bpf/config.h"
#include "lib/base/base.h"

/*
 * Sets layout->count and the arguments; unknown forms become USDT_UNREADABLE. `machine` is the
 * file's e_machine. Reads at most USDT_ARGUMENTS_MAX.
 */
void usdt_arguments_parse(struct usdt_layout *layout, uint16_t machine, const char *text);
