/* SPDX-License-Identifier: MIT */
#include "symbolize/address_index.h"

#include <stdlib.h>

#include "lib/base/alloc.h"

static int compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->rva != y->rva)
		return x->rva < y->rva ? -1 : 1;
	return x->frame < y->frame ? -1 : x->frame > y->frame;
}

/* Finds the group of a frame and its address there; false if nothing could name it. */
static bool place_frame(struct profile *p, const struct frame *frame, size_t *group, uint64_t *rva)
{
	if (frame->module != NO_MODULE) {
		*group = frame->module;
		return module_offset_to_rva(modules_get(&p->modules, frame->module), frame->offset,
					    rva);
	}
	*group = p->modules.rows.count;
	*rva = frame->offset;
	return frame->kind == PROFILE_FRAME_KERNEL;
}

static void sort_groups(struct address_index *index)
{
	size_t start = 0;

	for (size_t i = 0; i < index->group_count; start = index->ends[i++])
		qsort(index->rows + start, index->ends[i] - start, sizeof(*index->rows), compare);
}

void address_index_collect(struct address_index *index, struct profile *p)
{
	size_t frame_count = p->frames.rows.count, group, total = 0;
	uint64_t rva;

	index->group_count = p->modules.rows.count + 1;
	index->ends = xcalloc(index->group_count, sizeof(*index->ends));
	for (size_t i = 0; i < frame_count; i++) {
		if (place_frame(p, frames_get(&p->frames, (frame_id)i), &group, &rva))
			index->ends[group]++;
	}
	/* Turn counts into starts; filling in the rows turns starts into ends. */
	for (size_t i = 0; i < index->group_count; i++) {
		size_t count = index->ends[i];

		index->ends[i] = total;
		total += count;
	}
	index->rows = xcalloc(total + 1, sizeof(*index->rows));
	for (size_t i = 0; i < frame_count; i++) {
		if (place_frame(p, frames_get(&p->frames, (frame_id)i), &group, &rva))
			index->rows[index->ends[group]++] = (struct place){rva, (frame_id)i};
	}
	sort_groups(index);
}

void address_index_release(struct address_index *index)
{
	free(index->rows);
	free(index->ends);
}

size_t address_index_count_distinct(const struct place *places, size_t count)
{
	size_t distinct = 0;

	for (size_t i = 0; i < count; i++)
		distinct += !i || places[i].rva != places[i - 1].rva;
	return distinct;
}
