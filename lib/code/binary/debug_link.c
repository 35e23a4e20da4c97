/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/debug_link.h"

#include "lib/base/bytes.h"
#include "lib/base/crc32.h"

#define MAX_LINK_SECTION 8192
#define READ_SIZE ((size_t)256 << 10)

bool debug_link_parse(struct debug_link *link, const void *data, size_t size)
{
	struct bytes b;
	const char *name;

	bytes_init(&b, data, size);
	name = bytes_cstr(&b);
	bytes_align(&b, 4);
	link->crc = bytes_u32(&b);
	if (b.failed || !*name || strlen(name) >= sizeof(link->name))
		return false;
	/* Keep the name from leading out of the searched folders. */
	if (strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return false;
	memcpy(link->name, name, strlen(name) + 1);
	return true;
}

bool alt_link_parse(struct alt_link *link, const void *data, size_t size)
{
	struct bytes b;
	const char *path;

	bytes_init(&b, data, size);
	path = bytes_cstr(&b);
	link->build_id_size = bytes_left(&b);
	if (b.failed || !*path || strlen(path) >= sizeof(link->path) || !link->build_id_size ||
	    link->build_id_size > sizeof(link->build_id))
		return false;
	memcpy(link->path, path, strlen(path) + 1);
	memcpy(link->build_id, bytes_take(&b, link->build_id_size), link->build_id_size);
	return true;
}

bool debug_link_read(struct debug_link *link, const struct binary *b)
{
	_cleanup_free_ uint8_t *data = NULL;
	size_t size;

	return binary_read_section(b, ".gnu_debuglink", MAX_LINK_SECTION, &data, &size, NULL) ==
		       0 &&
	       debug_link_parse(link, data, size);
}

bool alt_link_read(struct alt_link *link, const struct binary *b)
{
	_cleanup_free_ uint8_t *data = NULL;
	size_t size;

	return binary_read_section(b, ".gnu_debugaltlink", MAX_LINK_SECTION, &data, &size, NULL) ==
		       0 &&
	       alt_link_parse(link, data, size);
}

int crc32_of_file(int fd, uint64_t max_size, uint64_t deadline_ns, uint32_t *crc)
{
	_cleanup_free_ uint8_t *buf = xmalloc(READ_SIZE);
	uint64_t done = 0;

	*crc = 0;
	for (;;) {
		ssize_t n = pread(fd, buf, READ_SIZE, (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : 0;
		done += (uint64_t)n;
		if (done > max_size)
			return -EFBIG;
		if (deadline_ns && clock_monotonic_ns() > deadline_ns)
			return -ETIME;
		*crc = crc32_add(*crc, buf, (size_t)n);
	}
}
