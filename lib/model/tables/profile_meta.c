/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/profile_meta.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"

static const size_t texts[] = {
#define META_TEXT(member) offsetof(struct profile_meta, member),
	META_TEXTS
#undef META_TEXT
};

#define TEXT_COUNT (sizeof(texts) / sizeof(*texts))

static char **text_at(struct profile_meta *meta, size_t member)
{
	return (char **)((char *)meta + member);
}

void profile_meta_release(struct profile_meta *meta)
{
	for (size_t i = 0; i < TEXT_COUNT; i++)
		free(*text_at(meta, texts[i]));
	vec_for_each(&meta->features, char **, feature)
		free(*feature);
	vec_for_each(&meta->filters, char **, filter)
		free(*filter);
	vec_for_each(&meta->extra, struct profile_extra *, extra) {
		free(extra->section);
		free(extra->label);
		free(extra->value);
	}
	vec_release(&meta->features);
	vec_release(&meta->filters);
	vec_release(&meta->extra);
}

/* Copies texts as they are. */
static char *duplicate(void *ctx, size_t member, const char *text)
{
	(void)ctx;
	(void)member;
	return xstrdup(text);
}

void profile_meta_copy(struct profile_meta *into, const struct profile_meta *from,
		       meta_text_fn *copy_text, void *ctx)
{
	char *text;

	if (!copy_text)
		copy_text = duplicate;
	*into = *from;
	memset(&into->features, 0, sizeof(into->features));
	memset(&into->filters, 0, sizeof(into->filters));
	memset(&into->extra, 0, sizeof(into->extra));
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		text = *text_at(into, texts[i]);
		*text_at(into, texts[i]) = text ? copy_text(ctx, texts[i], text) : NULL;
	}
	vec_for_each(&from->features, char *const *, feature) {
		text = copy_text(ctx, offsetof(struct profile_meta, features), *feature);
		if (text)
			vec_push(&into->features, text);
	}
	vec_for_each(&from->filters, char *const *, filter) {
		text = copy_text(ctx, offsetof(struct profile_meta, filters), *filter);
		if (text)
			vec_push(&into->filters, text);
	}
}
