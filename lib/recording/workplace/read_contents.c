/* SPDX-License-Identifier: MIT */
#include "lib/recording/workplace/read_contents.h"

#include <sys/mman.h>

/* Maximum number of files in a capture, against hostile ones. */
#define FILES_MAX 16384
/* Maximum offset in a valid file. */
#define OFFSET_MAX ((uint64_t)1 << 40)
#define PAGE ((uint64_t)4096)

void read_contents_release(struct read_contents *c)
{
	for (size_t i = 0; i < c->rows.count; i++)
		close(c->rows.items[i].fd);
	vec_release(&c->rows);
	*c = (struct read_contents){0};
}

int read_contents_find(struct read_contents *c, uint32_t module_id)
{
	for (size_t i = c->rows.count; i > 0; i--) {
		if (c->rows.items[i - 1].module_id != module_id)
			continue;
		c->rows.items[i - 1].used = ++c->calls;
		return c->rows.items[i - 1].fd;
	}
	return -1;
}

void read_contents_trim(struct read_contents *c, uint64_t bytes)
{
	while (c->bytes > bytes && c->rows.count) {
		size_t oldest = 0;

		for (size_t i = 1; i < c->rows.count; i++) {
			if (c->rows.items[i].used < c->rows.items[oldest].used)
				oldest = i;
		}
		close(c->rows.items[oldest].fd);
		c->bytes -= c->rows.items[oldest].bytes;
		c->rows.items[oldest] = vec_last(&c->rows);
		c->rows.count--;
	}
}

/* Parts of a file are adjacent, so the last row is the likely one. */
static size_t find_or_add(struct read_contents *c, uint32_t module_id)
{
	size_t i = c->rows.count;
	int fd;

	while (i > 0 && c->rows.items[i - 1].module_id != module_id)
		i--;
	if (i > 0)
		return i - 1;
	fd = c->rows.count < FILES_MAX ? memfd_create("prof-module", MFD_CLOEXEC) : -1;
	if (fd < 0)
		return SIZE_MAX;
	vec_add_zeroed(&c->rows, 1);
	c->rows.items[c->rows.count - 1].module_id = module_id;
	c->rows.items[c->rows.count - 1].fd = fd;
	return c->rows.count - 1;
}

/* Returns the memory used by the bytes: whole pages, even for a single byte in each. */
static uint64_t memory_of(const struct rec_file *rec)
{
	uint64_t first = rec->offset / PAGE, end = (rec->offset + rec->size + PAGE - 1) / PAGE;

	return (end - first) * PAGE;
}

void read_contents_take(struct read_contents *c, const struct rec_file *rec)
{
	uint64_t memory;
	size_t row;

	if (!rec->size || rec->offset > OFFSET_MAX)
		return;
	memory = memory_of(rec);
	if (c->bytes + memory > 2 * KEPT_ALL_MAX)
		return;
	row = find_or_add(c, rec->module_id);
	if (row == SIZE_MAX || c->rows.items[row].bytes + memory > 2 * KEPT_FILE_MAX)
		return;
	if (pwrite(c->rows.items[row].fd, rec->bytes, rec->size, (off_t)rec->offset) < 0)
		return;
	c->rows.items[row].bytes += memory;
	c->bytes += memory;
}
