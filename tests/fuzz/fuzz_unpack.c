/* SPDX-License-Identifier: MIT */
#include <sys/stat.h>

#include "lib/binary/unpack.h"
#include "tests/fuzz/input.h"

#define MAX_SIZE ((size_t)1 << 20)

/* What a file says it is; and, as sections are, by a header: 'z' or 's', and the size in 3 bytes.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stat st;
	int fd;

	if (size > 4 && (data[0] == 'z' || data[0] == 's')) {
		size_t wanted = (data[1] | data[2] << 8 | data[3] << 16) % MAX_SIZE;
		uint8_t *out = malloc(wanted + 1);

		unpack_exactly(data[0] == 'z' ? PACKING_ZLIB : PACKING_ZSTD, data + 4, size - 4,
			       out, wanted, NULL);
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
