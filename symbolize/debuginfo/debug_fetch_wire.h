/* SPDX-License-Identifier: MIT */
/*
 * The protocol between the two sides of debug_fetch.h: text that asks, then answers. It is a build
 * id, which asks for debug information; "executable ID"; or "source ID PATH".
 */
#ifndef PROF_SYMBOLIZE_DEBUGINFO_DEBUG_FETCH_WIRE_H
#define PROF_SYMBOLIZE_DEBUGINFO_DEBUG_FETCH_WIRE_H

#include <stdint.h>

#define FETCH_REQUEST_MAX 4608
#define FETCH_EXECUTABLE "executable "
#define FETCH_SOURCE "source "

enum fetch_kind { FETCH_PROGRESS, FETCH_DONE, FETCH_FAILED };

/* A descriptor comes along with FETCH_DONE. */
struct fetch_answer {
	uint32_t kind;
	int32_t code; /* of FETCH_FAILED: negative errno */
	uint64_t done, size; /* of FETCH_PROGRESS: bytes; size 0: unknown */
	char text[128]; /* of FETCH_FAILED: message for people, or empty */
};

#endif
