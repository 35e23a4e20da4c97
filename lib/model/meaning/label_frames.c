/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/label_frames.h"

frame_id label_frames_intern(struct profile *p, string_id name, struct frame_category category)
{
	const struct func func = {
		.name = name,
		.module = NO_MODULE,
		.file = NO_SOURCE_FILE,
		.is_named = true,
	};
	const struct frame frame = {
		.module = NO_MODULE,
		.func = funcs_intern(&p->funcs, &func),
		.symbol = NO_SYMBOL,
		.kind = PROFILE_FRAME_LABEL,
		.category = category.category,
		.subcategory = category.subcategory,
	};

	return frames_intern(&p->frames, &frame);
}
