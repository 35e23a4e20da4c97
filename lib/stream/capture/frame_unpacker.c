/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/frame_unpacker.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <zstd.h>

#include "lib/base/alloc.h"
#include "lib/base/crc32.h"
#include "lib/stream/capture/capture_reader.h"
#include "lib/stream/capture/columns.h"

struct frame_unpacker {
	ZSTD_DCtx *unpacker;
	struct columns *columns;
	uint8_t *encoded; /* records in columns */
};

struct frame_unpacker *frame_unpacker_new(void)
{
	struct frame_unpacker *u = xcalloc(1, sizeof(*u));

	u->encoded = xmalloc(CAPTURE_RAW_MAX);
	u->columns = columns_new();
	u->unpacker = ZSTD_createDCtx();
	if (!u->unpacker)
		alloc_failed();
	return u;
}

void frame_unpacker_free(struct frame_unpacker *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->unpacker);
	columns_free(u->columns);
	free(u->encoded);
	free(u);
}

bool frame_unpacker_unpack(struct frame_unpacker *u, uint32_t version,
			   const struct capture_frame *f, const uint8_t *packed, uint8_t *raw)
{
	bool has_columns = f->flags & CAPTURE_FRAME_COLUMNS;
	size_t wanted = has_columns ? f->columns_size : f->raw_size;
	size_t size = ZSTD_decompressDCtx(u->unpacker, has_columns ? u->encoded : raw, wanted,
					  packed, f->packed_size);

	if (ZSTD_isError(size) || size != wanted)
		return false;
	return !has_columns ||
	       columns_decode(u->columns, version, u->encoded, size, raw, f->raw_size);
}

int capture_header_check(const struct capture_header *h, size_t size, struct error *err)
{
	if (size < sizeof(*h) || !capture_is_one(h, sizeof(*h)))
		return error_text(err, -EBADMSG, "not a capture, or its beginning is missing");
	if (!h->version || h->version > CAPTURE_VERSION)
		return error_text(err, -EBADMSG,
				  "a capture of version %u: this prof reads up to %u", h->version,
				  CAPTURE_VERSION);
	if (crc32_add(0, h, offsetof(struct capture_header, check)) != h->check ||
	    h->size < sizeof(*h) || h->size > CAPTURE_RAW_MAX)
		return error_text(err, -EBADMSG, "the header of the capture is damaged");
	return 0;
}

bool capture_frame_is_good(const struct capture_frame *f)
{
	return f->magic == CAPTURE_FRAME_MAGIC &&
	       crc32_add(0, f, offsetof(struct capture_frame, check)) == f->check &&
	       f->raw_size <= CAPTURE_RAW_MAX && f->packed_size <= CAPTURE_PACKED_MAX &&
	       (!(f->flags & CAPTURE_FRAME_COLUMNS) || f->columns_size <= CAPTURE_RAW_MAX);
}
