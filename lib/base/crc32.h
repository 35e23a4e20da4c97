/* SPDX-License-Identifier: MIT */
/* The checksum of gzip members, debug links and captures (RFC 1952, section 8). */
#pragma once

#include <isa-l/crc.h>

/* Continues a CRC-32 over `size` more bytes; starts with 0. */
static inline uint32_t crc32_add(uint32_t crc, const void *data, size_t size)
{
	return size ? crc32_gzip_refl(crc, data, size) : crc;
}
