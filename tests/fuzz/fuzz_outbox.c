/* SPDX-License-Identifier: MIT */
/* A spool that anything may have been put into: names of files, each terminated; all are empty. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/base.h"
#include "lib/fleet/outbox.h"
#include "tests/fuzz/input.h"

#define FILES_MAX 16

static void make_files(int dir, const uint8_t *data, size_t size, bool is_there)
{
	for (int i = 0; i < FILES_MAX && size; i++) {
		const uint8_t *end = memchr(data, 0, size);
		size_t length = end ? (size_t)(end - data) : size;
		char name[NAME_MAX + 1] = "";

		memcpy(name, data, length < NAME_MAX ? length : NAME_MAX);
		if (*name && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..")) {
			if (is_there)
				close(openat(dir, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
			else
				unlinkat(dir, name, 0);
		}
		data += length;
		size -= length;
		if (size) {
			data++;
			size--;
		}
	}
}

static void use(struct outbox *o)
{
	struct outbox_row *row;
	size_t count = o->rows.count;

	for (size_t i = 1; i < count; i++)
		require(o->rows.items[i - 1].id <= o->rows.items[i].id);
	outbox_expire(o, 1700000000000000000);
	while ((row = outbox_choose(o))) {
		int fd = outbox_read(o, row);

		if (fd >= 0)
			close(fd);
		outbox_progress(o, row, row->samples / 2);
		outbox_remove(o, row, true);
		require(count-- > 0);
	}
	require(!o->bytes && !o->memory_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outbox o = {.folder = -1, .limits = {.bytes = 1 << 20, .age_ns = 1000000000}};
	struct error err = {0};
	char folder[] = "/tmp/fuzz-outbox.XXXXXX";
	int dir = mkdtemp(folder) ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	require(dir >= 0);
	make_files(dir, data, size, true);
	require(!outbox_open(&o, folder, &err));
	use(&o);
	outbox_release(&o);
	make_files(dir, data, size, false);
	close(dir);
	rmdir(folder);
	return 0;
}
