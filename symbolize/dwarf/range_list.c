/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf/range_list.h"

#include <dwarf.h>

static uint64_t read_sized(struct bytes *b, unsigned int size)
{
	return size == 8 ? bytes_u64(b) : bytes_u32(b);
}

static uint64_t largest(const struct range_source *source)
{
	return source->address_size == 8 ? UINT64_MAX : UINT32_MAX;
}

/* Returns 0 and fails the list if the index is out of range. */
static uint64_t read_indexed(struct range_list *l)
{
	const struct debug_section *addresses = &l->source->view->at[DEBUG_ADDR];
	uint64_t number = bytes_uleb(&l->at);
	struct bytes b;

	bytes_init(&b, addresses->data, addresses->size);
	if (number >= addresses->size / l->source->address_size) {
		l->at.failed = true;
		return 0;
	}
	bytes_seek(&b, number * l->source->address_size);
	return read_sized(&b, l->source->address_size);
}

void range_list_open(struct range_list *l, const struct range_source *source, uint64_t offset)
{
	const struct debug_section *lists =
		&source->view->at[source->version < 5 ? DEBUG_RANGES : DEBUG_RNGLISTS];

	*l = (struct range_list){.source = source, .base = source->base};
	bytes_init(&l->at, lists->data, lists->size);
	bytes_seek(&l->at, offset <= lists->size ? offset : lists->size);
}

void range_list_open_number(struct range_list *l, const struct range_source *source,
			    uint64_t number)
{
	/*
	 * The length is followed by 2 bytes of version, 2 of sizes and 4 with the count of lists.
	 */
	size_t first = source->offset_size == 8 ? 20 : 12;
	struct range_list table;
	uint64_t count, offset;

	range_list_open(&table, source, first - 4);
	count = bytes_u32(&table.at);
	bytes_skip(&table.at, number < count ? number * source->offset_size : SIZE_MAX);
	offset = read_sized(&table.at, source->offset_size);
	if (table.at.failed || offset > source->view->at[DEBUG_RNGLISTS].size)
		offset = source->view->at[DEBUG_RNGLISTS].size;
	range_list_open(l, source, first + offset);
}

static bool next_pair(struct range_list *l, uint64_t *start, uint64_t *end)
{
	uint64_t escape = largest(l->source);

	for (;;) {
		*start = read_sized(&l->at, l->source->address_size);
		*end = read_sized(&l->at, l->source->address_size);
		if (l->at.failed || (!*start && !*end))
			return false;
		if (*start != escape)
			break;
		l->base = *end;
	}
	*start += l->base;
	*end += l->base;
	return true;
}

/* 1: a range, 0: something else, -1: the end. */
static int next_entry(struct range_list *l, uint64_t *start, uint64_t *end)
{
	unsigned int size = l->source->address_size;

	switch (bytes_u8(&l->at)) {
	case DW_RLE_base_addressx:
		l->base = read_indexed(l);
		return 0;
	case DW_RLE_base_address:
		l->base = read_sized(&l->at, size);
		return 0;
	case DW_RLE_startx_endx:
		*start = read_indexed(l);
		*end = read_indexed(l);
		return 1;
	case DW_RLE_startx_length:
		*start = read_indexed(l);
		*end = *start + bytes_uleb(&l->at);
		return 1;
	case DW_RLE_offset_pair:
		*start = l->base + bytes_uleb(&l->at);
		*end = l->base + bytes_uleb(&l->at);
		return 1;
	case DW_RLE_start_end:
		*start = read_sized(&l->at, size);
		*end = read_sized(&l->at, size);
		return 1;
	case DW_RLE_start_length:
		*start = read_sized(&l->at, size);
		*end = *start + bytes_uleb(&l->at);
		return 1;
	default:
		return -1;
	}
}

bool range_list_next(struct range_list *l, uint64_t *start, uint64_t *end)
{
	int ret = 0;

	if (l->source->version < 5)
		return next_pair(l, start, end);
	while (ret == 0 && !l->at.failed)
		ret = next_entry(l, start, end);
	return ret > 0 && !l->at.failed;
}
