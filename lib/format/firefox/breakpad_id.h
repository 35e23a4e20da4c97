/* SPDX-License-Identifier: MIT */
/* Breakpad ids, by which front-ends and symbol servers identify builds of libs. */
#pragma once

#include "lib/base/base.h"

#define BREAKPAD_ID_SIZE 33

/* The first 16 bytes of a build id as a GUID. */
void breakpad_id_format(char text[BREAKPAD_ID_SIZE + 1], const uint8_t id[16]);
/*
 * Derives an id from the path of a file without a build id. `salt` distinguishes files with equal
 * paths.
 */
void breakpad_id_invent(char text[BREAKPAD_ID_SIZE + 1], const char *path, size_t size,
			uint64_t salt);
