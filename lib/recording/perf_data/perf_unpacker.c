/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_unpacker.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "lib/base/alloc.h"
#include "lib/recording/perf_data/perf_feed.h"

#define UNPACKED_SIZE ((size_t)256 << 10)

struct perf_unpacker {
	struct perf_feed feed;
	ZSTD_DCtx *stream;
	uint8_t *bytes;
};

struct perf_unpacker *perf_unpacker_new(struct perf_file *file)
{
	struct perf_unpacker *u = xcalloc(1, sizeof(*u));

	u->feed = (struct perf_feed){.file = file, .is_unpacked = true};
	u->bytes = xmalloc(UNPACKED_SIZE);
	u->stream = ZSTD_createDCtx();
	if (!u->stream)
		alloc_failed();
	return u;
}

void perf_unpacker_free(struct perf_unpacker *u)
{
	if (!u)
		return;
	perf_feed_release(&u->feed);
	ZSTD_freeDCtx(u->stream);
	free(u->bytes);
	free(u);
}

int perf_unpacker_take(struct perf_unpacker *u, const void *piece, size_t size, struct error *err)
{
	ZSTD_inBuffer in = {piece, size, 0};
	ZSTD_outBuffer out;

	do {
		size_t result;
		int ret;

		out = (ZSTD_outBuffer){u->bytes, UNPACKED_SIZE, 0};
		result = ZSTD_decompressStream(u->stream, &out, &in);
		if (ZSTD_isError(result))
			return error_text(err, -EBADMSG, "compressed data is damaged: %s",
					  ZSTD_getErrorName(result));
		ret = perf_feed_bytes(&u->feed, u->bytes, out.pos, err);
		if (ret)
			return ret;
	} while (in.pos < in.size || out.pos == out.size);
	return 0;
}

bool perf_unpacker_is_whole(const struct perf_unpacker *u)
{
	return !u || perf_feed_is_whole(&u->feed);
}
