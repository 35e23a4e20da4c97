/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/binary/unpack.h"
#include "tests/fuzz/input.h"

#define MAX_SIZE ((size_t)1 << 20)

/* Unpacking in steps gives the same as at once. */
static void check_steps(const uint8_t *data, size_t size, const uint8_t *all, size_t wanted,
			bool is_whole)
{
	uint8_t *out = calloc(1, wanted + 1);
	struct unpacker *u = unpacker_new(data, size, out, wanted);
	bool is_fine = true;

	for (size_t until = 1; until < wanted && is_fine; until += until / 2 + 1)
		is_fine = unpacker_run(u, until, NULL) == 0;
	is_fine = is_fine && unpacker_run(u, wanted, NULL) == 0;
	if (is_fine != is_whole || unpacker_done(u) > wanted || out[wanted] ||
	    (is_whole && memcmp(out, all, wanted) != 0))
		abort();
	unpacker_free(u);
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
		uint8_t *out = malloc(wanted + 1);
		enum packing packing = data[0] == 'z' ? PACKING_ZLIB : PACKING_ZSTD;
		int ret = unpack_exactly(packing, data + 4, size - 4, out, wanted, NULL);

		if (packing == PACKING_ZLIB)
			check_steps(data + 4, size - 4, out, wanted, ret == 0);
		free(out);
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
