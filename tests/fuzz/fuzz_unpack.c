/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/code/binary/paged_section.h"
#include "tests/fuzz/input.h"

#define MAX_SIZE ((size_t)1 << 20)

/* Unpacks in one step, or in many. */
static bool unpack(const struct file_part *from, uint8_t *out, size_t wanted, bool in_steps)
{
	struct unpacker *u = unpacker_new(from, out, wanted);
	bool is_fine = true;

	for (size_t until = 1; in_steps && until < wanted && is_fine; until += until / 2 + 1)
		is_fine = unpacker_run(u, until, NULL) == 0;
	is_fine = is_fine && unpacker_run(u, wanted, NULL) == 0;
	if (unpacker_done(u) > wanted || out[wanted])
		abort();
	unpacker_free(u);
	return is_fine;
}

/* Unpacking in steps gives the same as at once. */
static void check_steps(const uint8_t *data, size_t size, size_t wanted)
{
	int fd = memfd_create("packed", MFD_CLOEXEC);
	struct file_part from = {fd, 0, size};
	uint8_t *all = calloc(1, wanted + 1), *out = calloc(1, wanted + 1);
	bool is_whole;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	is_whole = unpack(&from, all, wanted, false);
	if (unpack(&from, out, wanted, true) != is_whole ||
	    (is_whole && memcmp(out, all, wanted) != 0))
		abort();
	close(fd);
	free(all);
	free(out);
}

/*
 * Unpacks by the file's own claim, and by a header as sections have it: 'z' or 's', and the size in
 * 3 bytes.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stat st;
	int fd;

	if (size > 4 && (data[0] == 'z' || data[0] == 's')) {
		size_t wanted = (data[1] | data[2] << 8 | data[3] << 16) % MAX_SIZE;

		if (data[0] == 'z') {
			check_steps(data + 4, size - 4, wanted);
		} else {
			uint8_t *out = malloc(wanted + 1);

			unpack_zstd(data + 4, size - 4, out, wanted, NULL);
			free(out);
		}
		return 0;
	}
	fd = unpack_to_file(packing_of(data, size), data, size, MAX_SIZE, 0, NULL);
	if (fd < 0)
		return 0;
	if (fstat(fd, &st) != 0 || st.st_size > (off_t)MAX_SIZE)
		abort();
	close(fd);
	return 0;
}
