/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/capture_format.h"

#include "lib/base/crc32.h"

#define COPY_BYTES ((size_t)1 << 20)

static int copy_blocks(const struct capture_window *w, int from, int to)
{
	_cleanup_free_ char *part = xmalloc(COPY_BYTES);
	uint64_t at = w->at;
	int ret = 0;

	while (!ret && at < w->end) {
		uint64_t left = w->end - at;
		ssize_t count = pread(from, part, left < COPY_BYTES ? left : COPY_BYTES, (off_t)at);

		if (count <= 0)
			return count ? -errno : -EIO;
		ret = capture_write(to, part, (size_t)count);
		at += (uint64_t)count;
	}
	return ret;
}

static struct capture_block capture_end_block(uint64_t sequence, uint64_t samples);

int capture_window_copy(const struct capture_window *w, int from, int to)
{
	const struct capture_block end = capture_end_block(w->sequence, w->samples);
	struct capture_header header;
	int ret;

	if (pread(from, &header, sizeof(header), 0) != (ssize_t)sizeof(header))
		return -EIO;
	header.start_ns = w->start_ns;
	header.start_realtime_ns = w->start_realtime_ns;
	capture_header_seal(&header);
	ret = capture_write(to, &header, sizeof(header)) ?: copy_blocks(w, from, to);
	return ret ? ret : capture_write(to, &end, sizeof(end));
}

int capture_write(int fd, const void *data, size_t size)
{
	const uint8_t *at = data;

	while (size) {
		ssize_t n = write(fd, at, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

void capture_header_seal(struct capture_header *header)
{
	memcpy(header->magic, CAPTURE_MAGIC, CAPTURE_MAGIC_SIZE);
	header->version = CAPTURE_VERSION;
	header->size = sizeof(*header);
	header->check = crc32_add(0, header, offsetof(struct capture_header, check));
}

/* Makes the block that ends a capture; nothing follows its header. */
static struct capture_block capture_end_block(uint64_t sequence, uint64_t samples)
{
	struct capture_block block = {
		.magic = CAPTURE_BLOCK_MAGIC,
		.flags = CAPTURE_BLOCK_END,
		.sequence = sequence,
		.samples = samples,
		.packed_check = crc32_add(0, NULL, 0),
	};

	block.check = crc32_add(0, &block, offsetof(struct capture_block, check));
	return block;
}
