/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/capture_contents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/stream/record/record.h"

/* Bytes of a file in one record. */
#define CONTENTS_CHUNK ((size_t)128 << 10)

void capture_contents_free(struct capture_contents *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->count; i++)
		free(c->parts[i].bytes);
	free(c->parts);
	close(c->fd);
	free(c);
}

size_t capture_contents_next(struct capture_contents *c, void *into)
{
	const struct capture_part *part;
	struct rec_file *rec = into;
	size_t size;
	ssize_t n;

	for (; c->part < c->count; c->part++, c->at = 0) {
		part = &c->parts[c->part];
		if (c->at >= part->size)
			continue;
		size = part->size - c->at < CONTENTS_CHUNK ? (size_t)(part->size - c->at)
							   : CONTENTS_CHUNK;
		n = (ssize_t)size;
		if (part->bytes)
			memcpy(rec->bytes, (uint8_t *)part->bytes + c->at, size);
		else
			n = pread(c->fd, rec->bytes, size, (off_t)(part->offset + c->at));
		if (n <= 0)
			continue;
		memset(rec->bytes + n, 0, -(size_t)n & 7);
		record_init(&rec->rec, REC_FILE, rec_file_size((size_t)n), 0, 0, 0);
		rec->module_id = c->module_id;
		rec->size = (uint32_t)n;
		rec->offset = part->offset + c->at;
		c->at += (size_t)n;
		return record_size(&rec->rec);
	}
	return 0;
}
