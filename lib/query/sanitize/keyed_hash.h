/* SPDX-License-Identifier: MIT */
/* SipHash-2-4: without the key, nobody can try names until one has the hash. */
#ifndef PROF_LIB_QUERY_SANITIZE_KEYED_HASH_H
#define PROF_LIB_QUERY_SANITIZE_KEYED_HASH_H

#include <stddef.h>
#include <stdint.h>

#define KEYED_HASH_KEY_SIZE 16

uint64_t keyed_hash(const uint8_t key[KEYED_HASH_KEY_SIZE], const void *data, size_t size);

#endif
