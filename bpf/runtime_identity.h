/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Identities of functions, computed alike in the kernel and in user space. */
#pragma once

#include <linux/types.h>

/*
 * The identity of a Python code object is a hash, from the seed on, of its words 2 to
 * PYTHON_CODE_WORDS - 1, each masked by code_identity (words after code_size by 0). With
 * has_file_check, one more word: 0 if the file's name is unreadable, else the hash, from 0 on, of
 * its length in characters and its first IDENTITY_TEXT_MAX bytes as in memory, padded with zeros.
 */
#define IDENTITY_TEXT_MAX 128

#define RUNTIME_IDENTITY_SEED 0x9e3779b97f4a7c15ull

static inline __attribute__((always_inline)) __u64 runtime_identity_add(__u64 sum, __u64 word)
{
	sum = (sum ^ word) * 0xd6e8feb86659fd93ull;
	return sum ^ sum >> 32;
}
