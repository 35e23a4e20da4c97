/* SPDX-License-Identifier: MIT */
#include "lib/fleet/packed_body.h"

#include "lib/base/cleanup.h"
#include "lib/base/memory_file.h"

#define SMALL 1024

int packed_body(const void *body, size_t size, struct strbuf *packed, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	uint64_t packed_size;
	_cleanup_close_ int fd = -1;
	int ret;

	if (size < SMALL)
		return 0;
	fd = memory_file_pack("a request", body, size, &packed_size, err);
	if (fd < 0)
		return fd;
	ret = memory_file_read(fd, "a request", packed_size, &text, err);
	if (!ret)
		strbuf_add(packed, text, packed_size);
	return ret;
}
