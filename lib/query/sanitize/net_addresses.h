/* SPDX-License-Identifier: MIT */
/* Addresses of people and machines in texts. */
#ifndef PROF_LIB_QUERY_SANITIZE_NET_ADDRESSES_H
#define PROF_LIB_QUERY_SANITIZE_NET_ADDRESSES_H

#include <stddef.h>

/* Returns the size of "alice@example.org" at text[at], 0 if none. */
size_t mail_address_size(const char *text, size_t size, size_t at);
/*
 * Returns the size of "10.1.2.3" or "fe80::1" at text[at], 0 if none, or one that every
 * machine has, or the number of a version ("libx.so.1.2.3.4").
 */
size_t ip_address_size(const char *text, size_t size, size_t at);

#endif
