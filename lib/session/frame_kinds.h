/* SPDX-License-Identifier: MIT */
/* What the frames of stack records are, by their kind: a row a kind. */
#ifndef PROF_LIB_SESSION_FRAME_KINDS_H
#define PROF_LIB_SESSION_FRAME_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "lib/profile/frames.h"

/* Where a frame's address is one. */
enum frame_place {
	FRAME_PLACE_UNKNOWN, /* of a kind that is not known: it has no place in a stack */
	FRAME_PLACE_KERNEL,
	/* In a mapping of the process. What lies in none is no code: the stack ends there. */
	FRAME_PLACE_PROCESS,
	/* Nowhere in memory: no mapping is asked, and on either side of it the stack goes on. */
	FRAME_PLACE_NONE,
};

struct frame_kind_info {
	enum frame_place place;
	enum profile_frame_kind kind; /* in the profile */
	/*
	 * Nothing was called here: the address is the next instruction's, and so is that of the
	 * frame inside it, which the kernel began.
	 */
	bool is_interrupted;
};

/* Of any byte, in the kernel's part of a stack or in the user's. */
const struct frame_kind_info *frame_kind_info(uint8_t kind, bool is_kernel_part);

#endif
