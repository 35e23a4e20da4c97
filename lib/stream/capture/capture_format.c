/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/capture_format.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/crc32.h"

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

struct capture_frame capture_end_frame(uint64_t sequence, uint64_t samples)
{
	struct capture_frame frame = {
		.magic = CAPTURE_FRAME_MAGIC,
		.flags = CAPTURE_FRAME_END,
		.sequence = sequence,
		.samples = samples,
		.packed_check = crc32_add(0, NULL, 0),
	};

	frame.check = crc32_add(0, &frame, offsetof(struct capture_frame, check));
	return frame;
}
