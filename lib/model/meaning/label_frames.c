/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/label_frames.h"

/* Finds the category among the profile's own, if it has any; adds it if it is missing there. */
static struct frame_category among_own(struct profile *p, struct frame_category of)
{
	const struct category_row *known = categories[of.category];
	struct profile_category *row;
	size_t i = 0, k = 0;

	if (!p->categories.count)
		return of;
	while (i < p->categories.count && strcmp(p->categories.items[i].name, known->name) != 0)
		i++;
	if (i == UINT8_MAX)
		return (struct frame_category){0, 0};
	if (i == p->categories.count) {
		row = vec_add_zeroed(&p->categories, 1);
		row->name = xstrdup(known->name);
		row->color = xstrdup(known->color);
		vec_push(&row->subcategories, xstrdup(known->subcategories[0]));
	}
	row = &p->categories.items[i];
	while (k < row->subcategories.count &&
	       strcmp(row->subcategories.items[k], known->subcategories[of.subcategory]) != 0)
		k++;
	return (struct frame_category){(uint8_t)i,
				       k < row->subcategories.count ? (uint8_t)k : (uint8_t)0};
}

frame_id label_frames_intern(struct profile *p, string_id name, struct frame_category category)
{
	const struct frame_category own = among_own(p, category);
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
		.category = own.category,
		.subcategory = own.subcategory,
	};

	return frames_intern(&p->frames, &frame);
}
