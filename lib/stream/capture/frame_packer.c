/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/frame_packer.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "lib/base/alloc.h"
#include "lib/base/crc32.h"
#include "lib/stream/capture/columns.h"

/* Fast enough for any recording; higher levels save 3 to 4 %. */
#define PACK_LEVEL 1

struct frame_packer {
	ZSTD_CCtx *context;
	struct columns *columns;
	uint8_t *packed; /* the header, then the payload */
};

struct frame_packer *frame_packer_new(void)
{
	struct frame_packer *p = xcalloc(1, sizeof(*p));

	p->packed = xmalloc(sizeof(struct capture_frame) + CAPTURE_PACKED_MAX);
	p->columns = columns_new();
	p->context = ZSTD_createCCtx();
	if (!p->context)
		alloc_failed();
	return p;
}

void frame_packer_free(struct frame_packer *p)
{
	if (!p)
		return;
	ZSTD_freeCCtx(p->context);
	columns_free(p->columns);
	free(p->packed);
	free(p);
}

const uint8_t *frame_packer_pack(struct frame_packer *p, struct capture_frame *frame,
				 uint8_t *records, size_t size, size_t *bytes)
{
	uint8_t *payload = p->packed + sizeof(*frame);
	size_t columns_size, packed_size;
	const uint8_t *columns = frame->flags & CAPTURE_FRAME_FILE
					 ? NULL
					 : columns_encode(p->columns, records, size, size,
							  &columns_size);

	if (columns) {
		frame->flags |= CAPTURE_FRAME_COLUMNS;
		frame->columns_size = (uint32_t)columns_size;
	}
	packed_size = ZSTD_compressCCtx(p->context, payload, CAPTURE_PACKED_MAX,
					columns ? columns : records, columns ? columns_size : size,
					PACK_LEVEL);
	if (ZSTD_isError(packed_size))
		return NULL;
	frame->magic = CAPTURE_FRAME_MAGIC;
	frame->raw_size = (uint32_t)size;
	frame->packed_size = (uint32_t)packed_size;
	frame->packed_check = crc32_add(0, payload, packed_size);
	frame->check = crc32_add(0, frame, offsetof(struct capture_frame, check));
	memcpy(p->packed, frame, sizeof(*frame));
	*bytes = sizeof(*frame) + packed_size;
	return p->packed;
}
