/* SPDX-License-Identifier: MIT */
#include "lib/live/code/line_file.h"

#define CHUNK_SIZE ((size_t)256 << 10)

static void take_line(struct line_file *f, const char *line, size_t size, line_file_fn *fn,
		      void *ctx)
{
	fn(ctx, f->is_inside_line ? NULL : line, size);
	f->is_inside_line = false;
}

/* Passes on all complete lines. Returns their bytes. */
static size_t take_lines(struct line_file *f, const char *text, size_t size, line_file_fn *fn,
			 void *ctx)
{
	size_t at = 0;

	while (at < size) {
		const char *end = memchr(text + at, '\n', size - at);

		if (!end)
			break;
		take_line(f, text + at, (size_t)(end - text) - at, fn, ctx);
		at = (size_t)(end - text) + 1;
	}
	return at;
}

/* Returns whether the last bytes read are still in place. If not, the file was replaced. */
static bool is_same_file(const struct line_file *f, int fd)
{
	char tail[LINE_FILE_TAIL];

	return pread(fd, tail, f->tail_size, (off_t)(f->offset - f->tail_size)) ==
		       (ssize_t)f->tail_size &&
	       memcmp(tail, f->tail, f->tail_size) == 0;
}

static void advance(struct line_file *f, const char *text, size_t size)
{
	f->offset += size;
	f->bytes += size;
	if (!size)
		return;
	f->tail_size = size < LINE_FILE_TAIL ? size : LINE_FILE_TAIL;
	memcpy(f->tail, text + size - f->tail_size, f->tail_size);
}

bool line_file_read(struct line_file *f, int fd, uint64_t budget, bool is_last, line_file_fn *fn,
		    void *ctx)
{
	_cleanup_free_ char *chunk = NULL;

	if (!is_same_file(f, fd)) {
		f->offset = f->tail_size = 0;
		f->is_inside_line = false;
	}
	chunk = xmalloc(CHUNK_SIZE);
	for (uint64_t done = 0; done < budget;) {
		ssize_t size = pread(fd, chunk, CHUNK_SIZE, (off_t)f->offset);
		size_t taken;

		if (size <= 0)
			return false;
		taken = take_lines(f, chunk, (size_t)size, fn, ctx);
		if (!taken && size == CHUNK_SIZE) {
			f->is_inside_line = true;
			taken = CHUNK_SIZE;
		} else if (!taken && is_last) {
			take_line(f, chunk, (size_t)size, fn, ctx);
			taken = (size_t)size;
		}
		advance(f, chunk, taken);
		if (!taken)
			return false;
		done += taken;
	}
	return true;
}
