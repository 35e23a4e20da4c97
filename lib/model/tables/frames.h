/* SPDX-License-Identifier: MIT */
/* Frames: places in modules, with or without a name. */
#ifndef PROF_LIB_MODEL_TABLES_FRAMES_H
#define PROF_LIB_MODEL_TABLES_FRAMES_H

#include "lib/base/index.h"
#include "lib/base/vec.h"
#include "lib/model/tables/ids.h"

/* lib/stream/session translates the kinds on the wire to these. */
enum profile_frame_kind {
	PROFILE_FRAME_NATIVE,
	PROFILE_FRAME_KERNEL,
	PROFILE_FRAME_GUESS,
	PROFILE_FRAME_SIGNAL,
	PROFILE_FRAME_LABEL, /* no code: says what the thread waits for */
	PROFILE_FRAME_MANAGED, /* code of a runtime; offset is a position until it is named */
};

struct frame {
	module_id module; /* NO_MODULE: offset is a plain address */
	func_id func; /* NO_FUNC until named */
	uint64_t offset; /* in the file; return addresses are already minus one */
	symbol_id symbol; /* native symbol that covers the frame, or NO_SYMBOL */
	uint32_t line; /* 0: unknown */
	uint16_t inline_depth; /* 0: the physical (outermost) function */
	uint8_t kind; /* enum profile_frame_kind */
	uint8_t language; /* enum language_id, which gives the category */
	uint8_t tier; /* of the compiler; gives the subcategory */
	/* Set for labels, and for all frames if the profile has categories of its own; else 0. */
	uint8_t category, subcategory;
};

struct frames {
	VEC(struct frame) rows;
	struct index index;
};

void frames_release(struct frames *f);
/* Identity is every field of *frame. */
frame_id frames_intern(struct frames *f, const struct frame *frame);
const struct frame *frames_get(const struct frames *f, frame_id id);

#endif
