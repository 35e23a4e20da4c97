/* SPDX-License-Identifier: MIT */
/* Breakpad ids: names of builds of libs, as front-ends and symbol servers use them. */
#ifndef PROF_LIB_FORMAT_FIREFOX_BREAKPAD_ID_H
#define PROF_LIB_FORMAT_FIREFOX_BREAKPAD_ID_H

#include <stddef.h>
#include <stdint.h>

#define BREAKPAD_ID_SIZE 33

/* The first 16 bytes of a build id as a GUID. */
void breakpad_id_format(char text[BREAKPAD_ID_SIZE + 1], const uint8_t id[16]);
/*
 * Makes an id from the path, for a file without a build id. `salt` tells files with equal paths
 * apart.
 */
void breakpad_id_invent(char text[BREAKPAD_ID_SIZE + 1], const char *path, size_t size,
			uint64_t salt);

#endif
