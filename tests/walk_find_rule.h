/* SPDX-License-Identifier: MIT */
/* walk_find_rule() for code that walks no stack. */
#ifndef PROF_TESTS_WALK_FIND_RULE_H
#define PROF_TESTS_WALK_FIND_RULE_H

#include <stdint.h>

/* Replaces the walker's memory access, which a search for rules does not need. */
#define walk_word(frame) ((void)(frame), 8)
#define walk_read_word(frame, to, addr) ((void)(frame), (void)(to), (void)(addr), -1)
#define walk_read_pair(frame, to, addr) walk_read_word(frame, to, addr)
#define walk_is_arm64(frame) ((void)(frame), 0)
#define walk_pc_mask(frame) ((void)(frame), UINT64_MAX)
#define walk_thread_pointer(frame) ((void)(frame), 0)
#include "bpf/walk.h"

#endif
