/* SPDX-License-Identifier: MIT */
/* Places in code as valgrind's tools describe them. */
#pragma once

#include "lib/format/foreign.h"

/*
 * Reads "0x400118D: leaky (hs.c:3)" or "0x4011: ??? (in /usr/bin/hs)"; other texts are names. The
 * text is changed.
 */
frame_id valgrind_frame(struct foreign *f, char *text);
