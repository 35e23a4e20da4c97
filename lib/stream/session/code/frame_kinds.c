/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/code/frame_kinds.h"

_Static_assert(FRAME_KIND_COUNT == 5, "each kind on the wire has a row");

static const struct frame_kind_info kinds[UINT8_MAX + 1] = {
	[FRAME_NATIVE] = {FRAME_PLACE_PROCESS, PROFILE_FRAME_NATIVE, false},
	[FRAME_KERNEL] = {FRAME_PLACE_KERNEL, PROFILE_FRAME_KERNEL, false},
	[FRAME_GUESS] = {FRAME_PLACE_PROCESS, PROFILE_FRAME_GUESS, false},
	[FRAME_SIGNAL] = {FRAME_PLACE_PROCESS, PROFILE_FRAME_SIGNAL, true},
	[FRAME_MANAGED] = {FRAME_PLACE_NONE, PROFILE_FRAME_MANAGED, false},
};

const struct frame_kind_info *frame_kind_info(uint8_t kind, bool is_kernel_part)
{
	static const struct frame_kind_info unknown = {.place = FRAME_PLACE_UNKNOWN};
	enum frame_place elsewhere = is_kernel_part ? FRAME_PLACE_PROCESS : FRAME_PLACE_KERNEL;

	return kinds[kind].place == elsewhere ? &unknown : &kinds[kind];
}
