/* SPDX-License-Identifier: MIT */
/*
 * Origins of code: the user's, or part of a package, a language's runtime or the system. Determined
 * by paths and names, so that profiles of any program and machine can be classified.
 */
#pragma once

#include "lib/model/tables/profile.h"

enum origin {
	/* The kernel, system libraries, and standard libraries inside of binaries. */
	ORIGIN_SYSTEM,
	ORIGIN_RUNTIME, /* an interpreter and the standard library of its language */
	ORIGIN_PACKAGE, /* a library installed by a language's package manager */
	ORIGIN_OWN,
};

/* Returns the origin of each frame, an enum origin by frame_id; the caller frees it. */
uint8_t *origins_of_frames(const struct profile *p);
