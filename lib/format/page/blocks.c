/* SPDX-License-Identifier: MIT */
#include "lib/format/page/blocks.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/base64.h"
#include "lib/base/cleanup.h"
#include "lib/base/infile.h"
#include "lib/base/memory_file.h"

#define TYPE "application/octet-stream"
/* Bytes that become text at a time: a multiple of 3. */
#define STEP ((size_t)48 << 10)
/* More than a browser could hold. */
#define UNPACKED_MAX ((size_t)1 << 30)

static void write_encoded(struct outfile *out, const unsigned char *data, size_t size)
{
	char text[BASE64_SIZE(STEP)];

	while (size) {
		size_t part = size < STEP ? size : STEP;

		base64_encode(data, part, text);
		outfile_write(out, text, BASE64_SIZE(part));
		data += part;
		size -= part;
	}
}

void block_write_packed(struct outfile *out, const char *id, const void *data, size_t size)
{
	_cleanup_free_ char *begin = xasprintf("<script type=\"" TYPE "\" id=\"%s\">", id);

	outfile_write(out, begin, strlen(begin));
	write_encoded(out, data, size);
	outfile_write(out, "</script>\n", strlen("</script>\n"));
}

/* Maps what outfile packed into a file in memory. */
static int write_mapped(struct outfile *out, const char *id, int fd, size_t size, struct error *err)
{
	void *packed = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (packed == MAP_FAILED)
		return error_set(err, -errno, "pack the profile in memory");
	block_write_packed(out, id, packed, size);
	munmap(packed, size);
	return 0;
}

int block_write(struct outfile *out, const char *id, const void *data, size_t size,
		struct error *err)
{
	uint64_t packed_size;
	_cleanup_close_ int fd = memory_file_pack("the profile", data, size, &packed_size, err);

	return fd < 0 ? fd : write_mapped(out, id, fd, packed_size, err);
}

/* Finds the text between the tags; NULL: there is none. */
static const char *find_block(const char *text, size_t text_size, const char *id, size_t *size)
{
	_cleanup_free_ char *begin = xasprintf("<script type=\"" TYPE "\" id=\"%s\">", id);
	const char *at = memmem(text, text_size, begin, strlen(begin)), *end;

	if (!at)
		return NULL;
	at += strlen(begin);
	end = memchr(at, '<', text_size - (size_t)(at - text));
	*size = end ? (size_t)(end - at) : text_size - (size_t)(at - text);
	return at;
}

static int unpack(const unsigned char *packed, size_t packed_size, char **data, size_t *size,
		  struct error *err)
{
	_cleanup_close_ int fd = memfd_create("block", MFD_CLOEXEC);

	for (size_t done = 0; done < packed_size;) {
		ssize_t part = fd < 0 ? -1 : write(fd, packed + done, packed_size - done);

		if (part < 0)
			return error_set(err, -errno, "unpack the page in memory");
		done += (size_t)part;
	}
	if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return error_set(err, -errno, "unpack the page in memory");
	return infile_read(fd, "a block of the page", UNPACKED_MAX, data, size, err);
}

int block_read(const char *text, size_t text_size, const char *id, char **data, size_t *size,
	       struct error *err)
{
	size_t encoded_size, packed_size;
	const char *encoded = find_block(text, text_size, id, &encoded_size);
	_cleanup_free_ unsigned char *packed = NULL;

	*data = NULL;
	if (!encoded)
		return error_text(err, -ENOENT, "the page has no block %s", id);
	packed = xmalloc(encoded_size + 4);
	if (!base64_decode(encoded, encoded_size, packed, &packed_size))
		return error_text(err, -EBADMSG, "the data are damaged: block %s", id);
	return unpack(packed, packed_size, data, size, err);
}
