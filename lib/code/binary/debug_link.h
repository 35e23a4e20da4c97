/* SPDX-License-Identifier: MIT */
/* Links from a file to the one that holds the rest of its debug information. */
#pragma once

#include "lib/code/binary/binary.h"

/* .gnu_debuglink, written by strip and objcopy: a file name and the checksum of that file. */
struct debug_link {
	char name[256]; /* file name without a folder */
	uint32_t crc;
};

/* .gnu_debugaltlink, written by dwz: a path and the build id of that file. */
struct alt_link {
	char path[1024]; /* relative paths start in the folder of the file with the link */
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_size;
};

/* Parses the bytes of such a section; false if they are damaged or the name is empty. */
bool debug_link_parse(struct debug_link *link, const void *data, size_t size);
bool alt_link_parse(struct alt_link *link, const void *data, size_t size);
/* Reads the link from the file; false also if it has none. */
bool debug_link_read(struct debug_link *link, const struct binary *b);
bool alt_link_read(struct alt_link *link, const struct binary *b);

/*
 * Computes the CRC-32 of a whole file. -EFBIG if it is larger than max_size, -ETIME after
 * deadline_ns (CLOCK_MONOTONIC, 0: none), else the error of read().
 */
int crc32_of_file(int fd, uint64_t max_size, uint64_t deadline_ns, uint32_t *crc);
