/* SPDX-License-Identifier: MIT */
/* A row of properties for each kind of frame in stack records. */
#ifndef PROF_LIB_STREAM_SESSION_CODE_FRAME_KINDS_H
#define PROF_LIB_STREAM_SESSION_CODE_FRAME_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/record.h"
#include "lib/model/tables/frames.h"

/* Address space of a frame. */
enum frame_place {
	FRAME_PLACE_UNKNOWN, /* unknown kind: the frame is left out of stacks */
	FRAME_PLACE_KERNEL,
	/* Mappings of the process. An address outside them is not code: the stack ends there. */
	FRAME_PLACE_PROCESS,
	/* No memory: no mapping is searched, and the stack goes on at either side. */
	FRAME_PLACE_NONE,
};

struct frame_kind_info {
	enum frame_place place;
	enum profile_frame_kind kind; /* in the profile */
	/*
	 * The address is the next instruction's, not a return address. The same holds for the frame
	 * inside, which the kernel started.
	 */
	bool is_interrupted;
};

/* Accepts any byte as kind. is_kernel_part: it is in the kernel's part of the stack. */
const struct frame_kind_info *frame_kind_info(uint8_t kind, bool is_kernel_part);

#endif
